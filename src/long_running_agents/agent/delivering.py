"""Results of the client's own tools: written where the turn finds them when it goes on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from long_running_agents.agent import waiting
from long_running_agents.domain.events import Event, Recorded, ToolReturned
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store import events, ledger, taints, turns
from long_running_agents.store.database import Transaction

LONGEST = 200_000
"""Characters of a result that are kept."""
_PREVIEW = 500


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came of results."""

    news: list[Recorded] = field(default_factory=list[Recorded])
    going_on: Turn | None = None
    """The turn, if it waited for nothing else."""


def deliver(
    tx: Transaction, turn: Turn, results: Mapping[str, str], now: datetime, *, go_on: bool = True
) -> Delivered:
    """Store results of calls that a client was to run.

    Args:
        tx: The transaction in which the turn was read.
        turn: The turn.
        results: What came of each call, by its id.
        now: When.
        go_on: Whether the turn is put in line again once it waits for nothing else.

    Raises:
        UsageError: A call is unknown, or has its result.
    """
    handed = {call.call_id: call for call in waiting.client_calls(tx, turn.id)}
    if wrong := [call_id for call_id in results if call_id not in handed]:
        raise UsageError(
            f"No call {wrong[0]!r} waits for a result.",
            hint="Each call is answered once, with the id it was handed over with.",
        )
    news: list[Event] = []
    for call_id, said in results.items():
        call, text = handed[call_id], _bounded(said)
        ledger.resolve(tx, turn.id, call_id, CallState.DONE, json.dumps(text), now)
        source = f"the client's tool {call.tool}"
        taints.add(tx, turn.session_id, turn.id, source, now, call_id=call_id)
        news.append(
            ToolReturned(
                tool=call.tool,
                tool_call_id=call_id,
                result_preview=tx.redact(text)[:_PREVIEW],
                duration_ms=0,
                success=True,
                outcome=CallState.DONE,
            )
        )
    told = events.append(tx, turn.session_id, turn.id, news, now)
    # A turn that has not sat down to wait yet finds the results by itself.
    ready = go_on and turn.status is TurnStatus.WAITING and not waiting.waits(tx, turn.id)
    if not ready:
        return Delivered(told)
    turns.move(tx, turn, TurnStatus.QUEUED, now=now)
    return Delivered(told, turns.get(tx, turn.id))


def _bounded(text: str) -> str:
    rest = len(text) - LONGEST
    return f"{text[:LONGEST]}\n[… {rest} more characters were cut]" if rest > 0 else text
