"""Stand-ins for modules that take longer to import than all the rest together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Self
else:
    import _signal as signal

__all__ = ["signal", "suppress"]


class suppress:  # noqa: N801 - reads as the one of contextlib, which it stands for
    """Ends a block at an exception of these kinds, and goes on after it."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)
