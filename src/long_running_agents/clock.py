"""The only code that asks the machine for the time, or waits for it to pass."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the one place

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def wait(self, task: asyncio.Future[Any], seconds: float) -> bool:
        """Wait for a task, but not longer than this; say whether it is done."""
        await asyncio.wait([task], timeout=seconds)
        return task.done()
