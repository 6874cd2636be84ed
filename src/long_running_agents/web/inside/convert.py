"""The helper process that turns a document into text: charsets, HTML, PDF, hidden characters."""

import codecs
import io
import logging
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from long_running_agents.sandbox.subprocess import serve

if TYPE_CHECKING:
    from pypdf import PdfReader

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""charset\s{0,9}=\s{0,9}["']?\s{0,9}([a-zA-Z0-9_:.-]{1,40})""", re.IGNORECASE
)
_LOOKED_AT = 2048
_OTHERS = {
    # What pages call by a narrow name and write in a wider one.
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_KNOWN = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "cp932", "cp949"}
    | {"euc_jp", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "cp866", "cp874"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)}
)
"""The web's own. Python has more, some of which are no charsets at all."""


def decode(body: bytes, charset: str, *, html: bool) -> str:
    """Read bytes as text; what cannot be read becomes a sign that says so."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    name = known(charset) or (declared(body) if html else "")
    if name:
        return body.decode(name, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A body that was cut may end in the middle of a sign.
        if error.reason == "unexpected end of data":
            return body.decode("utf-8", "replace")
        return body.decode("cp1252", "replace")


def declared(body: bytes) -> str:
    """The charset that a page names near its beginning, if it can be."""
    found = _DECLARED.search(body[:_LOOKED_AT])
    name = known(found[1].decode("ascii")) if found else ""
    # A page whose declaration can be read as ASCII is not in UTF-16.
    return "utf-8" if name.startswith("utf-16") else name


def known(label: str) -> str:
    """Python's name for a charset of the web; empty for anything else."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    name = _OTHERS.get(name, name)
    return name if name in _KNOWN else ""


_NEVER = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, direction
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags, and selectors by the hundred
    "\ud800-\udfff"
    "]+"
)
# These have a use in some scripts and in pictures, but one at a time.
_RUNS = re.compile("[\u200c\u200d\ufe0e\ufe0f]{2,}")
_BLANK = re.compile(r"\n{4,}")


def removed(text: str) -> str:
    """A text without what cannot be seen."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BLANK.sub("\n\n\n", _RUNS.sub("", _NEVER.sub("", text)))


_LONGEST_TITLE = 300


class PageLink(TypedDict):
    """A link of a page."""

    url: str
    text: str
    kind: str
    """The class it bears in the page."""


class Converted(TypedDict):
    """What became of a document."""

    title: str
    text: str
    links: list[PageLink]
    notes: list[str]
    error: str
    """Why nothing became of it."""


def convert_document(
    body: bytes, *, media_type: str, charset: str, url: str, most: int
) -> Converted:
    """Turn a document into text."""
    answer = Converted(title="", text="", links=[], notes=[], error="")
    if media_type == "application/pdf":
        read_pdf(body, answer, most)
    elif media_type in ("text/html", "application/xhtml+xml"):
        read_html(decode(body, charset, html=True), url, answer)
    else:
        answer["text"] = decode(body, charset, html=False)
    answer["title"] = " ".join(removed(answer["title"]).split())[:_LONGEST_TITLE]
    answer["text"] = removed(answer["text"]).strip()
    if len(answer["text"]) > most:
        answer["notes"].append(f"Only the first {most} characters of the text are kept.")
        answer["text"] = answer["text"][:most]
    return answer


_MOST_PAGES = 500


def read_pdf(body: bytes, answer: Converted, most: int) -> None:
    """Fill in what a document says, page by page."""
    from pypdf import PdfReader  # noqa: PLC0415 - large, and neither pages nor the host need it
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - as above

    # It tells of every oddity; there are many, and nobody hears them.
    logging.disable()
    try:
        _read_pages(PdfReader(io.BytesIO(body), strict=False), answer, most)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # The library promises its own errors and lets others through when a document lies to it.
        answer["error"] = f"the PDF cannot be read ({type(error).__name__})"


def _read_pages(reader: "PdfReader", answer: Converted, most: int) -> None:
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


_RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,2000})\}")
_HIDING = re.compile(
    r"(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$|!)"
    r"|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:;|$|!))",
    re.IGNORECASE,
)
_IMAGE = re.compile(
    r"!\[([^\[\]\n]{0,300})\]\((?:<[^<>\n]{0,2000}>|[^()\s]{0,2000})[^()\n]{0,300}\)"
)
_SIMPLE = re.compile(r"(?:[a-z][a-z0-9]*)?[.#][A-Za-z_][\w-]{0,60}")
_UNSEEN = (
    "script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas",
    "[hidden]", "input", "dialog:not([open])",
    '[style*="opacity:0;"]', '[style*="opacity: 0;"]', '[style$="opacity:0"]',
    '[style$="opacity: 0"]', '[style*="-9999"]',
)  # fmt: skip
_MOST_SHEETS = 20
_LARGEST_SHEET = 500_000
_MOST_RULES = 500
_MOST_LINKS = 2000
_DEEPEST = 400


def read_html(html: str, url: str, answer: Converted) -> None:
    """Fill in what a page says."""
    import html_to_markdown as library  # noqa: PLC0415 - as above

    options = library.ConversionOptions(
        preprocessing=library.PreprocessingOptions(enabled=True, remove_forms=False),
        hidden_content="drop",
        inline_data_media="alt_text_only",
        exclude_selectors=[*_UNSEEN, *hiding(html)],
        base_url=url,
        max_depth=_DEEPEST,
    )
    try:
        result = library.convert(html, options)
    except library.InvalidInputError:
        answer["error"] = "it is no HTML"
        return
    head = result.metadata.document
    answer["title"] = head.title or ""
    # Of an image only what it is said to show: an address is long, and is one to be lured to.
    answer["text"] = _IMAGE.sub(r"\1", _without_head(result.content or ""))
    answer["links"] = [
        PageLink(url=link.href, text=link.text, kind=link.attributes.get("class", ""))
        for link in result.metadata.links[:_MOST_LINKS]
    ]


def hiding(html: str) -> list[str]:
    """Simple selectors by which the page's own style sheets hide what they match."""
    found: list[str] = []
    for sheet in _sheets(html):
        for rule in _RULE.finditer(sheet):
            if _HIDING.search(rule[2]):
                names = (name.strip() for name in rule[1].split(","))
                found += [name for name in names if _SIMPLE.fullmatch(name)]
    return found[:_MOST_RULES]


def _sheets(html: str) -> Iterator[str]:
    """The first style sheets in a page."""
    lower = html.lower()
    place = 0
    for _ in range(_MOST_SHEETS):
        start = lower.find(">", lower.find("<style", place))
        end = lower.find("</style", start)
        if lower.find("<style", place) < 0 or end < 0:
            return
        yield html[start + 1 : min(end, start + _LARGEST_SHEET)]
        place = end


def _without_head(markdown: str) -> str:
    """Leave out the table that the library puts before the text."""
    if markdown.startswith("---\n"):
        _, end, rest = markdown.partition("\n---\n")
        return rest if end else markdown
    return markdown


def _work(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with os.fdopen(request.pop("file"), "rb") as file:
        file.seek(0)
        yield dict(convert_document(file.read(), **request))


if __name__ == "__main__":
    serve(_work)
