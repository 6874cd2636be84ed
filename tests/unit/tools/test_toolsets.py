"""The built-in tools, called by a scripted model on a real database."""

import json

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart
from tests.unit.store.house import NOON, SESSION, add_session, add_turn, end_turn, house, later

from long_running_agents.domain.tool import Effect
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import events, tasks
from long_running_agents.testing import FrozenClock, ScriptedModel, ToolCall, calls, say
from long_running_agents.tools.catalog import built_in, families
from long_running_agents.tools.deps import TurnDeps, effect_of

pytestmark = pytest.mark.anyio


class Desk:
    """A turn at whose desk tools are called."""

    def __init__(self, database, turn):
        self.database = database
        self.rung = []
        self.deps = TurnDeps(
            turn=turn, clock=FrozenClock(NOON), database=database, announce=self.rung.extend
        )
        self._count = 0
        self._tools = built_in()

    async def call(self, tool, call_id=None, **args):
        self._count += 1
        asked = ToolCall(tool, args, call_id or f"c{self._count}")
        model = ScriptedModel([calls(asked), say("done")])
        agent = Agent(model, toolsets=[self._tools], deps_type=TurnDeps)
        result = await agent.run("go", deps=self.deps)
        [part] = [
            part
            for message in result.all_messages()
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        return part.content


@pytest.fixture
async def desk(tmp_path):
    async with house(tmp_path / "home") as database:
        turn = await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        yield Desk(database, turn)


async def test_a_task_is_made_changed_and_looked_at(desk):
    made = await desk.call("create_task", title="Move", description="All of it.")
    part = await desk.call("create_task", title="Pack", parent_id=made["id"])
    await desk.call("update_task_status", task_id=part["id"], status="Done", result="Packed.")

    assert made == {
        "id": 1, "title": "Move", "description": "All of it.", "status": "pending",
        "parent_id": None, "result": "",
    }  # fmt: skip
    looked = await desk.call("get_task_state", task_id=2)
    assert (looked["status"], looked["result"], looked["parent_id"]) == ("completed", "Packed.", 1)
    assert [task["id"] for task in await desk.call("list_tasks")] == [1, 2]
    assert [task["id"] for task in await desk.call("list_tasks", status="todo")] == [1]


async def test_the_same_call_repeated_after_a_crash_makes_one_task(desk):
    first = await desk.call("create_task", call_id="same", title="Move")
    again = await desk.call("create_task", call_id="same", title="Move")

    assert first == again
    assert len(await desk.database.read(lambda tx: tasks.of_session(tx, SESSION))) == 1


async def test_changes_are_stored_then_rung(desk):
    await desk.call("create_task", title="Move")
    await desk.call("update_task_status", task_id=1, status="in progress")
    await desk.call("list_tasks")

    assert [event.event.summary for event in desk.rung] == [
        "0 of 1 tasks completed",
        "0 of 1 tasks completed, 1 in progress",
    ]
    assert await desk.database.read(lambda tx: events.after(tx, SESSION, 0)) == desk.rung


@pytest.mark.parametrize(
    ("tool", "args", "error", "words"),
    [
        ("create_task", {"title": "x", "parent_id": 9}, NotFound, "No task #9"),
        ("update_task_status", {"task_id": 9, "status": "done"}, NotFound, "No task #9"),
        ("update_task_status", {"task_id": 9, "status": "??"}, UsageError, "use one of pending"),
        ("get_task_state", {"task_id": 9}, NotFound, "No task #9"),
        ("list_tasks", {"status": "??"}, UsageError, "use one of pending"),
    ],
)
async def test_a_mistake_is_explained_and_changes_nothing(desk, tool, args, error, words):
    with pytest.raises(error, match=words):
        await desk.call(tool, **args)

    assert await desk.database.read(lambda tx: tasks.of_session(tx, SESSION)) == []
    assert desk.rung == []


async def test_recent_turns_come_oldest_first_from_this_session_or_all(desk):
    def work(tx):
        end_turn(tx, "t1", answer="hi " + "x" * 5000)
        add_turn(tx, "u1", add_session(tx, "other").id, prompt="elsewhere", at=later(1))
        end_turn(tx, "u1")
        return add_turn(tx, "t2", at=later(2))

    turn = await desk.database.write(work)
    desk = Desk(desk.database, turn)

    [mine] = await desk.call("get_recent_conversations")
    both = await desk.call("get_recent_conversations", all_sessions=True)

    assert (mine["session"], mine["user"], len(mine["agent"])) == ("s", "hello", 2000)
    assert [item["user"] for item in both] == ["hello", "elsewhere"]
    assert len(await desk.call("get_recent_conversations", all_sessions=True, limit=1)) == 1
    json.dumps(both, default=str)


@pytest.mark.parametrize(("limit", "words"), [(0, "greater than"), (51, "less than")])
async def test_a_limit_out_of_range_is_explained_to_the_model(desk, limit, words):
    assert words in str(await desk.call("get_recent_conversations", limit=limit))


async def test_every_built_in_tool_declares_its_effect(desk):
    model = ScriptedModel([say("done")])
    agent = Agent(model, toolsets=[built_in()], deps_type=TurnDeps)
    await agent.run("go", deps=desk.deps)

    declared = {
        name: effect_of(tool.tool_def)
        for toolset in families(network=False)
        for name, tool in toolset.tools.items()
    }
    # Those of jobs are offered where somebody speaks of them.
    assert set(declared) - {"list_jobs", "propose_job"} == set(model.tools_offered[0])
    assert {name for name, kind in declared.items() if kind is Effect.ONCE} == {
        "edit_file", "write_file", "shell", "execute_code", "pyexe",
    }  # fmt: skip
    assert {name for name, kind in declared.items() if kind is Effect.READ} == {
        "get_recent_conversations", "list_tasks", "get_task_state", "read_result", "search_tools",
        "search_memory", "memory_search", "list_files", "list_directory", "read_file",
        "search_files", "search_session", "data_view", "web_fetch", "fetch", "web_fetch_js",
        "web_fetch_stealth", "web_search", "list_jobs",
    }  # fmt: skip
