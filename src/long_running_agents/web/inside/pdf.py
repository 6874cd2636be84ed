"""From PDF to text."""

import io
import logging

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from long_running_agents.web.inside.converting import Converted

_MOST_PAGES = 500


def read(body: bytes, answer: Converted, most: int) -> None:
    """Fill in what a document says, page by page."""
    # It tells of every oddity; there are many, and nobody hears them.
    logging.disable()
    try:
        _read(body, answer, most)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # The library promises its own errors and lets others through when a document lies to it.
        answer["error"] = f"the PDF cannot be read ({type(error).__name__})"


def _read(body: bytes, answer: Converted, most: int) -> None:
    reader = PdfReader(io.BytesIO(body), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        answer["error"] = "the PDF wants a password"
        return
    if reader.metadata is not None:
        answer["title"] = reader.metadata.title or ""
    count = len(reader.pages)
    parts: list[str] = []
    length = 0
    for number in range(min(count, _MOST_PAGES)):
        parts.append(reader.pages[number].extract_text().strip())
        length += len(parts[-1])
        if length > most:
            break
    answer["text"] = "\n\n".join(parts)
    if len(parts) < count:
        answer["notes"].append(f"Read {len(parts)} of {count} pages.")
    if not answer["text"].strip():
        answer["notes"].append("The PDF holds no text; it may be a scan.")
