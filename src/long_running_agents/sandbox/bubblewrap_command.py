"""The command line that builds the walls. Pure, but for the descriptors it is handed."""

import json
import marshal
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Self

from long_running_agents.sandbox.base import SandboxLimits

_OLDEST = (3, 11)
_NEWEST = 16
_ASK = (
    "import json, site, sys, importlib.util as u;"
    " print(json.dumps([sys.version_info[:2], u.MAGIC_NUMBER.hex(), site.getsitepackages()]))"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, and the folder that has to be shown for it to work."""

    program: Path
    version: tuple[int, int]
    folder: Path | None = None
    """None when it is in /usr, which every sandbox sees."""
    magic: str = ""
    """What its compiled files begin with."""
    packages: tuple[str, ...] = ()
    """Folders of packages that were installed for it."""


def find() -> Interpreter | None:
    """The first Python that is new enough, those of the system before our own."""
    for program in _candidates():
        found = _asked(program)
        if found is not None and found.version >= _OLDEST:
            real = program.resolve()
            if real.is_relative_to("/usr"):
                return found
            return replace(found, program=real, folder=Path(sys.base_prefix).resolve())
    return None


def _candidates() -> Iterator[Path]:
    for folder in (Path("/usr/bin"), Path("/usr/local/bin")):
        yield folder / "python3"
        for minor in range(_NEWEST, _OLDEST[1] - 1, -1):
            yield folder / f"python3.{minor}"
    # Python's own name for the program behind a virtual environment.
    yield Path(getattr(sys, "_base_executable", sys.executable))


def _asked(program: Path) -> Interpreter | None:
    if not os.access(program, os.X_OK):
        return None
    try:
        asked = subprocess.run(  # noqa: S603 - a Python of this machine
            [program, "-I", "-S", "-c", _ASK],
            capture_output=True,
            text=True,
            check=True,
            timeout=20,
        )
        (major, minor), magic, packages = json.loads(asked.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(program, (major, minor), magic=magic, packages=tuple(packages))


INSIDE = Path(__file__).parent / "inside"
PACKAGES = "/opt/packages"
PROXY = "/run/proxy.sock"
KERNEL = "/opt/kernel"
_SHARED_MEMORY = 16 << 20
_INSIDE_ID = "1000"


def start(folder: str) -> str:
    """The program that starts the kernel which lies in a folder; it takes the channel's number."""
    return (
        f"import sys; sys.path.insert(0, {folder!r}); from inside.kernel import main;"
        " del sys.path[0]; main(int(sys.argv[1]))"
    )


_FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/false\nagent:x:1000:1000::/workspace:/bin/bash\n",
    "/etc/group": "root:x:0:\nagent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_FROM_ETC = ("ld.so.cache", "alternatives", "ssl/certs", "localtime", "mime.types")
_FROM_ROOT = ("bin", "sbin", "lib", "lib32", "lib64")

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/workspace",
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",  # noqa: S108 - as above
    # Threads would each reserve address space, which is bounded.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}

PROXY_VARIABLES: dict[str, str] = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:3128"
)


class Descriptors:
    """Open files to hand over to a child, closed here afterwards."""

    def __init__(self) -> None:
        self.open: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.open:
            with suppress(OSError):
                os.close(descriptor)

    def keep(self, descriptor: int) -> int:
        """Look after a descriptor."""
        self.open.append(descriptor)
        return descriptor

    def data(self, content: bytes) -> str:
        """Bytes to be read by the child, as the number of a descriptor."""
        file = self.keep(os.memfd_create("data"))
        os.write(file, content)
        os.lseek(file, 0, os.SEEK_SET)
        return str(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """All that the command line depends on."""

    program: str
    """Where bwrap is."""
    interpreter: Interpreter
    limits: SandboxLimits
    workspace: Path
    seccomp: bytes
    packages: Path | None = None
    proxy: Path | None = None
    places: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    """Where paths have been mounted that the sandbox's user could not walk to."""
    hidden: Sequence[tuple[str, bool]] = ()
    """Paths of the workspace to be covered, and whether each is a folder."""
    protected: Sequence[str] = ()
    """Paths of the workspace to be read only."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))


def bubblewrap_argv(
    walls: Walls, channel: int, status: int, gate: int, hand: Descriptors
) -> list[str]:
    """The whole command.

    Args:
        walls: What to build.
        channel: The kernel's end of the channel.
        status: Where bwrap reports the first process.
        gate: What bwrap waits for before it starts the kernel.
        hand: Takes what has to be handed over open.
    """
    return [
        walls.program,
        *_namespaces(),
        *_system(),
        *_own_files(walls.interpreter, hand),
        *_places(walls),
        *_read_only(),
        *(word for pair in _environment(walls) for word in ("--setenv", *pair)),
        "--seccomp",
        hand.data(walls.seccomp),
        "--json-status-fd",
        str(status),
        "--block-fd",
        str(gate),
        "--",
        str(walls.interpreter.program),
        # Without its site: what installed packages have to say at every start takes a while.
        *("-I", "-S", "-B", "-c", start(KERNEL), str(channel)),
    ]


def _namespaces() -> Iterator[str]:
    for kind in ("user", "pid", "net", "ipc", "uts"):
        yield f"--unshare-{kind}"
    yield from ("--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--cap-drop", "ALL", "--uid", _INSIDE_ID, "--gid", _INSIDE_ID)
    yield from ("--hostname", "sandbox", "--clearenv")


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _FROM_ROOT:
        place = Path("/", name)
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))
    for name in _FROM_ETC:
        place = Path("/etc", name)
        if place.exists():
            yield from ("--ro-bind", str(place), str(place))


def _own_files(interpreter: Interpreter, hand: Descriptors) -> Iterator[str]:
    for name, text in _FILES.items():
        yield from ("--file", hand.data(text.encode()), name)
    for name, content in _kernel(interpreter.magic).items():
        yield from ("--file", hand.data(content), f"{KERNEL}/inside/{name}")


@cache
def _kernel(magic: str) -> dict[str, bytes]:
    """The kernel's files; compiled, if the Python inside reads what ours writes."""
    sources = {file.name: file.read_bytes() for file in sorted(INSIDE.glob("*.py"))}
    if magic != MAGIC_NUMBER.hex():
        return sources
    return {
        f"{name}c": MAGIC_NUMBER
        + bytes(12)
        + marshal.dumps(compile(source, f"{KERNEL}/inside/{name}", "exec"))
        for name, source in sources.items()
    }


def _places(walls: Walls) -> Iterator[str]:
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", str(walls.limits.temporary_bytes), "--tmpfs", "/tmp")  # noqa: S108 - its own
    yield from ("--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm")  # noqa: S108 - as above
    if walls.interpreter.folder is not None:
        folder = walls.interpreter.folder
        yield from _bind(walls, folder, str(folder), read_only=True)
    if walls.packages is not None:
        yield from _bind(walls, walls.packages, PACKAGES, read_only=True)
    if walls.proxy is not None:
        yield from _bind(walls, walls.proxy, PROXY, read_only=False)
    yield from _bind(walls, walls.workspace, "/workspace", read_only=False)
    workspace = walls.places.get(walls.workspace, walls.workspace)
    for path in walls.protected:
        yield from ("--ro-bind", str(workspace / path), f"/workspace/{path}")
    for path, is_folder in walls.hidden:
        if is_folder:
            yield from ("--size", "4096", "--perms", "0000", "--tmpfs", f"/workspace/{path}")
        else:
            yield from ("--ro-bind", "/dev/null", f"/workspace/{path}")


def _bind(walls: Walls, source: Path, target: str, *, read_only: bool) -> tuple[str, str, str]:
    how = "--ro-bind" if read_only else "--bind"
    return how, str(walls.places.get(source, source)), target


def _read_only() -> Iterator[str]:
    # The rest of the new root is memory without a limit, and /proc holds the kernel's own settings.
    for place in ("/", "/dev", "/proc"):
        yield from ("--remount-ro", place)
    yield from ("--chdir", "/workspace")


def _environment(walls: Walls) -> Iterator[tuple[str, str]]:
    yield from walls.environment.items()
    if walls.packages is not None:
        yield "PYTHONPATH", PACKAGES
    if walls.proxy is not None:
        yield from PROXY_VARIABLES.items()


def paths_inside(packages: Path | None) -> list[str]:
    """The folders of packages as the kernel sees them."""
    return [] if packages is None else [PACKAGES]
