"""Reading on in a result that was shown in part."""

import json
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect
from long_running_agents.errors import NotFound
from long_running_agents.store import ledger
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect

READ_RESULT = "read_result"
"""The name of the tool."""

_AT_ONCE = 1200
_MOST = 20_000


def results() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="results")

    @tools.tool(metadata=effect(Effect.READ))
    async def read_result(
        ctx: RunContext[TurnDeps],
        call_id: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=_MOST)] = _AT_ONCE,
    ) -> str:
        """Read on in the result of an earlier tool call that was shown only in part.

        Args:
            ctx: The turn that asks.
            call_id: The call, as the note in its result names it.
            offset: How many characters to skip.
            limit: How many characters to read.
        """
        session_id = ctx.deps.turn.session_id
        stored = await ctx.deps.database.read(lambda tx: ledger.result_of(tx, session_id, call_id))
        if stored is None:
            raise NotFound(
                f"No result of a call {call_id!r} in this session.",
                hint="Use the call_id that the note names.",
            )
        return _part(_text(stored), call_id, offset, limit)

    return tools


def note(call_id: str, offset: int, rest: int) -> str:
    """What stands in the place of text that is not shown."""
    where = f", offset={offset}" if offset else ""
    return f"[{rest} characters not shown: {READ_RESULT}(call_id={call_id!r}{where})]"


def _text(stored: str) -> str:
    value = json.loads(stored)
    return value if isinstance(value, str) else stored


def _part(text: str, call_id: str, offset: int, limit: int) -> str:
    if offset >= len(text):
        return f"[The result ends at {len(text)} characters.]"
    end = offset + limit
    rest = len(text) - end
    shown = text[offset:end]
    return shown if rest <= 0 else f"{shown}\n{note(call_id, end, rest)}"
