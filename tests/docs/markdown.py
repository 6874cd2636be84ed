"""Reading our own documents: their links and code blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (run|pytest) -->\n$")
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    path: Path
    line: int
    language: str
    code: str
    mark: str
    """run or pytest, from the comment above; empty when the block is only shown."""
    output: str | None
    """The text block that follows a block that is run, before any other."""

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    for place, fence in enumerate(found):
        mark = _MARK.search(text[: fence.start()])
        following = found[place + 1] if place + 1 < len(found) else None
        yield Block(
            path=path,
            line=text.count("\n", 0, fence.start()) + 1,
            language=fence[1],
            code=fence[2],
            mark=mark[1] if mark else "",
            output=following[2] if following and following[1] == "text" else None,
        )


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def links(path: Path) -> Iterator[str]:
    yield from _LINK.findall(prose(path))


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
