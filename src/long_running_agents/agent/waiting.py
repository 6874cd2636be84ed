"""What a turn waits for: a person's answers, and results of calls that its client runs."""

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.store import approvals, ledger
from long_running_agents.store.database import Transaction


def asks(tx: Transaction, turn_id: TurnId) -> bool:
    """Whether a question of a turn is open."""
    questions = approvals.of_turn(tx, turn_id).values()
    return any(question.state is ApprovalState.OPEN for question in questions)


def client_calls(tx: Transaction, turn_id: TurnId) -> list[ToolCallRecord]:
    """The calls of a turn that were handed to its client and have no result yet."""
    waiting = [each for each in ledger.unresolved(tx, turn_id) if each.state is CallState.WAITING]
    if not waiting:
        return []
    asked = approvals.of_turn(tx, turn_id)
    return [call for call in waiting if call.call_id not in asked]


def waits(tx: Transaction, turn_id: TurnId) -> bool:
    """Whether anything has to come before a turn can go on."""
    return asks(tx, turn_id) or bool(client_calls(tx, turn_id))
