"""What comes back from a sandbox. Foreign code wrote it: it is data, never instructions."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Json = dict[str, Any]

UNSANDBOXED = "UNSANDBOXED: nothing stood between this code and the machine."


class Failure(StrEnum):
    """The names of errors that are ours; all others are the names of the code's own exceptions."""

    TIMEOUT = "TimeoutError"
    """The call took longer than it was given."""
    KILLED = "Killed"
    """The process died: a signal, the memory limit, or os._exit."""
    MEMORY = "MemoryLimit"
    DISK = "DiskLimit"
    OUTPUT = "OutputLimit"
    DIED = "SandboxDied"
    """The whole sandbox is gone, and with it its state."""
    PROTOCOL = "ProtocolError"
    """What came back was no answer, so the sandbox was destroyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeError:
    """Why a call failed."""

    name: str
    """The exception's class, or one of Failure."""
    message: str
    traceback: str = ""

    def __str__(self) -> str:
        return self.traceback or f"{self.name}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """One call's outcome."""

    stdout: str = ""
    stderr: str = ""
    display: tuple[dict[str, str], ...] = ()
    """Rich results by media type; images are base64."""
    value: Any = None
    """What a called function returned, as JSON data."""
    error: CodeError | None = None
    exit_code: int | None = None
    """The shell's."""
    rolled_back: bool = False
    """Whether the state is again what it was before the call."""
    truncated: bool = False
    """Whether output was left out."""
    alive: bool = True
    """Whether the sandbox can be used again."""
    duration_ms: float = 0.0
    memory: int = 0
    """Bytes that a call or a command used at most; 0 when nobody can tell."""
    isolation: tuple[str, ...] = ()
    """What stood between the code and this machine. Empty: nothing did."""

    @property
    def warning(self) -> str:
        """What everybody who sees the result has to see; nothing when there were walls."""
        return "" if self.isolation else UNSANDBOXED

    @property
    def success(self) -> bool:
        """Whether the code did what it was meant to do."""
        return self.error is None and self.exit_code in (None, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file or folder of a workspace."""

    path: str
    """Relative to the workspace."""
    size: int
    folder: bool = False


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Text without control characters, so that it cannot command a terminal."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))
