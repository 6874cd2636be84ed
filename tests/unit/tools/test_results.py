import json

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart
from tests.unit.store.house import NOON, SESSION, add_session, add_turn, house, later

from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.errors import NotFound
from long_running_agents.store import ledger
from long_running_agents.testing import FrozenClock, ScriptedModel, call, say
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.sessions import results

pytestmark = pytest.mark.anyio


def add_result(tx, turn_id, call_id, result, at=NOON, session=SESSION):
    record = ToolCallRecord(
        turn_id=turn_id, session_id=session, call_id=call_id, step=1, position=0, tool="look",
        args="{}", effect=Effect.READ, state=CallState.STARTED, started_at=at,
    )  # fmt: skip
    ledger.request(tx, [record])
    if result is not None:
        ledger.resolve(tx, turn_id, call_id, CallState.DONE, json.dumps(result), at)


@pytest.fixture
async def read(tmp_path):
    async with house(tmp_path / "home") as database:

        def work(tx):
            turn = add_turn(tx, "t1", add_session(tx).id)
            add_result(tx, "t1", "long", "".join(map(str, range(1000))))
            add_result(tx, "t1", "table", {"rows": [1, 2]})
            add_result(tx, "t1", "open", None)
            add_turn(tx, "t2", at=later(1))
            add_result(tx, "t1", "twice", "old")
            add_result(tx, "t2", "twice", "new", at=later(1))
            add_turn(tx, "u1", add_session(tx, "other").id)
            add_result(tx, "u1", "elsewhere", "secret", session="other")
            return turn

        turn = await database.write(work)
        deps = TurnDeps(
            turn=turn, clock=FrozenClock(NOON), database=database, announce=lambda _: None
        )

        async def read_result(**args):
            model = ScriptedModel([call("read_result", **args), say("done")])
            result = await Agent(model, toolsets=[results()], deps_type=TurnDeps).run(
                "go", deps=deps
            )
            [part] = [
                part
                for message in result.all_messages()
                for part in message.parts
                if isinstance(part, ToolReturnPart)
            ]
            return part.content

        yield read_result


async def test_a_long_result_is_read_on_piece_by_piece(read):
    whole = "".join(map(str, range(1000)))
    piece = await read(call_id="long", offset=100, limit=50)
    assert piece == f"{whole[100:150]}\n[2740 characters not shown: {HANDLE}]"
    assert await read(call_id="long", offset=len(whole) - 5) == "98999"
    assert await read(call_id="long", offset=9000) == "[The result ends at 2890 characters.]"


HANDLE = "read_result(call_id='long', offset=150)"


async def test_a_result_that_is_no_text_is_read_as_json(read):
    assert await read(call_id="table") == '{"rows": [1, 2]}'


async def test_of_two_calls_with_one_id_the_newer_is_read(read):
    assert await read(call_id="twice") == "new"


@pytest.mark.parametrize("call_id", ["open", "no such call", "elsewhere"])
async def test_what_has_no_result_in_this_session_is_not_found(read, call_id):
    with pytest.raises(NotFound, match="No result of a call"):
        await read(call_id=call_id)
