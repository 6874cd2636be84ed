"""The port of all sandbox backends: specs, limits, results, and how to mend a machine."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]

UNSANDBOXED = "UNSANDBOXED: nothing stood between this code and the machine."


class FailureName(StrEnum):
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
    elsewhere: bool = False
    """Whether it ran on another machine, with files of its own."""
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


MEGABYTE = 1 << 20

LONGEST_CALL = 600.0
"""Seconds that one call may be given at most."""

GRACE = 1.0
"""Seconds between asking a call to end and killing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What the code in one sandbox may use."""

    timeout: float = 30.0
    """Seconds for a call that names none."""
    memory: int = 1024 * MEGABYTE
    """Bytes of memory, all processes together."""
    processes: int = 64
    cpus: float = 1.0
    """Processors, where the machine lets us say so (cgroup)."""
    file_size: int = 256 * MEGABYTE
    """Bytes of one file."""
    workspace_bytes: int = 512 * MEGABYTE
    workspace_files: int = 50_000
    temporary_bytes: int = 128 * MEGABYTE
    """Bytes in /tmp, which is memory."""
    output_kept: int = MEGABYTE
    """Bytes of each stream that are handed back."""
    output_killed: int = 64 * MEGABYTE
    """Bytes of output at which a call is killed."""
    descriptors: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """One sandbox as it is wanted. Equal specs are interchangeable."""

    workspace: Path | None = None
    """The folder seen as /workspace; None makes one that goes away with the sandbox."""
    borrowed: bool = False
    """Whether that folder is a person's own: nothing is put there, and it does not change hands."""
    protected: tuple[str, ...] = ()
    """Paths of the workspace that code may read and not change; one that ends in / is a folder."""
    hidden: tuple[str, ...] = ()
    """Further paths of the workspace that code must not see; secrets are always covered."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    network: tuple[str, ...] = ()
    """Hosts that may be reached, such as example.org, *.example.org or example.org:8443."""
    packages: Path | None = None
    """A folder of Python packages, seen read-only."""
    transactional: bool = True
    """Whether a cell that fails hard leaves the state as it was. Off, threads outlive a cell."""


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


class Sandbox(ABC):
    """A place where foreign code runs.

    Calls to one sandbox run one after the other. A call never raises for what the code did: that is
    in the result.
    """

    backend: str
    """The name of the backend that made it."""
    isolation: tuple[str, ...]
    """What stands between the code and this machine."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can be used."""

    async def execute(self, code: str, timeout: float | None = None) -> ExecResult:
        """Run a cell: names stay for the next one, and a hard failure undoes the cell."""
        return await self._run("execute", {"code": code}, timeout)

    async def call(
        self,
        source: str,
        function: str,
        kwargs: Mapping[str, Any],
        timeout: float | None = None,
        *,
        memory: int | None = None,
    ) -> ExecResult:
        """Define a function in a clean namespace and call it, with JSON in and JSON out."""
        wanted: Json = {"source": source, "function": function, "kwargs": dict(kwargs)}
        return await self._run(
            "call", wanted if memory is None else {**wanted, "memory": memory}, timeout
        )

    async def shell(self, command: str, timeout: float | None = None) -> ExecResult:
        """Run a command in bash."""
        return await self._run("shell", {"command": command}, timeout)

    @abstractmethod
    async def _run(self, call: str, request: Json, timeout: float | None) -> ExecResult: ...

    @abstractmethod
    async def put_file(self, path: str, content: bytes) -> None:
        """Write a file of the workspace."""

    @abstractmethod
    async def get_file(self, path: str) -> bytes:
        """Read a file of the workspace."""

    @abstractmethod
    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        """List a folder of the workspace."""

    @abstractmethod
    async def reset(self) -> None:
        """Forget the state of the cells; the files stay."""

    @abstractmethod
    async def destroy(self) -> None:
        """End everything in it. Asking twice is asking once."""


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


_INSTALL = {
    "debian": "sudo apt install {package}",
    "ubuntu": "sudo apt install {package}",
    "fedora": "sudo dnf install {package}",
    "rhel": "sudo dnf install {package}",
    "arch": "sudo pacman -S {package}",
    "suse": "sudo zypper install {package}",
    "opensuse": "sudo zypper install {package}",
    "alpine": "sudo apk add {package}",
    "nixos": "nix-env -iA nixos.{package}",
}
_APPARMOR = (
    "echo 'abi <abi/4.0>, include <tunables/global>"
    " profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }'"
    " | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What matters about the machine for the advice to be right."""

    platform: str = "linux"
    families: tuple[str, ...] = ()
    """The distribution's id, and those it is like."""
    apparmor_restricts: bool = False
    user_namespaces: bool = True
    contained: bool = False
    """Whether this is a container already."""


def look(platform: str, root: Path = Path("/")) -> System:
    """See what machine this is."""
    return System(
        platform=platform,
        families=_families(root / "etc/os-release"),
        apparmor_restricts=_number(
            root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0
        )
        == 1,
        user_namespaces=_number(root / "proc/sys/user/max_user_namespaces", 1) > 0
        and _number(root / "proc/sys/kernel/unprivileged_userns_clone", 1) > 0,
        contained=(root / ".dockerenv").exists() or (root / "run/.containerenv").exists(),
    )


def install(package: str, system: System) -> str:
    """The command that installs a package."""
    for family in system.families:
        if family in _INSTALL:
            return _INSTALL[family].format(package=package)
    return f"Install the package '{package}'."


def missing_bubblewrap(system: System) -> str:
    """What to do when there is no bwrap."""
    if system.platform != "linux":
        return "bubblewrap exists on Linux only: start Docker Desktop, or set SANDBOX_URL."
    return install("bubblewrap", system)


def refused_bubblewrap(system: System) -> str:
    """What to do when bwrap is there and may not work."""
    if system.apparmor_restricts:
        return _APPARMOR
    if not system.user_namespaces:
        return "sudo sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"
    if system.contained:
        return (
            "Start this container with --security-opt seccomp=unconfined"
            " --security-opt apparmor=unconfined --security-opt systempaths=unconfined."
        )
    return "Use Docker, or set SANDBOX_URL to a sandbox server elsewhere."


def missing_docker(system: System) -> str:
    """What to do when no Docker API answers."""
    if system.platform == "darwin":
        return "Open Docker Desktop and wait until it is ready."
    return "Start Docker (sudo systemctl start docker), or set DOCKER_HOST to a podman socket."


def _families(release: Path) -> tuple[str, ...]:
    try:
        lines = release.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    words = f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".replace('"', "").split()
    return tuple(word.partition("-")[0] for word in words)


def _number(path: Path, default: int) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return default
