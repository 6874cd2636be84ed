"""What a call in a sandbox came to, in words for whoever asked for it."""

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from long_running_agents.sandbox.result import ExecResult, printable

FOLDER = "outputs"
"""Where in the workspace pictures and tables are kept."""

_ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/svg+xml": "svg",
    "text/html": "html",
}
_ENCODED = ("image/png", "image/jpeg")
_LARGEST = 4 << 20
_BEGINNING, _END = 16_000, 6_000
"""How much of a long output is shown: most of what matters is at its ends."""
_LONGEST = _BEGINNING + _END + 2_000


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a cell has shown and that is no text: it becomes a file."""

    path: str
    """In the workspace."""
    media: str
    content: bytes


def outputs(result: ExecResult) -> list[Output]:
    """The pictures and tables of a result, each once, under a name that its content gives it."""
    found: dict[str, Output] = {}
    for shown in result.display:
        for media, ending in _ENDINGS.items():
            if media not in shown:
                continue
            content = _content(media, shown[media])
            if content and len(content) <= _LARGEST:
                name = hashlib.sha256(content).hexdigest()[:12]
                path = f"{FOLDER}/{name}.{ending}"
                found[path] = Output(path, media, content)
                # The first form is the best one; the others say the same.
                break
    return list(found.values())


def _content(media: str, text: str) -> bytes:
    if media not in _ENCODED:
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def told(result: ExecResult, kept: Sequence[Output], *, fresh: bool) -> str:
    """A result as a text.

    Args:
        result: What came back.
        kept: What of it has become files.
        fresh: Whether the sandbox was made for this call.
    """
    lines = [*_shown(result), *(f"[{each.media} saved as {each.path}]" for each in kept)]
    return "\n".join([*lines, *_went_wrong(result, fresh=fresh)]) or "(no output)"


def shortened(text: str) -> tuple[str, Output | None]:
    """A text that a model can take in, and the whole of it as a file when that is longer."""
    if len(text) <= _LONGEST:
        return text, None
    content = text.encode()
    path = f"{FOLDER}/{hashlib.sha256(content).hexdigest()[:12]}.txt"
    left_out = len(text) - _BEGINNING - _END
    note = f"[{left_out} characters left out; read_file(path={path!r}) reads all of it]"
    shown = f"{text[:_BEGINNING]}\n{note}\n{text[-_END:]}"
    return shown, Output(path, "text/plain", content)


def _shown(result: ExecResult) -> Iterator[str]:
    if result.warning:
        yield result.warning
    if result.stdout:
        yield printable(result.stdout).rstrip("\n")
    if result.stderr:
        yield f"[stderr]\n{printable(result.stderr).rstrip()}"
    for shown in result.display:
        if text := shown.get("text/markdown") or shown.get("text/plain"):
            yield printable(text)
    if result.truncated:
        yield "[Some output was left out.]"


def _went_wrong(result: ExecResult, *, fresh: bool) -> Iterator[str]:
    if result.exit_code:
        yield f"[exit code {result.exit_code}]"
    if result.error is not None:
        yield f"[error]\n{printable(str(result.error)).rstrip()}"
        yield from _advice(result.error.name, fresh=fresh)
    if result.rolled_back:
        yield "[The names are again what they were before this cell.]"
    if not result.alive:
        yield "[The sandbox is gone with its names; the next call gets a new one. Files are kept.]"


def _advice(error: str, *, fresh: bool) -> Iterator[str]:
    if error == "ModuleNotFoundError":
        yield "[install_packages fetches packages; 'lra sandbox prepare' the usual ones.]"
    if error == "NameError" and fresh:
        yield "[The sandbox is new: names of earlier cells are gone. Files are kept.]"
