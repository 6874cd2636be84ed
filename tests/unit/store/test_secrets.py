import json

import pytest
from tests.unit.store.house import (
    NOON,
    SESSION,
    a_call,
    a_question,
    add_session,
    add_turn,
    house,
    move_turn,
)

from long_running_agents.domain.approval import ApprovalState, Grant, GrantScope
from long_running_agents.domain.events import TextWritten, ToolCalled
from long_running_agents.domain.ids import GrantId, TurnId
from long_running_agents.domain.policy import Allow, Judgement, ruling
from long_running_agents.domain.redaction import MARK
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.home import Home
from long_running_agents.store import (
    approvals,
    decisions,
    events,
    ledger,
    messages,
    sessions,
    taints,
    tasks,
    turns,
)
from long_running_agents.store.job_tables import SCHEMA
from long_running_agents.store.messages import StoredMessage

pytestmark = pytest.mark.anyio

LOOKS_LIKE_A_KEY = "sk-ant-api03-abcdefghijklmnop1234"
QUOTED = 'p"a\\ss wörd'
NUMBER = "1234567"
ENVIRON = {"DB_PASSWORD": QUOTED, "PIN_TOKEN": NUMBER}
SECRETS = (LOOKS_LIKE_A_KEY, QUOTED, NUMBER)


def tell_everyone(tx, secret):
    """Put a secret wherever text can go."""
    said = f"look:\n{secret}"
    as_json = json.dumps({"said": said, "nested": json.dumps({"said": said})})
    add_session(tx, title=said)
    sessions.rename(tx, SESSION, said)
    add_turn(tx, "t1", prompt=said)
    turns.claim(tx, "t1")
    message = StoredMessage(step=1, kind="request", body=as_json)
    messages.append(tx, SESSION, "t1", [message], NOON)
    ledger.request(tx, [a_call("t1", "c1", args=as_json)])
    ledger.resolve(tx, "t1", "c1", CallState.DONE, as_json, NOON)
    offered = GrantScope(tool="shell", programs=(said,))
    asked = a_question("a1", "t1", "c1", args=as_json, question=said, offer=offered)
    approvals.ask(tx, asked)
    approvals.answer(tx, "a1", ApprovalState.DENIED, said, NOON)
    tasks.create(tx, SESSION, said, description=said, parent=None, made_by="c", now=NOON)
    tasks.change(tx, SESSION, 1, TaskStatus.FAILED, result=said, now=NOON)
    allowed = Allow(said, grant=GrantId("g1"))
    what, why, who = ruling(allowed)
    decisions.note(
        tx,
        [
            Judgement(
                at=NOON,
                owner="me",
                session_id=SESSION,
                turn_id=TurnId("t1"),
                call_id="c1",
                tool="shell",
                args=as_json,
                decision=what,
                why=why,
                who=who,
            )
        ],
    )
    scope = GrantScope(
        tool="shell", programs=(said,), folders=(said,), risks=(said,), hosts=(said,)
    )
    approvals.add(
        tx,
        Grant(id=GrantId("g1"), owner="me", session_id=SESSION, scope=scope, created_at=NOON),
    )
    taints.add(tx, SESSION, TurnId("t1"), said, NOON, call_id="c1")
    decisions.note_admin(
        tx, decisions.AuditEntry(at=NOON, actor="user", action="x", subject=said, detail=said)
    )
    move_turn(tx, "t1", TurnStatus.FAILED, answer=said, error=said)
    called = ToolCalled(tool="shell", input={"x": said}, tool_call_id="c1", effect="once")
    return events.append(tx, SESSION, "t1", [TextWritten(text=said), called], NOON)


def everything(tx):
    return {
        f"{table.name}.{column.name}": [
            row[0] for row in tx.execute(table.select().with_only_columns(column))
        ]
        for table in SCHEMA.sorted_tables
        for column in table.columns
    }


@pytest.mark.parametrize("secret", SECRETS)
async def test_a_secret_reaches_no_column_of_any_table_and_no_byte_of_the_file(tmp_path, secret):
    async with house(tmp_path, environ=ENVIRON) as database:
        rung = await database.write(lambda tx: tell_everyone(tx, secret))
        stored = await database.read(everything)

        assert [
            name for name, values in stored.items() if secret in "\n".join(map(str, values))
        ] == []
        texts = "\n".join(str(value) for values in stored.values() for value in values)
        assert json.dumps(secret)[1:-1] not in texts
        assert texts.count(MARK) >= 15
        assert secret not in str([event.wire() for event in rung])
        for name in ("messages.body", "tool_calls.args", "tool_calls.result", "approvals.args"):
            [body] = stored[name]
            assert json.loads(body)["said"] == f"look:\n{MARK}"
            assert json.loads(json.loads(body)["nested"])["said"] == f"look:\n{MARK}"
    for path in Home(tmp_path).path.iterdir():
        assert secret.encode() not in path.read_bytes()


async def test_what_listeners_hear_is_what_was_stored(tmp_path):
    async with house(tmp_path, environ=ENVIRON) as database:
        rung = await database.write(lambda tx: tell_everyone(tx, QUOTED))

        assert await database.read(lambda tx: events.after(tx, SESSION, 0)) == rung


async def test_a_number_that_is_someones_secret_does_not_break_what_is_stored(tmp_path):
    async with house(tmp_path, environ=ENVIRON) as database:
        await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        called = ToolCalled(tool="x", input={"chat": 1234567}, tool_call_id="c", effect="once")
        await database.write(lambda tx: events.append(tx, SESSION, "t1", [called], NOON))

        [told] = await database.read(lambda tx: events.after(tx, SESSION, 0))
        assert told.event == called
