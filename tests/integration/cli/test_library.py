"""The library as the documents use it."""

import subprocess
import sys

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse

import long_running_agents
from long_running_agents import AgentDeps, StructuredMemoryStore, VectorMemoryStore, run_agent
from long_running_agents.errors import (
    Busy,
    Denied,
    HomeBusy,
    LimitReached,
    ModelUnavailable,
    UsageError,
)
from long_running_agents.testing import ScriptedModel, call, fail, say

DOCUMENTED = """
import asyncio
from long_running_agents import run_agent, AgentDeps, StructuredMemoryStore, VectorMemoryStore
from long_running_agents.config import SANDBOX_URL

async def main():
    structured = StructuredMemoryStore()
    vector = VectorMemoryStore()
    await structured.init_db()

    deps = AgentDeps(
        session_id="my-session",
        structured_store=structured,
        vector_store=vector,
        sandbox_base_url=SANDBOX_URL,
    )

    output, messages = await run_agent("What can you do?", deps)
    print(output)
    await structured.close()

asyncio.run(main())
"""


def python(environment, *arguments, stdin=""):
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
    )


def test_the_documented_example_runs_as_written(environment):
    assert python(environment, "-c", DOCUMENTED).stdout == "Hello there, friend.\n"


def test_the_examples_run(environment):
    name = "long_running_agents.examples."
    chat = python(environment, "-m", f"{name}01_basic_chat", stdin="hi\nfail\n\n")
    assert "Hello there, friend." in chat.stdout
    assert "error: No model answered" in chat.stdout
    single = python(environment, "-m", f"{name}02_single_turn", "hi")
    assert single.stdout == "Hello there, friend.\n"
    failed = python(environment, "-m", f"{name}02_single_turn", "fail")
    assert failed.returncode == 1
    assert "error: No model answered" in failed.stderr


def test_public_names_are_loaded_when_they_are_used():
    assert all(hasattr(long_running_agents, name) for name in long_running_agents.__all__)
    assert "open_app" in dir(long_running_agents)
    with pytest.raises(AttributeError):
        _ = long_running_agents.nothing


async def deps(*replies):
    store = StructuredMemoryStore(model=ScriptedModel(replies))
    await store.init_db()
    await store.init_db()
    return store, AgentDeps("s", store)


@pytest.mark.anyio
async def test_a_turn_gives_its_answer_and_the_sessions_messages():
    store, session = await deps(say("One."), say("Two."))
    await run_agent("first", session)
    output, messages = await run_agent("second", session)
    assert output == "Two."
    assert [type(each) for each in messages] == [ModelRequest, ModelResponse] * 2
    await store.close()


@pytest.mark.anyio
async def test_failures_are_raised(monkeypatch):
    monkeypatch.setenv("AGENT_MAX_STEPS", "1")
    store, session = await deps(fail(401, times=None))
    with pytest.raises(ModelUnavailable, match="401"):
        await run_agent("x", session)
    await store.close()
    store, session = await deps(call("list_tasks"))
    with pytest.raises(LimitReached, match="had to stop"):
        await run_agent("x", session)
    await store.close()


@pytest.mark.anyio
async def test_a_store_has_to_be_opened():
    with pytest.raises(Busy, match="init_db"):
        await run_agent("x", AgentDeps("s", StructuredMemoryStore()))


@pytest.mark.anyio
async def test_a_store_may_have_its_own_database(tmp_path):
    store = StructuredMemoryStore(f"sqlite+aiosqlite:///{tmp_path}/own.db", model="lmstudio:x")
    await store.init_db()
    assert (tmp_path / "own.db").exists()
    assert store.app.settings.agent.model.model_id == "lmstudio:x"
    await store.close()


def test_a_vector_store_names_its_folder(monkeypatch):
    assert VectorMemoryStore().path is None
    monkeypatch.setenv("VECTOR_STORE_PATH", "index")
    assert str(VectorMemoryStore().path) == "index"
    assert str(VectorMemoryStore("mine").path) == "mine"


@pytest.mark.anyio
async def test_a_vector_store_works_in_the_home_that_is_open():
    store, session = await deps(say("One."))
    vector = VectorMemoryStore()
    joined = AgentDeps("s", store, vector)
    number = await vector.add(
        "The user's dog is called Rex", {"kind": "note", "source": "web:dogs.example"}
    )
    again = {"kind": "note", "source": "web:cats.example"}
    assert await vector.add("The user's dog is called Rex", again) == number
    assert await vector.add("The user's dog is called Max") != number
    [found] = await vector.search("Rex", k=1)
    assert (found["id"], found["text"]) == (number, "The user's dog is called Rex")
    assert found["metadata"]["source"] == "web:dogs.example"
    assert found["metadata"]["trust"] == "web"
    with pytest.raises(Denied, match="secret"):
        await vector.add("my password is hunter22")
    with pytest.raises(UsageError, match="colour"):
        await vector.add("The sky is blue", {"colour": "blue"})
    assert joined.vector_store is vector
    assert session.vector_store is None
    await store.close()
    with pytest.raises(Busy, match="init_db"):
        await vector.search("Rex")


@pytest.mark.anyio
async def test_a_vector_store_alone_opens_the_home_itself():
    vector = VectorMemoryStore()
    number = await vector.add("I live in Lisbon")
    with pytest.raises(HomeBusy):
        await StructuredMemoryStore(model=ScriptedModel([])).init_db()
    await vector.close()
    store = StructuredMemoryStore(model=ScriptedModel([]))
    await store.init_db()
    [found] = await store.search_memory("Where do I live?", limit=1)
    assert found["id"] == number
    assert await store.add_memory("i live in lisbon") == number
    await store.close()


@pytest.mark.anyio
async def test_recent_conversations_are_told_oldest_first():
    store, session = await deps(say("One."), say("Two."), say("Three."))
    await run_agent("first", session)
    await run_agent("second", session)
    await run_agent("third", AgentDeps("other", store))
    mine = await store.get_recent_conversations("s")
    assert [(turn["user"], turn["agent"]) for turn in mine] == [
        ("first", "One."),
        ("second", "Two."),
    ]
    every = await store.get_recent_conversations(limit=2)
    assert [turn["session_id"] for turn in every] == ["s", "other"]
    assert await store.get_recent_conversations("new") == []
    await store.close()


@pytest.mark.anyio
async def test_a_home_that_remembers_nothing_says_so(monkeypatch):
    monkeypatch.setenv("LRA_MEMORY__ENABLED", "false")
    store, _ = await deps()
    with pytest.raises(UsageError, match="switched off"):
        await store.search_memory("x")
    await store.close()
