"""Looking back at earlier turns."""

from datetime import datetime
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext
from typing_extensions import TypedDict

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import Turn
from long_running_agents.store import taints, turns
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect

_LONGEST = 2000


class EarlierTurn(TypedDict):
    """One earlier turn, as the model reads it."""

    session: str
    when: datetime
    user: str
    agent: str


def conversations() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="conversations")

    @tools.tool(metadata=effect(Effect.READ))
    async def get_recent_conversations(
        ctx: RunContext[TurnDeps],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        all_sessions: bool = False,
    ) -> list[EarlierTurn]:
        """Fetch what was said in recent turns, oldest first.

        Args:
            ctx: The turn that asks.
            limit: How many turns.
            all_sessions: Whether to look beyond this session, into earlier conversations.
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
            await ctx.deps.taint(f"session {session}, which has read foreign words")
        return [_earlier(earlier) for earlier in reversed(found)]

    return tools


def _earlier(turn: Turn) -> EarlierTurn:
    return EarlierTurn(
        session=turn.session_id,
        when=turn.created_at,
        user=turn.prompt[:_LONGEST],
        agent=turn.answer[:_LONGEST],
    )
