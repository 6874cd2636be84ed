"""From HTML to Markdown, without what a visitor of the page would not see."""

import re
from collections.abc import Iterator

from html_to_markdown import (
    ConversionOptions,
    InvalidInputError,
    PreprocessingOptions,
    convert,
)

from long_running_agents.web.inside.converting import Converted, Link

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


def read(html: str, url: str, answer: Converted) -> None:
    """Fill in what a page says."""
    try:
        _read(html, url, answer)
    except InvalidInputError:
        answer["error"] = "it is no HTML"


def _read(html: str, url: str, answer: Converted) -> None:
    result = convert(
        html,
        ConversionOptions(
            preprocessing=PreprocessingOptions(enabled=True, remove_forms=False),
            hidden_content="drop",
            inline_data_media="alt_text_only",
            exclude_selectors=[*_UNSEEN, *hiding(html)],
            base_url=url,
            max_depth=_DEEPEST,
        ),
    )
    head = result.metadata.document
    answer["title"] = head.title or ""
    # Of an image only what it is said to show: an address is long, and is one to be lured to.
    answer["text"] = _IMAGE.sub(r"\1", _without_head(result.content or ""))
    answer["links"] = [
        Link(url=link.href, text=link.text, kind=link.attributes.get("class", ""))
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
