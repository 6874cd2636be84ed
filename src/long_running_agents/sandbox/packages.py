"""Python packages for sandboxes: a folder that is built once, from wheels only, and only read."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from long_running_agents.errors import Unavailable, UsageError
from long_running_agents.sandbox.bubblewrap_command import Interpreter

USUAL = ("numpy", "pandas", "matplotlib", "requests", "httpx")
"""What most code wants."""

_VERSION = r"(==|~=|>=|<=|!=|<|>)\s*[0-9][0-9A-Za-z.*+!-]*"
_REQUIREMENT = re.compile(
    rf"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?\s*"
    rf"({_VERSION}(\s*,\s*{_VERSION})*)?"
)
_PATIENCE = 1200
_ADDED = "added.txt"


def provides(requirements: Iterable[str], module: str) -> bool:
    """Whether one of the requirements is the package of this name."""
    named = (re.match(r"[A-Za-z0-9._-]*", requirement) for requirement in requirements)
    return any(each and each[0].lower().replace("-", "_") == module.lower() for each in named)


def check(requirements: Iterable[str]) -> list[str]:
    """Requirements that name packages of the index and nothing else, in a fixed order.

    Raises:
        UsageError: One is an address, a path or an option.
    """
    wanted = sorted({requirement.strip() for requirement in requirements})
    for requirement in wanted:
        if not _REQUIREMENT.fullmatch(requirement):
            raise UsageError(
                f"{requirement!r} is not the name of a package.",
                hint="Write it as 'name' or 'name==1.2'.",
            )
    return wanted


def place(requirements: Iterable[str], folder: Path, python: Interpreter) -> Path:
    """Where the packages of these requirements are, or would be."""
    words = [*check(requirements), platform.machine(), _dotted(python)]
    return folder / hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def find(requirements: Iterable[str], folder: Path, python: Interpreter) -> Path | None:
    """The packages, if they have been built."""
    there = place(requirements, folder, python)
    return there if there.is_dir() else None


def build(requirements: Iterable[str], folder: Path, python: Interpreter) -> Path:
    """Fetch the packages; nothing in them is run.

    Raises:
        Unavailable: The index does not have them as wheels, or cannot be reached.
    """
    wanted = check(requirements)
    there = place(wanted, folder, python)
    if there.is_dir():
        return there
    folder.mkdir(parents=True, exist_ok=True)
    # Beside its place, so that it can be moved there as a whole or not at all.
    half = Path(tempfile.mkdtemp(prefix="half-", dir=folder))
    try:
        _install(wanted, half, python)
        _compile(half, python)
        half.chmod(0o755)
        half.rename(there)
    except OSError:
        if not there.is_dir():
            raise
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return there


def added(folder: Path) -> list[str]:
    """What was installed beside the usual packages."""
    listed = folder / _ADDED
    return listed.read_text(encoding="utf-8").split() if listed.is_file() else []


def add(
    requirements: Iterable[str], usual: Iterable[str], folder: Path, python: Interpreter
) -> Path:
    """Fetch further packages, and remember that they belong to all sandboxes from now on."""
    more = check([*added(folder), *requirements])
    built = build([*usual, *more], folder, python)
    # Written when they are there: a list that cannot be had would leave sandboxes with nothing.
    fresh = folder / f"{_ADDED}.new"
    fresh.write_text("\n".join(more), encoding="utf-8")
    fresh.replace(folder / _ADDED)
    return built


def _dotted(python: Interpreter) -> str:
    return ".".join(str(number) for number in python.version)


def _install(wanted: list[str], target: Path, python: Interpreter) -> None:
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    words += ["--retries", "1"]
    # Wheels are unpacked; anything else would be run to be built.
    words += ["--only-binary", ":all:", "--no-compile", "--target", str(target)]
    words += ["--implementation", "cp", "--python-version", _dotted(python)]
    done = subprocess.run(  # noqa: S603 - the names have been checked
        [*words, "--", *wanted], capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    if done.returncode:
        told = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise Unavailable(
            f"The packages cannot be had: {told}",
            hint="Check the names, the network, and that they have wheels.",
        )


def _compile(target: Path, python: Interpreter) -> None:
    """Compile ahead, since a sandbox cannot keep what it compiles; compiling runs nothing."""
    subprocess.run(  # noqa: S603 - our own words
        [python.program, "-I", "-m", "compileall", "-q", "-j", "0", str(target)],
        capture_output=True,
        env={"PATH": os.defpath},
        check=False,
        timeout=_PATIENCE,
    )
