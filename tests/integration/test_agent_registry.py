"""Agents as a program uses them, in the words of the documents."""

from dataclasses import dataclass

import pytest

from long_running_agents import Agent, AgentRegistry, StructuredMemoryStore
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.testing import ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio


@dataclass
class HumanMessage:
    """What programs of the field hand over."""

    content: str


def search_agent():
    return Agent(
        name="SearchAgent",
        description="Handles search queries",
        system_prompt="You are a search assistant...",
        input_schema={"type": "object", "properties": {"query": {"type": "string"}}},
        output_schema={"type": "object", "properties": {"hits": {"type": "array"}}},
        config_data={"capabilities": ["search", "filter"]},
        max_chain_depth=3,
    )


async def test_the_documented_calls_run_as_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_HOME", str(tmp_path))
    session = StructuredMemoryStore(model=ScriptedModel([say('{"hits": []}')] * 3))
    await session.init_db()
    try:
        # Initialize registry
        registry = AgentRegistry(session)

        # Register agent
        agent = registry.register_agent(search_agent())

        # Process messages with automatic routing
        response = await registry.process(
            messages=[HumanMessage(content="Search queries: handle this search")],
            conversation_id="123",
        )
        assert response.conversation_id == "123"
        assert response.agent == "SearchAgent@1"

        # Direct agent usage
        agent = registry.get_agent("SearchAgent")
        result = await agent.process_message("Search for...")
        assert (str(result), result.output) == ('{"hits": []}', {"hits": []})
    finally:
        await session.close()


async def test_all_of_the_configuration_is_kept(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        registry = AgentRegistry(app)
        await registry.register_agent(
            Agent(
                name="Tuned",
                config_data={
                    "type": "agent",
                    "capabilities": ["search"],
                    "chain_strategy": "sequential",
                    "temperature": 0.7,
                    "top_p": 1.0,
                    "presence_penalty": 0.0,
                    "frequency_penalty": 0.0,
                },
            )
        )
        spec = await app.agents.get("Tuned")
        assert spec.stage == "published"
        assert (spec.sampling.temperature, spec.sampling.top_p) == (0.7, 1.0)
        assert spec.capabilities == ("search",)
        assert spec.extra == {"chain_strategy": "sequential"}


async def test_wrong_definitions_inputs_and_names_say_what_is_wrong(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        registry = AgentRegistry(app)
        with pytest.raises(UsageError, match="An agent has no 'colour'"):
            registry.register_agent(Agent(name="Odd", config_data={"colour": "red"}))
        with pytest.raises(UsageError, match="not accepted"):
            registry.register_agent(Agent(name="two words"))
        with pytest.raises(UsageError, match="finite"):
            registry.register_agent(Agent(name="Odd", config_data={"budget": {"seconds": "nan"}}))
        agent = registry.register_agent(search_agent())
        with pytest.raises(UsageError, match="does not fit its schema"):
            await agent.process_message({"query": 3})
        with pytest.raises(NotFound):
            await registry.get_agent("Nobody").process_message("Hello?")
