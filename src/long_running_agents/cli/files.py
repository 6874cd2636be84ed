"""Files that a command is given: read and written whole, with errors that say what to do."""

import os
import sys
from pathlib import Path

from long_running_agents.errors import NotFound, StorageFailed, UsageError

_LARGEST = 4 << 20
"""Bytes; more than any module that a person wrote."""


def read_text(path: Path) -> str:
    """What a file holds; '-' is what is piped in.

    Raises:
        NotFound: There is no such file.
        UsageError: It is no text file, or too large.
        StorageFailed: It cannot be read.
    """
    name = "what is piped in" if str(path) == "-" else str(path)
    content = _content(path)
    if len(content) > _LARGEST:
        raise UsageError(f"{name} is larger than {_LARGEST >> 20} MB.", hint="Give less.")
    try:
        # Not utf-8-sig: a mark at the beginning is for whoever reviews the text to see.
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not a text file: {error}.", hint="Expected UTF-8.") from error


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file that only its owner can read.

    Args:
        path: The file.
        text: What it will hold.
        force: Whether a file that is there may be replaced.

    Raises:
        UsageError: There is a file, and it may not be replaced.
        StorageFailed: It cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{path} is there already.", hint="Choose another file, or add --force."
        ) from error
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be written: {error.strerror}.", hint="Choose another file."
        ) from error


def _content(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(_LARGEST + 1)
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a folder.", hint="Name a file in it.") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StorageFailed(f"{path} cannot be read: {why}.") from error
