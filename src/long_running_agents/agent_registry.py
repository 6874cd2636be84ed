"""Agents as a program uses them: defined as data, registered, routed to, and spoken to.

::

    registry = AgentRegistry(session)
    agent = registry.register_agent(Agent(name="SearchAgent", system_prompt="You search."))
    response = await registry.process(messages=["Search for herons"], conversation_id="123")
    result = await agent.process_message("Search for herons")

The session is an open home: a `StructuredMemoryStore` after `init_db`, or what `open_app` gives.
An agent that a program registers is published at once: the program is its author.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from long_running_agents.app import App
from long_running_agents.domain.agent import DEEPEST, AgentSpec, as_draft
from long_running_agents.domain.ids import SessionId, new_id, session_id
from long_running_agents.domain.routing import AUTO
from long_running_agents.domain.turn import Terms, Turn
from long_running_agents.errors import Busy, UsageError
from long_running_agents.library import StructuredMemoryStore, raise_unless_done
from long_running_agents.skills.trial import complaints

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens")
_CHAINED = ("chain_strategy", "links")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """What an agent answered."""

    content: str
    output: Any = None
    """The answer as data, where the agent has an output schema."""
    agent: str
    """name@version; empty for the home's own."""
    conversation_id: str
    turn: Turn

    def __str__(self) -> str:
        """The answer."""
        return self.content


@dataclass(kw_only=True)
class Agent:
    """A definition; once it is registered, something to speak to."""

    name: str
    description: str = ""
    system_prompt: str = ""
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    config_data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """capabilities, temperature, top_p, penalties, chain_strategy with links, other fields."""
    max_chain_depth: int = DEEPEST
    registry: "AgentRegistry | None" = field(default=None, repr=False, compare=False)
    """Where it is registered."""

    def draft(self) -> dict[str, Any]:
        """The definition in the fields of a spec.

        Raises:
            UsageError: `config_data` says something that no agent has.
        """
        config = {key: value for key, value in self.config_data.items() if key != "type"}
        sampling = {key: config.pop(key) for key in _SAMPLING if key in config}
        strategy, links = (config.pop(key, None) for key in _CHAINED)
        said: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "instructions": self.system_prompt,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "max_chain_depth": self.max_chain_depth,
            "sampling": sampling,
            **config,
        }
        if links is not None:
            said["chain"] = {"strategy": strategy or "sequential", "links": links}
        elif strategy is not None:
            said["extra"] = {"chain_strategy": strategy}
        return said

    async def process_message(
        self, message: str | Mapping[str, Any], conversation_id: str | None = None
    ) -> AgentAnswer:
        """Say something to this agent; data is checked against its input schema.

        Raises:
            UsageError: The input does not fit.
            LraError: The turn did not come to an answer.
        """
        if self.registry is None:
            raise Busy(f"{self.name} is not registered.", hint="Call registry.register_agent.")
        return await self.registry.ask(self.name, message, conversation_id)

    def __await__(self) -> Generator[Any, None, "Agent"]:
        """Wait until it is stored."""
        return self._stored().__await__()

    async def _stored(self) -> "Agent":
        if self.registry is not None:
            await self.registry.store()
        return self


class AgentRegistry:
    """Registers agents, routes messages to them, and keeps what they answered in sessions."""

    def __init__(self, session: StructuredMemoryStore | App) -> None:
        self._session = session
        self._waiting: list[Agent] = []

    @property
    def _app(self) -> App:
        return self._session if isinstance(self._session, App) else self._session.app

    def register_agent(self, agent: Agent) -> Agent:
        """Register an agent, or its next version; it is stored before anything is asked of it.

        Raises:
            UsageError: The definition makes no sense.
        """
        as_draft(agent.draft())
        agent.registry = self
        self._waiting.append(agent)
        return agent

    def get_agent(self, name: str) -> Agent:
        """An agent by its name; whether there is one shows when it is spoken to."""
        return Agent(name=name, registry=self)

    async def store(self) -> None:
        """Store and publish what was registered."""
        waiting, self._waiting = self._waiting, []
        for agent in waiting:
            saved = await self._app.agents.save(agent.draft(), origin="program")
            await self._app.agents.publish(saved.name, saved.version)

    async def process(
        self, messages: Sequence[Any], conversation_id: str | None = None
    ) -> AgentAnswer:
        """Give the last message to the agent that it is for.

        Args:
            messages: Texts, or what has a `content`; the conversation itself is kept here.
            conversation_id: The session; a new one unless given.
        """
        if not messages:
            raise UsageError("There is no message.", hint="Give at least one.")
        last = messages[-1]
        said: object = getattr(last, "content", last)
        if isinstance(last, dict):
            said = cast("dict[str, object]", last)["content"]
        return await self.ask(AUTO, str(said), conversation_id)

    async def ask(
        self, name: str, message: str | Mapping[str, Any], conversation_id: str | None
    ) -> AgentAnswer:
        """One turn with an agent, or with the one that the router finds."""
        await self.store()
        app = self._app
        spec = None if name == AUTO else await app.agents.get(name)
        key = session_id(conversation_id or new_id("session", app.turns.clock.now()))
        text = message if isinstance(message, str) else _checked(message, spec)
        begun = await app.turns.start(key, text, attended=False, terms=Terms(agent=name))
        turn = await app.turns.settled(begun.id)
        raise_unless_done(turn)
        return await self._response(app, turn, key)

    async def _response(self, app: App, turn: Turn, key: SessionId) -> AgentAnswer:
        name, _, version = turn.agent.partition("@")
        spec = await app.agents.get(name, int(version)) if name else None
        shaped = spec is not None and spec.output_schema is not None
        return AgentAnswer(
            content=turn.answer,
            output=json.loads(turn.answer) if shaped else None,
            agent=turn.agent,
            conversation_id=key,
            turn=turn,
        )


def _checked(message: Mapping[str, Any], spec: AgentSpec | None) -> str:
    schema = None if spec is None or spec.input_schema is None else dict(spec.input_schema)
    if wrong := complaints(schema, message):
        raise UsageError(f"The input does not fit its schema: {wrong}.")
    return json.dumps(message, ensure_ascii=False)
