from datetime import UTC, datetime

import pytest
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.approval import Approval, ApprovalState, Grant, GrantScope
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, TurnId
from long_running_agents.domain.policy import (
    Allow,
    Ask,
    DecidedBy,
    Occasion,
    PolicyRule,
    PolicyRules,
    Ruling,
)
from long_running_agents.domain.taint import Taint
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.tools.deps import effect
from long_running_agents.tools.gate import Gate

pytestmark = pytest.mark.anyio

CALL = ToolCallPart("shell", {"command": "ls"}, tool_call_id="c1")
ASKS = PolicyRules(require_approval=["shell"])


class Book:
    """A call book in memory."""

    def __init__(self, *, begun=False, answer=None, reason="", sources=(), seen=(), granted=()):
        self._begun = begun
        self._answer = answer
        self._reason = reason
        self.sources = tuple(sources)
        self._seen = frozenset(seen)
        self._granted = granted
        self.asked = []
        self.offers = []
        self.denied = []
        self.noted = []

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

    async def words(self, *, overheard):
        return Taint(sources=self.sources, seen=self._seen)

    async def grants(self):
        return self._granted

    async def judged(self, call_id, decision):
        self.noted.append((call_id, decision))

    async def ask(self, call_id, question, offer):
        self.asked.append((call_id, question))
        self.offers.append(offer)

    async def deny(self, call_id, reason):
        self.denied.append((call_id, reason))


def tool(name, kind=Effect.READ, **said):
    return ToolDefinition(name=name, metadata=effect(kind, **said))


async def through(book, rules=ASKS, *, attended=True, call=CALL, definition=None):
    ran = []
    gate = Gate(rules, book, Occasion(attended=attended))
    gate.meet(definition or tool(call.tool_name, Effect.ONCE))

    async def run():
        ran.append(call.tool_call_id)
        return "ran"

    try:
        return await gate.call(call, run)
    finally:
        book.ran = ran


async def test_an_allowed_call_runs_without_a_word():
    book = Book()

    assert await through(book, PolicyRules()) == "ran"
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
        await through(book, PolicyRules(allow=["files"]))
    assert [call for call, _ in book.denied] == ["c1"]
    assert book.ran == []


async def test_nobody_is_asked_when_nobody_is_there():
    book = Book()

    with pytest.raises(ToolFailed, match="nobody is there"):
        await through(book, attended=False)
    assert (book.asked, book.ran) == ([], [])


async def test_a_call_that_began_before_a_restart_has_passed_the_gate():
    assert await through(Book(begun=True), PolicyRules(allow=[])) == "ran"


async def test_a_question_that_expired_is_told_to_the_model():
    book = Book(answer=ApprovalState.EXPIRED)

    with pytest.raises(ToolFailed, match="nobody answered in time"):
        await through(book)
    assert (book.denied, book.ran) == ([("c1", "nobody answered in time")], [])


async def test_a_call_that_was_judged_when_it_was_made_is_not_judged_again():
    book = Book()
    gate = Gate(PolicyRules(), book, Occasion())
    gate.meet(tool("shell"))
    assert await gate.judge(CALL) == Allow()

    async def run():
        return "ran"

    # What is read meanwhile cannot have moved the model to make it.
    book.sources = ("https://evil.example",)
    assert await gate.call(CALL, run) == "ran"
    assert book.noted == []


async def test_a_call_that_a_dead_process_left_is_judged_and_noted():
    book = Book()

    await through(book, PolicyRules())
    assert book.noted == [("c1", Allow())]


async def test_the_question_says_what_a_lasting_answer_would_cover():
    book = Book()

    with pytest.raises(ApprovalRequired):
        await through(book)
    assert book.offers == [GrantScope(tool="shell", programs=("ls",))]


async def test_a_grant_lets_the_call_through_and_is_named():
    grant = Grant(
        id=GrantId("g1"),
        owner="me",
        session_id=None,
        scope=GrantScope(tool="shell", programs=("ls",)),
        created_at=datetime(2026, 1, 5, tzinfo=UTC),
    )
    book = Book(granted=[grant])

    assert await through(book) == "ran"
    [(_, decision)] = book.noted
    assert (decision.by, decision.grant) == (DecidedBy.GRANT, "g1")


FETCH = ToolCallPart("web_fetch", {"url": "https://a.example/x?q=1"}, tool_call_id="c2")
WEB = tool("web_fetch", powers=[Power.SEND], foreign=True)


async def test_after_foreign_words_an_address_that_was_named_may_be_followed():
    book = Book(sources=["https://a.example"], seen=["https://a.example/x?q=1"])

    assert await through(book, PolicyRules(), call=FETCH, definition=WEB) == "ran"


async def test_after_foreign_words_one_letter_more_is_a_question_without_a_lasting_answer():
    book = Book(sources=["https://a.example"], seen=["https://a.example/x?q="])

    with pytest.raises(ApprovalRequired):
        await through(book, PolicyRules(), call=FETCH, definition=WEB)
    [(_, question)] = book.asked
    assert "web_fetch can send data out" in question
    assert "https://a.example" in question
    assert book.offers == [None]


async def test_the_gate_knows_whose_words_come_back():
    gate = Gate(PolicyRules(network=True), Book(), Occasion())
    for definition in (WEB, tool("shell", powers=[Power.EXECUTE]), tool("look")):
        gate.meet(definition)
    look = ToolCallPart("look", {}, tool_call_id="c3")
    for call in (FETCH, CALL, look):
        await gate.judge(call)

    assert gate.source("c2") == ("web:https://a.example/x?q=1", True)
    # Its network may have brought anything, and the model chooses what it prints.
    assert gate.source("c1") == ("tool:shell", False)
    assert gate.source("c3") is None
    assert gate.source("unknown") is None


async def test_a_tool_that_says_nothing_of_itself_can_do_everything():
    gate = Gate(PolicyRules(), Book(sources=["a page"]), Occasion())
    call = ToolCallPart("mystery", {}, tool_call_id="c4")

    assert isinstance(await gate.judge(call), Ask)
    assert gate.source("c4") == ("tool:mystery", False)


async def test_what_the_client_runs_at_home_is_not_ours_to_judge():
    book = Book(sources=["https://evil.example"])
    gate = Gate(PolicyRules(allow=[], require_approval=["shell"]), book, Occasion(), {"shell"})
    assert await gate.judge(CALL) == Allow("the client runs it")

    async def run():
        return "handed over"

    assert await gate.call(CALL, run) == "handed over"
    assert (book.asked, book.denied, book.noted) == ([], [], [])


PROPOSES = effect(Effect.IDEMPOTENT, powers={Power.EXTEND, Power.EXECUTE})
PROPOSAL = ToolCallPart("generate_tool", {"name": "double"}, tool_call_id="c1")
GRANTED = Grant(
    id=GrantId("g1"),
    owner="me",
    session_id=SessionId("s"),
    scope=GrantScope(tool="generate_tool"),
    created_at=datetime(2026, 1, 5, tzinfo=UTC),
)


async def consenting(book, *, attended=True, rules=None):
    """A gate that has let a proposing call through, and is asked for consent while it runs."""
    gate = Gate(rules or PolicyRules(), book, Occasion(attended=attended))
    gate.meet(ToolDefinition(name="generate_tool", metadata=PROPOSES))
    await gate.judge(PROPOSAL)
    return await gate.consent("c1", "May double be used?")


async def test_a_running_call_that_needs_consent_asks_and_ends_the_work():
    book = Book()
    with pytest.raises(ApprovalRequired):
        await consenting(book)
    assert book.asked == [("c1", "May double be used?")]
    assert book.offers == [GrantScope(tool="generate_tool")]


async def test_when_it_runs_again_after_a_yes_it_has_its_consent():
    book = Book(answer=ApprovalState.ALLOWED)
    assert await consenting(book)
    assert book.asked == []


async def test_a_grant_for_the_session_is_consent():
    book = Book(granted=[GRANTED])
    assert await consenting(book)
    assert book.noted[0][1].by is DecidedBy.GRANT


async def test_a_rule_that_allows_the_tool_is_consent():
    rules = PolicyRules(custom=[PolicyRule(decision=Ruling.ALLOW, tool="generate_tool")])
    assert await consenting(Book(), rules=rules)


async def test_where_nobody_is_there_is_no_consent_and_no_question():
    book = Book()
    assert not await consenting(book, attended=False)
    assert book.asked == []


async def test_where_questions_wait_for_somebody_this_one_does_too():
    with pytest.raises(ApprovalRequired):
        await consenting(Book(), attended=False, rules=PolicyRules(unattended=Ruling.ASK))
