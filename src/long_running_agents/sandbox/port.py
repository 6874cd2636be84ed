"""The port: what every backend promises, whatever stands behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from long_running_agents.sandbox.result import ExecResult, FileEntry
from long_running_agents.sandbox.spec import SandboxSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether a backend works on this machine, found out by trying."""

    backend: str
    ok: bool
    isolation: tuple[str, ...] = ()
    """What stands between the code and this machine."""
    limits: tuple[str, ...] = ()
    """How the limits are kept: rlimit, watcher, cgroup, container."""
    reason: str = ""
    """Why it does not work."""
    fix: str = ""
    """What to do about it, on this very system."""


class Sandbox(Protocol):
    """A place where foreign code runs.

    Calls to one sandbox run one after the other. A call never raises for what the code did: that is
    in the result.
    """

    @property
    def backend(self) -> str:
        """The name of the backend that made it."""
        ...

    @property
    def isolation(self) -> tuple[str, ...]:
        """What stands between the code and this machine."""
        ...

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        ...

    async def execute(self, code: str, timeout: float | None = None) -> ExecResult:
        """Run a cell: names stay for the next one, and a hard failure undoes the cell."""
        ...

    async def call(
        self,
        source: str,
        function: str,
        kwargs: Mapping[str, Any],
        timeout: float | None = None,
        *,
        memory: int | None = None,
    ) -> ExecResult:
        """Define a function in a clean namespace and call it, with JSON in and JSON out.

        Args:
            source: Where it is defined.
            function: Its name.
            kwargs: What it is called with.
            timeout: How many seconds it may take.
            memory: How many bytes it may use, if less than the sandbox may.
        """
        ...

    async def shell(self, command: str, timeout: float | None = None) -> ExecResult:
        """Run a command in bash."""
        ...

    async def put_file(self, path: str, content: bytes) -> None:
        """Write a file of the workspace."""
        ...

    async def get_file(self, path: str) -> bytes:
        """Read a file of the workspace."""
        ...

    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        """List a folder of the workspace."""
        ...

    async def reset(self) -> None:
        """Forget the state of the cells; the files stay."""
        ...

    async def destroy(self) -> None:
        """End everything in it. Asking twice is asking once."""
        ...


class SandboxBackend(Protocol):
    """Makes sandboxes of one kind."""

    @property
    def name(self) -> str:
        """What it is called in settings."""
        ...

    def probe(self) -> Probe:
        """Try it, once; the finding is kept. This may take a moment: ask from a thread."""
        ...

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Make a sandbox.

        Raises:
            SandboxUnavailable: None can be had; the hint says what mends it.
        """
        ...
