"""The tools that look back: at earlier turns, at long results, and at what was said for good."""

import json
from datetime import datetime
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from typing_extensions import TypedDict

from long_running_agents.domain.compaction import passage
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ids import SessionId, shown
from long_running_agents.domain.rule import RuleSource, new_rule, news, quoted
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import events, ledger, messages, rules, sessions, taints, turns
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import TurnDeps, effect

_LONGEST = 2000


class EarlierTurn(TypedDict):
    """One earlier turn, as the model reads it."""

    session: str
    when: datetime
    user: str
    agent: str


def conversations() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    return FunctionToolset(
        [Tool(get_recent_conversations, metadata=effect(Effect.READ))], id="conversations"
    )


async def get_recent_conversations(
    ctx: RunContext[TurnDeps],
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    all_sessions: bool = False,
) -> list[EarlierTurn]:
    """Fetch what was said in recent turns, oldest first.

    Args:
        limit: How many turns.
        all_sessions: Look beyond this session.
    """
    turn = ctx.deps.turn
    where = None if all_sessions else turn.session_id

    def work(tx: Transaction) -> tuple[list[Turn], list[SessionId]]:
        told = turns.recent(tx, limit, owner=ctx.deps.owner, session_id=where, before=turn.id)
        others = dict.fromkeys(each.session_id for each in told)
        return told, [
            session
            for session in others
            if session != turn.session_id and taints.sources(tx, session)
        ]

    found, foreign = await ctx.deps.database.read(work)
    for session in foreign:
        await ctx.deps.taint(f"session {shown(session)}, which has read foreign words")
    return [
        EarlierTurn(
            session=shown(earlier.session_id),
            when=earlier.created_at,
            user=earlier.prompt[:_LONGEST],
            agent=earlier.answer[:_LONGEST],
        )
        for earlier in reversed(found)
    ]


SEARCH_SESSION, READ_RESULT = "search_session", "read_result"
LOOKING_BACK = (READ_RESULT, SEARCH_SESSION)
"""The tools that help where something of the conversation is left out."""
_HITS = 5
_AROUND = 300


class SessionPassage(TypedDict):
    """What was said at one place, as the model reads it."""

    turn: int
    who: str
    text: str


async def search_session(ctx: RunContext[TurnDeps], query: str) -> list[SessionPassage]:
    """Find what was said earlier in this conversation, in turns that are left out too.

    Args:
        query: Words of it.
    """
    session_id = ctx.deps.turn.session_id
    found = await ctx.deps.database.read(
        lambda tx: messages.search(tx, session_id, query, _HITS, not_in=ctx.deps.turn.id)
    )
    return [
        SessionPassage(turn=turn, who=who, text=passage(text, query, _AROUND))
        for turn, who, text in found
    ]


def pinning() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    return FunctionToolset(
        [Tool(pin_rule, metadata=effect(Effect.IDEMPOTENT, powers=[Power.REMEMBER]))], id="rules"
    )


async def pin_rule(ctx: RunContext[TurnDeps], quotation: str) -> str:
    """Pin what the user said as a rule that holds for the rest of this session.

    Args:
        quotation: Whole sentences of the user's message, word for word.
    """
    turn, now = ctx.deps.turn, ctx.deps.clock.now()

    def work(tx: Transaction) -> tuple[str, list[EventEnvelope]]:
        text = " ".join(tx.redact(quotation).split())
        found = [each for each in rules.said(tx, turn.session_id) if quoted(text, each[1])]
        if not found:
            raise ToolFailed(_NOT_SAID)
        by = RuleSource.QUOTATION
        said_in, _, attended = next((each for each in found if each[2]), found[0])
        session = sessions.get(tx, turn.session_id)
        # Whoever has read foreign words may be quoting for them, and a program is no person.
        if not attended or taints.sources(tx, session.id):
            new = rules.suggest(tx, session, [text], by, now, said_in)
            answer = "Suggested: the user decides whether it is a rule."
        else:
            wanted = new_rule(turn.owner, session.id, text, by, now, said_in)
            rule, fresh = rules.pin(tx, wanted, now)
            new = [rule] if fresh else []
            answer = f"Pinned as rule #{rule.id}. Only the user can lift it."
        return answer, events.append(tx, session.id, turn.id, [news(each) for each in new], now)

    try:
        answer, recorded = await ctx.deps.database.write(work)
    except UsageError as error:
        raise ToolFailed(f"{error.message} Ask the user which rule to lift.") from None
    ctx.deps.announce(recorded)
    return answer


_NOT_SAID = (
    "Not pinned: these are no whole sentences of what the user wrote in this session. Only their"
    " own words can become a rule, copied letter for letter."
)

_AT_ONCE = 1200
_MOST = 20_000


def results() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    reading = effect(Effect.READ)
    tools = [Tool(read_result, metadata=reading), Tool(search_session, metadata=reading)]
    return FunctionToolset(tools, id="results")


async def read_result(
    ctx: RunContext[TurnDeps],
    call_id: str,
    offset: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=_MOST)] = _AT_ONCE,
) -> str:
    """Read on in a tool result that was shown in part.

    Args:
        call_id: As its note says.
        offset: Characters to skip.
        limit: How many characters.
    """
    session_id = ctx.deps.turn.session_id
    stored = await ctx.deps.database.read(lambda tx: ledger.result_of(tx, session_id, call_id))
    if stored is None:
        raise NotFound(
            f"No result of a call {call_id!r} in this session.",
            hint="Use the call_id that the note names.",
        )
    value = json.loads(stored)
    return _part(value if isinstance(value, str) else stored, call_id, offset, limit)


def note(call_id: str, offset: int, rest: int) -> str:
    """What stands in the place of text that is not shown."""
    where = f", offset={offset}" if offset else ""
    return f"[{rest} characters not shown: {READ_RESULT}(call_id={call_id!r}{where})]"


def _part(text: str, call_id: str, offset: int, limit: int) -> str:
    if offset >= len(text):
        return f"[The result ends at {len(text)} characters.]"
    end = offset + limit
    rest = len(text) - end
    shown = text[offset:end]
    return shown if rest <= 0 else f"{shown}\n{note(call_id, end, rest)}"
