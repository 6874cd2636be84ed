"""Rich results: what a value looks like, by media type."""

from __future__ import annotations

import binascii
import io
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RICH = (
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
)
_LARGEST_TEXT = 200_000
_LARGEST_RICH = 4 << 20
_MOST = 100


class Display:
    """Collects what a cell shows."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, *values: Any) -> None:
        """Show values; cells know this as `display`."""
        for value in values:
            self._add(bundle(value))

    def figures(self) -> None:
        """Show the plots that are open, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.figure(number).savefig(picture, format="png")
            self._add({"image/png": _base64(picture.getvalue())})
        pyplot.close("all")

    def _add(self, found: dict[str, str]) -> None:
        if len(self.shown) < _MOST:
            self.shown.append(found)


def bundle(value: Any) -> dict[str, str]:
    """A value in every form that it offers."""
    found = {"text/plain": _text(value)}
    for method, media in _RICH:
        rich = _rich(value, method)
        # Half a picture is none, so what is too large is left out as a whole.
        if rich and len(rich) <= _LARGEST_RICH:
            found[media] = rich
    return found


def _text(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - foreign code; the cell goes on without it
        return f"<{type(value).__name__}: its repr failed with {type(error).__name__}>"
    return text if len(text) <= _LARGEST_TEXT else text[:_LARGEST_TEXT] + " …"


def _rich(value: Any, method: str) -> str:
    # A class has the methods of its instances, and cannot be shown by them.
    if isinstance(value, type):
        return ""
    try:
        made: object = getattr(value, method)()
    except Exception:  # noqa: BLE001 - foreign code; the other forms remain
        return ""
    if isinstance(made, bytes):
        return _base64(made)
    return made if isinstance(made, str) else ""


def _base64(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode()
