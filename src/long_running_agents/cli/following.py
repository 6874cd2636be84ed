"""Following one turn from its beginning to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from long_running_agents.cli.desk import Desk
from long_running_agents.cli.failures import INTERRUPTED, OK, exit_code_for
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.events import (
    CLOSING,
    Event,
    Passing,
    Recorded,
    TurnDone,
    TurnFailed,
    TurnLimited,
)
from long_running_agents.domain.grant import Lasting
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, LimitReached

Show = Callable[[Recorded | Passing], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to an approval."""

    allowed: bool
    reason: str = ""
    lasting: Lasting = Lasting.ONCE


Ask = Callable[[Approval], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn came to its end."""

    turn: Turn
    closing: Event

    @property
    def exit_code(self) -> int:
        """What the shell is told."""
        match self.closing:
            case TurnDone():
                return OK
            case TurnLimited():
                return LimitReached.exit_code
            case TurnFailed(code=code):
                return exit_code_for(code)
            case _:
                return INTERRUPTED


def by_rule(desk: Desk, *, yes: bool, approved: tuple[str, ...]) -> Ask:
    """Answer questions by what was said on the command line; the rest may be left to wait."""

    async def answer(approval: Approval) -> Verdict:
        if yes or approval.tool in approved:
            return Verdict(allowed=True)
        if desk.waits:
            raise _waiting(approval)
        return Verdict(allowed=False, reason="it was not approved on the command line")

    return answer


async def refuse_if_waiting(desk: Desk, session_id: SessionId) -> None:
    """Refuse to queue behind a question that only a person can answer."""
    questions = await desk.turns.open_questions(session_id)
    if questions:
        raise _waiting(questions[0])


def _waiting(approval: Approval) -> Busy:
    return Busy(
        f"Session {approval.session_id!r} waits for an answer: may {approval.tool} run?",
        hint=f"'lra approvals allow {approval.id}' or 'lra approvals deny …' goes on.",
    )


async def follow(
    desk: Desk,
    session_id: SessionId,
    begin: Callable[[], Awaitable[Turn]],
    *,
    show: Show,
    ask: Ask,
) -> Ended:
    """Begin a turn, show what happens, answer its questions, and wait for its end.

    Args:
        desk: Where it is done.
        session_id: The turn's session.
        begin: Starts the turn, or lets it go on.
        show: Shows everything that is heard of the turn.
        ask: Answers questions.
    """
    after = await desk.last_event(session_id)
    begun: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
    # The ear is there before the turn begins, so that no word is missed.
    hearing = asyncio.create_task(_hear(desk, session_id, after, begun, show))
    watching: asyncio.Task[Turn] | None = None
    try:
        begun.set_result(await begin())
        watching = asyncio.create_task(_watch(desk, begun.result(), ask))
        closing, turn = await asyncio.gather(hearing, watching)
        return Ended(turn, closing)
    finally:
        for task in (hearing, watching):
            if task is not None:
                task.cancel()


async def _hear(
    desk: Desk, session_id: SessionId, after: int, begun: "asyncio.Future[Turn]", show: Show
) -> Event:
    async for heard in desk.turns.listen(session_id, after):
        if heard.turn_id != (await begun).id:
            continue
        await show(heard)
        if isinstance(heard, Recorded) and isinstance(heard.event, CLOSING):
            return heard.event
    raise AssertionError("a session is heard without end")


async def _watch(desk: Desk, turn: Turn, ask: Ask) -> Turn:
    # Questions are answered once the turn has come to rest: an answer that arrives while the
    # turn is still putting its things away would be overlooked.
    while True:
        turn = await desk.turns.settled(turn.id)
        if turn.status is not TurnStatus.WAITING:
            return turn
        for approval in await desk.turns.open_questions(turn.session_id):
            if approval.turn_id == turn.id:
                verdict = await ask(approval)
                await desk.turns.answer(
                    approval.id,
                    allowed=verdict.allowed,
                    reason=verdict.reason,
                    lasting=verdict.lasting,
                )
