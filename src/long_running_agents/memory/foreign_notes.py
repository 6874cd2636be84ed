"""Notes in Markdown: each item of a list, and each paragraph, is something remembered."""

import re
from collections.abc import Iterator
from pathlib import Path

from long_running_agents.domain.memory import Draft, Kind, Trust
from long_running_agents.memory.embedding.port import well_formed
from long_running_agents.memory.foreign import Told
from long_running_agents.memory.markdown import Item, items, uncommented

_LESSONS = re.compile(r"learn|lesson|mistake", re.IGNORECASE)
_ABOUT = re.compile(r"\*Source: .*\*")
"""A line that says where the rest of a section is from."""
_ANSWER = "**Correction**"
_QUESTION = "**Mistake**"


def notes(path: Path) -> Iterator[Told]:
    """The items of a file; a learnings file holds lessons, any other facts."""
    kind = Kind.LESSON if _LESSONS.search(path.name) else Kind.FACT
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    for item in _whole(items(uncommented(text))):
        # The first heading is the file's title and says nothing about what is below it.
        topic = item.heading if item.level > 1 else ""
        draft = Draft(
            content=well_formed(f"{topic}: {item.text}" if topic else item.text),
            kind=kind,
            trust=Trust.AGENT,
            actor="import",
            source=f"import:{path.name}",
        )
        yield Told(item.line, draft)


def _whole(found: Iterator[Item]) -> Iterator[Item]:
    """Items without those that only name a source; a mistake together with its correction."""
    last: Item | None = None
    for item in found:
        if _ABOUT.fullmatch(item.text):
            continue
        if last is not None and _belongs(last, item):
            last = Item(last.line, f"{last.text}\n{item.text}", last.heading, last.level)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _belongs(last: Item, item: Item) -> bool:
    return (
        item.heading == last.heading
        and item.text.startswith(_ANSWER)
        and last.text.startswith(_QUESTION)
    )
