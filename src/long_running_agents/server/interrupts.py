"""Being asked to leave."""

import asyncio
import os
import signal
from types import TracebackType
from typing import Self

_INTERRUPTED = 130


class Interrupts:
    """Ctrl-C and the request to terminate: the first one asks, the second leaves at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._heard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)

    def _heard(self) -> None:
        if self.asked.is_set():
            # As safe as any other death: what has to survive is on the disk.
            os._exit(_INTERRUPTED)
        self.asked.set()
