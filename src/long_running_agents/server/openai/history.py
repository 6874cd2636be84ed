"""Conversations of programs that send all of the history with every request: found, kept, read."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from long_running_agents.agent import transcript
from long_running_agents.domain.events import EventEnvelope, MessageAccepted, TurnDone, UsageTotals
from long_running_agents.domain.ids import SessionId, shown
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import UNTITLED, Session, SessionOrigin
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import AnswerForm, ClientTool, Turn, TurnOrigin, brought
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import events, ledger, messages, sessions, taints, turns
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.imported_sessions import ImportedTurn, take_turn

SOURCE = "a conversation that a client told"
_MODEL = "client"
_NOTHING_USED = UsageTotals(input_tokens=0, output_tokens=0, cost=None)


class AdoptedExchange(NamedTuple):
    """What somebody said, and what they were answered."""

    said: str
    answered: str


def _adopt(tx: Transaction, session: Session, exchange: AdoptedExchange, now: datetime) -> None:
    over = ImportedTurn(
        prompt=exchange.said,
        answer=exchange.answered,
        created_at=now,
        ended_at=now,
        messages=(
            transcript.stored(ModelRequest(parts=[UserPromptPart(exchange.said)]), 1),
            transcript.stored(
                ModelResponse(parts=[TextPart(exchange.answered)], model_name=_MODEL), 1
            ),
        ),
    )
    turn_id = take_turn(tx, session, over, TurnOrigin.USER, now)
    taints.add(tx, session.id, turn_id, SOURCE, now)
    told = [
        MessageAccepted(content=exchange.said, origin=TurnOrigin.USER),
        TurnDone(
            text=exchange.answered,
            iterations=0,
            model=_MODEL,
            usage=_NOTHING_USED,
            mode=session.mode,
        ),
    ]
    events.append(tx, session.id, turn_id, told, now)


class ConversationService:
    """Finds an owner's sessions by what was said in them; those of others are not there."""

    def __init__(self, database: Database, clock: Clock, owner: str) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    async def keep(self, digest: str, turn: Turn) -> None:
        """Remember which turn a conversation ended with."""
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            # A session that was deleted meanwhile has no conversation to go on with.
            if sessions.find(tx, turn.session_id) is not None:
                turns.keep_conversation(tx, self._owner, digest, turn, now)

        await self._database.write(work)

    async def find(self, digest: str) -> Turn | None:
        """The turn that a conversation ended with, if nothing was said after it."""

        def work(tx: Transaction) -> Turn | None:
            found = turns.find_conversation(tx, self._owner, digest)
            turn = None if found is None else turns.get(tx, found)
            return turn if turn is not None and _is_last(tx, turn) else None

        return await self._database.read(work)

    async def begun(self, key: str) -> Turn | None:
        """The turn that was begun under the key of a request."""

        def work(tx: Transaction) -> Turn | None:
            found = turns.begun_under(tx, self._owner, key)
            return None if found is None else turns.get(tx, found, owner=self._owner)

        return await self._database.read(work)

    async def waiting_for(self, call_ids: Sequence[str]) -> Turn | None:
        """The one turn that waits for results of such calls; None when there are none or many."""
        found = await self._database.read(lambda tx: turns.waiting_for(tx, self._owner, call_ids))
        return found[0] if len(found) == 1 else None

    async def current(self, session_id: SessionId) -> Turn | None:
        """The turn of a session that has not ended."""

        def work(tx: Transaction) -> Turn | None:
            sessions.get(tx, session_id, owner=self._owner)
            return turns.current(tx, session_id)

        return await self._database.read(work)

    async def is_last(self, turn: Turn) -> bool:
        """Whether nothing was said in its session after a turn."""
        return await self._database.read(lambda tx: _is_last(tx, turn))

    async def position(self, session_id: SessionId) -> int:
        """The number of a session's last event; 0 for one that is still to begin."""

        def work(tx: Transaction) -> int:
            session = sessions.find(tx, session_id)
            if session is not None and session.owner != self._owner:
                raise NotFound(f"No session {shown(session_id)!r}.")
            return 0 if session is None else events.last(tx, session_id)

        return await self._database.read(work)

    async def told(self, turn: Turn) -> Sequence[EventEnvelope]:
        """A turn's events."""
        return await self._database.read(lambda tx: events.of_turn(tx, turn.id))

    async def since(self, turn: Turn, step: int) -> tuple[str, Sequence[ToolCallRecord]]:
        """What a turn said after a step, up to the next calls for its client, and those."""
        mine = brought(turn.client_tools).names

        def work(tx: Transaction) -> tuple[str, list[ToolCallRecord]]:
            calls = [call for call in ledger.of_turn(tx, turn.id) if call.tool in mine]
            last = min((call.step for call in calls if call.step > step), default=None)
            log = [
                message
                for message in messages.of_turn(tx, turn.id)
                if message.step > step and (last is None or message.step <= last)
            ]
            said = [
                transcript.text_of(each)
                for each in transcript.loaded(log)
                if isinstance(each, ModelResponse)
            ]
            text = "\n\n".join(filter(None, said))
            return text, [call for call in calls if call.step == last]

        return await self._database.read(work)

    async def adopt(self, exchanges: Sequence[AdoptedExchange], key: SessionId) -> None:
        """Begin a session with exchanges from elsewhere, of which there is at least one.

        Nothing is rung: it did not happen here, or now.
        """
        now = self._clock.now()
        session = Session(
            id=key,
            # Named after what is said next: what a client tells first is often its own set-up.
            title=UNTITLED,
            created_at=now,
            updated_at=now,
            owner=self._owner,
            origin=SessionOrigin.OPENAI,
        )

        def work(tx: Transaction) -> None:
            sessions.create(tx, session)
            for exchange in exchanges:
                _adopt(tx, session, exchange, now)

        await self._database.write(work)


def _is_last(tx: Transaction, turn: Turn) -> bool:
    newest = turns.last(tx, turn.session_id)
    return newest is not None and newest.id == turn.id


MOST_EXCHANGES = 50
"""Exchanges of an unknown conversation that are taken over, the newest."""
MOST_CHARACTERS = 200_000
"""Their characters, all in all."""
MOST_INSTRUCTIONS = 60_000
"""Characters of a client's instructions."""

_OPENS, _CLOSES = "<details", "</details>"


class SpeakerRole(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One thing that was said."""

    role: SpeakerRole
    text: str = ""
    pictures: tuple[str, ...] = ()
    """Where the pictures are that go with it."""
    calls: tuple[str, ...] = ()
    """The ids of the calls that an assistant made."""
    call_id: str = ""
    """The call that a tool's words answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRequest:
    """What a client asks for, whichever protocol it speaks."""

    model: str
    said: tuple[HistoryEntry, ...]
    instructions: str = ""
    tools: tuple[ClientTool, ...] = ()
    form: AnswerForm | None = None
    session: str | None = None
    """The session it names."""
    previous: str | None = None
    """The response it goes on from."""
    user: str | None = None
    """Whom it speaks for: the session of a client that tells nothing of what was said before."""
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestEntries:
    """The end of a conversation: what is new, and what came before it."""

    before: tuple[HistoryEntry, ...]
    words: tuple[str, ...]
    """What the user says now."""
    results: dict[str, str]
    """What came of calls, by their ids."""
    pictures: tuple[str, ...] = ()
    """Where the pictures are that the user shows now."""


def instructions(said: Iterable[HistoryEntry], first: str = "") -> str:
    """What a client tells the model beside the conversation, within bounds."""
    told = [first, *(each.text for each in said if each.role is SpeakerRole.SYSTEM)]
    text = "\n\n".join(part.strip() for part in told if part.strip())
    rest = len(text) - MOST_INSTRUCTIONS
    return f"{text[:MOST_INSTRUCTIONS]}\n[… {rest} more characters]" if rest > 0 else text


def newest(said: Sequence[HistoryEntry]) -> NewestEntries:
    """Part what is new from what came before: it follows the last words of the assistant.

    Raises:
        UsageError: There is nothing new, or a call has two results, or a picture for one.
    """
    talk = [each for each in said if each.role is not SpeakerRole.SYSTEM]
    place = len(talk)
    while place and talk[place - 1].role is not SpeakerRole.ASSISTANT:
        place -= 1
    before, new = talk[:place], talk[place:]
    results: dict[str, str] = {}
    for each in new:
        if each.role is SpeakerRole.TOOL:
            if each.call_id in results:
                raise UsageError(f"The call {each.call_id!r} has two results.")
            if each.pictures:
                raise UsageError("A tool's result is words.", hint="Show pictures as the user.")
            results[each.call_id] = each.text
    words = tuple(each.text for each in new if each.role is SpeakerRole.USER and each.text.strip())
    if not words and not results:
        raise UsageError(
            "Nothing new is said.", hint="The last message must be a user's or a tool's."
        )
    shown = [url for each in new if each.role is SpeakerRole.USER for url in each.pictures]
    return NewestEntries(before=tuple(before), words=words, results=results, pictures=tuple(shown))


def digest(said: Sequence[HistoryEntry]) -> str:
    """What names a conversation: the same for all ways in which clients tell it again.

    Instructions and results are left out, since clients change and prune them; and so are spaces,
    and what is folded away.
    """
    told = [[each.role, _plain(each.text), *each.calls] for each in merged(said)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def merged(said: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Users and assistant in turn, whatever is between their words."""
    told: list[HistoryEntry] = []
    for each in said:
        if each.role not in (SpeakerRole.USER, SpeakerRole.ASSISTANT) or not (
            each.text.strip() or each.calls
        ):
            continue
        if told and told[-1].role is each.role:
            last = told.pop()
            text = "\n\n".join(part for part in (last.text, each.text) if part)
            told.append(HistoryEntry(role=each.role, text=text, calls=(*last.calls, *each.calls)))
        else:
            told.append(each)
    return told


def exchanges(said: Sequence[HistoryEntry]) -> list[AdoptedExchange]:
    """The newest exchanges of a conversation, words only and within bounds."""
    found: list[AdoptedExchange] = []
    asked = ""
    for each in merged(said):
        if each.role is SpeakerRole.USER:
            asked = each.text
        elif asked and each.text.strip():
            found.append(AdoptedExchange(asked, each.text))
            asked = ""
    kept: list[AdoptedExchange] = []
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


_USER = (
    # Open WebUI: titles, tags, follow-ups, search queries, completions.
    re.compile(r"\A\s*### Task:\s"),
    # LibreChat.
    re.compile(r"\A\s*Provide a concise, 5-word-or-less title for the conversation"),
    re.compile(r"\A\s*Please generate a concise,? 5-word-or-less title", re.IGNORECASE),
    # opencode.
    re.compile(r"\A\s*Generate a title for this conversation:"),
)
_SYSTEM = (
    # aider.
    re.compile(
        r"\A\s*You are an expert software engineer that generates concise,[\s\\]+one-line Git"
    ),
    # opencode.
    re.compile(r"\A\s*You are a title generator\."),
    # LobeChat and others.
    re.compile(r"\A\s*You are a conversation summarizer\b"),
)


def is_chore(
    said: Sequence[HistoryEntry], metadata: Mapping[str, object], *, tools: bool, stream: bool
) -> bool:
    """Whether a request is a chore, and not a part of a conversation.

    The metadata are what it says of itself; no chore brings tools, or a form for the answer.
    """
    if tools:
        return False
    if isinstance(metadata.get("task"), str):
        return True
    told = [each.text for each in said if each.role is SpeakerRole.SYSTEM]
    if any(pattern.search(text) for text in told for pattern in _SYSTEM):
        return True
    users = [each.text for each in said if each.role is SpeakerRole.USER]
    alone = len(users) == 1 and not stream
    return alone and any(pattern.search(users[0]) for pattern in _USER)


def words(said: Sequence[HistoryEntry]) -> str:
    """All that a chore says beside its instructions, as one text."""
    return "\n\n".join(
        each.text for each in said if each.role in (SpeakerRole.USER, SpeakerRole.ASSISTANT)
    )
