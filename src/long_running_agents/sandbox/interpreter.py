"""Finds a Python that can run inside: one that lies where every user may read it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

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
