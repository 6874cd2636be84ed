from datetime import UTC, datetime

import pytest
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart

from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.domain.policy import Rules
from long_running_agents.tools.gate import Gate

pytestmark = pytest.mark.anyio

CALL = ToolCallPart("shell", {"command": "ls"}, tool_call_id="c1")
ASKS = Rules(require_approval=["shell"])


class Book:
    """A call book in memory."""

    def __init__(self, *, begun=False, answer=None, reason=""):
        self._begun = begun
        self._answer = answer
        self._reason = reason
        self.asked = []
        self.denied = []

    def begun(self, call_id):
        return self._begun

    def approval(self, call_id):
        return self._answer and Approval(
            id=ApprovalId("a1"),
            session_id=SessionId("s"),
            turn_id=TurnId("t"),
            call_id=call_id,
            tool="shell",
            args="{}",
            question="May it?",
            state=self._answer,
            reason=self._reason,
            asked_at=datetime(2026, 1, 5, tzinfo=UTC),
        )

    async def ask(self, call_id, question):
        self.asked.append((call_id, question))

    async def deny(self, call_id, reason):
        self.denied.append((call_id, reason))


async def through(book, rules=ASKS, *, attended=True):
    ran = []

    async def run():
        ran.append(CALL.tool_call_id)
        return "ran"

    try:
        return await Gate(rules, book, attended=attended).call(CALL, run)
    finally:
        book.ran = ran


async def test_an_allowed_call_runs_without_a_word():
    book = Book()

    assert await through(book, Rules()) == "ran"
    assert (book.asked, book.denied) == ([], [])


async def test_a_person_is_asked_before_anything_runs():
    book = Book()

    with pytest.raises(ApprovalRequired):
        await through(book)
    assert book.asked == [("c1", "'shell' is in agent.tools.require_approval")]
    assert book.ran == []


async def test_an_open_question_is_not_asked_again():
    book = Book(answer=ApprovalState.OPEN)

    with pytest.raises(ApprovalRequired):
        await through(book)
    assert (book.asked, book.ran) == ([], [])


async def test_a_yes_lets_the_call_run():
    assert await through(Book(answer=ApprovalState.ALLOWED)) == "ran"


@pytest.mark.parametrize("state", [ApprovalState.DENIED, ApprovalState.WITHDRAWN])
async def test_a_no_is_told_to_the_model_and_written_down(state):
    book = Book(answer=state, reason="too risky")

    with pytest.raises(ToolFailed, match="denied this call: too risky"):
        await through(book)
    assert (book.denied, book.ran) == ([("c1", "too risky")], [])


async def test_a_forbidden_call_is_refused_and_written_down():
    book = Book()

    with pytest.raises(ToolFailed, match=r"Not allowed: 'shell' is not among .*agent.tools.allow"):
        await through(book, Rules(allow=["files"]))
    assert [call for call, _ in book.denied] == ["c1"]
    assert book.ran == []


async def test_nobody_is_asked_when_nobody_is_there():
    book = Book()

    with pytest.raises(ToolFailed, match="nobody is there"):
        await through(book, attended=False)
    assert (book.asked, book.ran) == ([], [])


async def test_a_call_that_began_before_a_restart_has_passed_the_gate():
    assert await through(Book(begun=True), Rules(allow=[])) == "ran"


def test_the_gate_knows_which_tools_run_freely():
    gate = Gate(Rules(allow=["shell", "files"], require_approval=["shell"]), Book(), attended=True)

    assert [gate.free(tool) for tool in ("files", "shell", "other")] == [True, False, False]
