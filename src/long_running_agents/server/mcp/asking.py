"""Asking the agent: one turn, from its message to its rest."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, cast

import anyio

from long_running_agents.domain.events import CLOSING, Event, Recorded, ToolCalled, TurnFailed
from long_running_agents.domain.ids import SessionId, new_id, session_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import NotFound
from long_running_agents.server.mcp.agent import Agent
from long_running_agents.server.mcp.shapes import Answer, Failure, Question

_QUIET = 10.0
"""Seconds after which it is said again that the turn is not at rest yet."""

Report = Callable[[str], Awaitable[None]]
"""Tells whoever asked how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a turn is followed."""

    clock: Clock
    report: Report
    leaving: Callable[[], bool]
    """Whether we leave: then a turn that is not followed any more goes on at the next start."""


async def ask(agent: Agent, question: Question, manner: Manner) -> Answer | Failure:
    """Say something, and wait until the turn is at rest.

    Nobody is there to approve anything, so that what needs an approval goes by the policy for
    that. Whoever gives up waiting stops the turn.
    """
    chosen = question.session_id
    made_up = SessionId(new_id("session", manner.clock.now()))
    key = made_up if chosen is None else session_id(chosen)
    after = 0
    # A session begins with its first message.
    with suppress(NotFound):
        after = await agent.sessions.last_event(key)
    # A task of its own: whoever gives up meanwhile has to know which turn it became.
    starting = asyncio.ensure_future(agent.turns.start(key, question.message, attended=False))
    try:
        return await _followed(agent, await asyncio.shield(starting), after, manner)
    except asyncio.CancelledError:
        if not manner.leaving():
            with anyio.CancelScope(shield=True):
                await agent.turns.stop_turn((await starting).id)
        raise


async def _followed(agent: Agent, turn: Turn, after: int, manner: Manner) -> Answer | Failure:
    hearing = asyncio.create_task(_hear(agent, turn, after, manner.report))
    settling = asyncio.create_task(agent.turns.settled(turn.id))
    try:
        while not await manner.clock.wait(settling, _QUIET):
            await manner.report("working")
        turn = settling.result()
        if turn.status is TurnStatus.WAITING:
            questions = await agent.turns.open_questions(turn.session_id)
            return _answer(turn, [each.question for each in questions if each.turn_id == turn.id])
        closing = await hearing
    finally:
        hearing.cancel()
        settling.cancel()
    if isinstance(closing, TurnFailed):
        return Failure(
            code=closing.code,
            message=closing.message,
            hint=closing.hint,
            session_id=turn.session_id,
            turn_id=turn.id,
        )
    return _answer(turn, [])


def _answer(turn: Turn, questions: Sequence[str]) -> Answer:
    return Answer(
        answer=turn.answer,
        session_id=turn.session_id,
        turn_id=turn.id,
        status=cast("Literal['done', 'waiting', 'stopped', 'limited']", turn.status.value),
        waits_for=tuple(questions),
    )


async def _hear(agent: Agent, turn: Turn, after: int, report: Report) -> Event:
    """Tell of each tool that is used; how the turn closes."""
    async for heard in agent.turns.listen(turn.session_id, after):
        if not isinstance(heard, Recorded) or heard.turn_id != turn.id:
            continue
        if isinstance(heard.event, ToolCalled):
            await report(f"uses {heard.event.tool}")
        if isinstance(heard.event, CLOSING):
            return heard.event
    raise AssertionError("a session is heard without end")
