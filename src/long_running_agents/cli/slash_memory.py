"""The commands inside a conversation that are about what is remembered."""

import re
from typing import TYPE_CHECKING

from long_running_agents.cli.memories import cells, number_of
from long_running_agents.cli.render import one_line
from long_running_agents.domain.memory import (
    Draft,
    Memory,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
)
from long_running_agents.errors import Denied, NotFound, UsageError

if TYPE_CHECKING:
    from long_running_agents.cli.conversation import Conversation
    from long_running_agents.cli.desk import MemoryDesk

_LISTED = 10
_DECIDED = re.compile(r"(#\d+|\+)\s+(.+)", re.DOTALL)


async def search(talk: "Conversation", words: str) -> None:
    """Show the memories that answer a question best."""
    memories, viewer = _memory_of(talk)
    if not words:
        raise UsageError("Nothing says what to look for:", hint="write '/memory words'.")
    found = await memories.find(viewer, Query(text=words, limit=_LISTED))
    lines = [_line(hit.memory) for hit in found.hits] or ["nothing like that is remembered"]
    if found.degraded:
        lines.append(f"only a part was searched: {found.degraded}")
    await talk.screen.note("\n".join(lines))


async def remember(talk: "Conversation", words: str) -> None:
    """Remember something; '#12 …' replaces a memory, '+ …' stands beside what is similar."""
    memories, viewer = _memory_of(talk)
    decided = _DECIDED.fullmatch(words)
    sign, text = (decided[1], decided[2]) if decided else ("", words)
    # Of no session: whatever was said in one is not recalled in it, and this was not said.
    draft = Draft(content=text)
    written = await memories.write(
        viewer,
        draft,
        supersedes=number_of(sign) if sign.startswith("#") else None,
        keep_both=sign == "+",
    )
    await talk.screen.note(_told(written, text))


async def forget(talk: "Conversation", text: str) -> None:
    """Forget a memory with everything derived from it."""
    memories, viewer = _memory_of(talk)
    number = number_of(text)
    gone = await memories.forget(viewer.owner, Selection(ids=frozenset({number})))
    if not gone.memories:
        raise NotFound(f"No memory #{number}.", hint="'/memory words' shows numbers.")
    lines = [f"forgot {_line(memory)}" for memory in gone.memories]
    lines.append(f"after this chat, 'lra memory undo {gone.batch}' brings it back")
    await talk.screen.note("\n".join(lines))


def _memory_of(talk: "Conversation") -> "tuple[MemoryDesk, Viewer]":
    desk = talk.desk
    memories = desk.memories
    if memories is None:
        raise UsageError("Memory is switched off:", hint="set memory.enabled to use it.")
    return memories, Viewer(owner=desk.owner, agent=desk.agent, session_id=talk.session_id)


def _told(written: Written, text: str) -> str:
    match written:
        case Stored(memory, None):
            return f"remembered as #{memory.id}"
        case Stored(memory, old):
            number = "" if old is None else f", in place of #{old.id}"
            return f"remembered as #{memory.id}{number}"
        case Merged(memory):
            return f"known already, as #{memory.id}"
        case Similar(known):
            short = one_line(text, 40)
            one, both = f"/remember #{known[0].id} {short}", f"/remember + {short}"
            lines = [_line(memory) for memory in known]
            advice = f"'{one}' replaces it, '{both}' keeps both"
            return "\n".join(["not written: it is similar to", *lines, advice])
        case Refused(reason):
            raise Denied(f"Not written: {reason}.")


def _line(memory: Memory) -> str:
    return "  ".join(one_line(cell) for cell in cells(memory))
