"""What a client says was said, in whichever protocol: read, compared, and never believed."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from long_running_agents.agent.adopting import Exchange
from long_running_agents.domain.brought import ClientTool
from long_running_agents.errors import UsageError

MOST_EXCHANGES = 50
"""Exchanges of an unknown conversation that are taken over, the newest."""
MOST_CHARACTERS = 200_000
"""Their characters, all in all."""
MOST_INSTRUCTIONS = 60_000
"""Characters of a client's instructions."""

_OPENS, _CLOSES = "<details", "</details>"


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One thing that was said."""

    role: Role
    text: str = ""
    calls: tuple[str, ...] = ()
    """The ids of the calls that an assistant made."""
    call_id: str = ""
    """The call that a tool's words answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asks for, whichever protocol it speaks."""

    model: str
    said: tuple[Said, ...]
    instructions: str = ""
    tools: tuple[ClientTool, ...] = ()
    session: str | None = None
    """The session it names."""
    previous: str | None = None
    """The response it goes on from."""
    user: str | None = None
    """Whom it speaks for: the session of a client that tells nothing of what was said before."""
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The end of a conversation: what is new, and what came before it."""

    before: tuple[Said, ...]
    words: tuple[str, ...]
    """What the user says now."""
    results: dict[str, str]
    """What came of calls, by their ids."""


def instructions(said: Iterable[Said], first: str = "") -> str:
    """What a client tells the model beside the conversation, within bounds."""
    told = [first, *(each.text for each in said if each.role is Role.SYSTEM)]
    text = "\n\n".join(part.strip() for part in told if part.strip())
    rest = len(text) - MOST_INSTRUCTIONS
    return f"{text[:MOST_INSTRUCTIONS]}\n[… {rest} more characters]" if rest > 0 else text


def newest(said: Sequence[Said]) -> Newest:
    """Part what is new from what came before: it follows the last words of the assistant.

    Raises:
        UsageError: There is nothing new, or a call has two results.
    """
    talk = [each for each in said if each.role is not Role.SYSTEM]
    place = len(talk)
    while place and talk[place - 1].role is not Role.ASSISTANT:
        place -= 1
    before, new = talk[:place], talk[place:]
    results: dict[str, str] = {}
    for each in new:
        if each.role is Role.TOOL:
            if each.call_id in results:
                raise UsageError(f"The call {each.call_id!r} has two results.")
            results[each.call_id] = each.text
    words = tuple(each.text for each in new if each.role is Role.USER and each.text.strip())
    if not words and not results:
        raise UsageError(
            "Nothing new is said.", hint="The last message must be a user's or a tool's."
        )
    return Newest(before=tuple(before), words=words, results=results)


def digest(said: Sequence[Said]) -> str:
    """What names a conversation: the same for all ways in which clients tell it again.

    Instructions and results are left out, since clients change and prune them; and so are spaces,
    and what is folded away.
    """
    told = [[each.role, _plain(each.text), *each.calls] for each in merged(said)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def merged(said: Sequence[Said]) -> list[Said]:
    """Users and assistant in turn, whatever is between their words."""
    told: list[Said] = []
    for each in said:
        if each.role not in (Role.USER, Role.ASSISTANT) or not (each.text.strip() or each.calls):
            continue
        if told and told[-1].role is each.role:
            last = told.pop()
            text = "\n\n".join(part for part in (last.text, each.text) if part)
            told.append(Said(role=each.role, text=text, calls=(*last.calls, *each.calls)))
        else:
            told.append(each)
    return told


def exchanges(said: Sequence[Said]) -> list[Exchange]:
    """The newest exchanges of a conversation, words only and within bounds."""
    found: list[Exchange] = []
    asked = ""
    for each in merged(said):
        if each.role is Role.USER:
            asked = each.text
        elif asked and each.text.strip():
            found.append(Exchange(asked, each.text))
            asked = ""
    kept: list[Exchange] = []
    room = MOST_CHARACTERS
    for exchange in reversed(found[-MOST_EXCHANGES:]):
        room -= len(exchange.said) + len(exchange.answered)
        if room < 0:
            break
        kept.append(exchange)
    return kept[::-1]


def _plain(text: str) -> str:
    # Half a character cannot be encoded; a conversation with one is still a conversation.
    shown = " ".join(_unfolded(text).split())
    return shown.encode("utf-8", "replace").decode()


def _unfolded(text: str) -> str:
    """A text without what is folded away in it. By hand: a pattern would look for ends for ever."""
    kept: list[str] = []
    place = 0
    while (start := text.find(_OPENS, place)) >= 0:
        end = text.find(_CLOSES, start)
        if end < 0:
            break
        kept.append(text[place:start])
        place = end + len(_CLOSES)
    return " ".join([*kept, text[place:]])
