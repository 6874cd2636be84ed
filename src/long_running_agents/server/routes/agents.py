"""Agents over HTTP: save, publish, retire, teach, route, count, import and export; A2A cards."""

from http import HTTPStatus
from typing import Annotated, Any, cast

from fastapi import Path, Query, Request
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from long_running_agents import __version__
from long_running_agents.api import AgentApi
from long_running_agents.domain.agent import AgentSpec, AgentStage, AgentStats
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.routing import Routing
from long_running_agents.errors import NotFound
from long_running_agents.server.auth import Approving, Chatting, Reading
from long_running_agents.server.http import PLAIN, Routes, route
from long_running_agents.server.routes.skills import Values, VersionNumber
from long_running_agents.server.wire import LONGEST, WireRequest, WireResponse, derived, example

_LONGEST_FILE = 1 << 20
_VERSIONS = 10**9
AgentName = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(@\d{1,9})?$",
        description="The agent, as in coder, or coder@2 where a version is shown.",
        examples=["coder"],
    ),
]
_OneVersion = Annotated[
    int | None,
    Query(ge=1, le=_VERSIONS, description="The one in use unless given, or the newest."),
]
_Words = Annotated[str, Field(min_length=1, max_length=100, pattern=PLAIN)]


class AgentResponse(derived(AgentSpec)):
    """One version of an agent, which never changes."""

    digest: str
    """Names its content: the same content has the same."""


class AgentList(WireResponse):
    """Of each agent the version in use, or else the newest, by name."""

    agents: list[AgentResponse]


class AgentVersions(WireResponse):
    """All versions of an agent, the newest first."""

    versions: list[AgentResponse]


class RoutingResponse(derived(Routing)):
    """Which agent a message is for, and why."""

    unsure: bool
    """Whether a person should be asked."""


class AgentStatsResponse(derived(AgentStats)):
    """How one version of an agent has done."""


class AgentStatsList(WireResponse):
    """How each version of an agent has done that did something, the newest first."""

    stats: list[AgentStatsResponse]


class AgentText(WireResponse):
    """An agent as a file."""

    text: str
    """Markdown with front matter."""


class NewAgent(WireRequest):
    """An agent to be stored as a draft."""

    model_config = example(
        '{"agent": {"name": "poet", "description": "Writes poems.",'
        ' "instructions": "You write short poems.", "examples": ["A poem about herons"]}}'
    )

    agent: Values
    """Its name, and what else is to be otherwise than usual: see docs/how-to/make-agents.md."""


class AgentVersion(WireRequest):
    """The version that is meant."""

    model_config = example('{"version": 2}')

    version: VersionNumber | None = Field(default=None, le=_VERSIONS)
    """The newest unless given."""


class AgentExample(WireRequest):
    """Something that was said and is for an agent."""

    model_config = example('{"text": "A poem about herons"}')

    text: Annotated[str, Field(min_length=1, max_length=2_000)]


class RouteRequest(WireRequest):
    """A message that is for one of the agents."""

    model_config = example('{"text": "Why does this test fail?", "needs": ["code"]}')

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    needs: Annotated[tuple[_Words, ...], Field(max_length=20)] = ()
    """Capabilities that the agent has to declare."""


class AgentFile(WireRequest):
    """A file that somebody has written about an agent."""

    model_config = example('{"text": "---\\\\nname: poet\\\\n---\\\\nYou write poems."}')

    text: Annotated[str, Field(min_length=1, max_length=_LONGEST_FILE)]
    file: Annotated[str, Field(min_length=1, max_length=300, pattern=PLAIN)] = "agent.md"
    """What it is called."""


class _CardPart(WireResponse):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)


class CardInterface(_CardPart):
    """Where an agent can be asked."""

    url: str
    protocol_binding: str = "OpenAI"
    protocol_version: str = "v1"
    tenant: str
    """The model to ask for there."""


class CardSkill(_CardPart):
    """What an agent can do."""

    id: str
    name: str
    description: str
    tags: list[str]
    examples: list[str]


class AgentCard(_CardPart):
    """An agent as other agents find it, in the form of A2A 1.0."""

    name: str
    description: str
    version: str
    supported_interfaces: list[CardInterface]
    capabilities: dict[str, bool] = Field(default={"streaming": True, "pushNotifications": False})
    skills: list[CardSkill]
    default_input_modes: list[str] = Field(default=["text/plain"])
    default_output_modes: list[str] = Field(default=["text/plain"])
    security_schemes: dict[str, Any] = Field(
        default={"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    )


def _skill(spec: AgentSpec) -> CardSkill:
    """What is told of an agent: never its instructions."""
    return CardSkill(
        id=spec.name,
        name=spec.name,
        description=spec.description or spec.name,
        tags=list(spec.capabilities),
        examples=list(spec.examples),
    )


def _interface(request: Request, model: str) -> CardInterface:
    return CardInterface(url=f"{request.base_url}v1", tenant=model)


class AgentRoutes(Routes, tag="agents"):
    """Agents; what puts one to use or takes it out takes the right to approve."""

    @route("GET /api/agents")
    async def list_all(self, caller: Reading) -> AgentList:
        """List agents: of each the version in use, or else the newest."""
        return AgentList.of({"agents": await self._of(caller).every()})

    @route("POST /api/agents", status_code=HTTPStatus.CREATED)
    async def save(self, caller: Chatting, new: NewAgent) -> AgentResponse:
        """Store a draft as the next version; it is used when a person publishes it."""
        return AgentResponse.of(await self._of(caller).save(new.agent))

    @route("POST /api/agents/route")
    async def choose(self, caller: Chatting, asked: RouteRequest) -> RoutingResponse:
        """Tell which agent a message is for, and why; a model is asked if words do not decide."""
        return RoutingResponse.of(await self._of(caller).route(asked.text, needs=asked.needs))

    @route("POST /api/agents/import", status_code=HTTPStatus.CREATED)
    async def bring_in(self, caller: Chatting, given: AgentFile) -> AgentList:
        """Take agents in from a file, as drafts: its words are somebody else's."""
        found = await self._of(caller).bring_in(given.text, file=given.file)
        return AgentList.of({"agents": found})

    @route("GET /api/agents/{name}")
    async def show(
        self, caller: Reading, name: AgentName, version: _OneVersion = None
    ) -> AgentResponse:
        """Show one version of an agent."""
        return AgentResponse.of(await self._of(caller).get(name, version))

    @route("GET /api/agents/{name}/versions")
    async def versions(self, caller: Reading, name: AgentName) -> AgentVersions:
        """List all versions of an agent, the newest first."""
        return AgentVersions.of({"versions": await self._of(caller).history(name)})

    @route("POST /api/agents/{name}/publish")
    async def publish(
        self, caller: Approving, name: AgentName, meant: AgentVersion | None = None
    ) -> AgentResponse:
        """Use a version, the newest unless one is given; the one before is retired."""
        version = None if meant is None else meant.version
        return AgentResponse.of(await self._of(caller).publish(name, version))

    @route("POST /api/agents/{name}/retire")
    async def retire(self, caller: Approving, name: AgentName) -> AgentResponse:
        """Use an agent no more; turns that run keep their version."""
        return AgentResponse.of(await self._of(caller).retire(name))

    @route("POST /api/agents/{name}/examples")
    async def learn(self, caller: Chatting, name: AgentName, said: AgentExample) -> AgentResponse:
        """Note that what somebody said is for this agent."""
        return AgentResponse.of(await self._of(caller).learn(name, said.text))

    @route("GET /api/agents/{name}/stats")
    async def stats(self, caller: Reading, name: AgentName) -> AgentStatsList:
        """Tell how each version of an agent has done."""
        return AgentStatsList.of({"stats": await self._of(caller).stats(name)})

    @route("GET /api/agents/{name}/export")
    async def export(
        self, caller: Reading, name: AgentName, version: _OneVersion = None
    ) -> AgentText:
        """Write an agent out as a file that others can read."""
        return AgentText(text=await self._of(caller).export(name, version))

    @route("GET /agents/{name}/agent-card.json")
    async def card(self, caller: Reading, name: AgentName, request: Request) -> AgentCard:
        """Show a published agent's A2A card."""
        spec = await self._of(caller).get(name)
        if spec.stage is not AgentStage.PUBLISHED:
            raise NotFound(f"No published agent {name!r}.", hint="/api/agents lists the agents.")
        return AgentCard(
            name=spec.name,
            description=spec.description or spec.name,
            version=str(spec.version),
            supported_interfaces=[_interface(request, f"agent:{spec.name}")],
            skills=[_skill(spec)],
        )

    @route("GET /.well-known/agent-card.json")
    async def own_card(self, caller: Reading, request: Request) -> AgentCard:
        """Show the A2A card of the home's own agent; its skills are the published agents."""
        own = self._app.settings.agent.name
        every = await self._of(caller).every()
        return AgentCard(
            name=own,
            description="An agent that remembers, works for days and hands work on to others.",
            version=__version__,
            supported_interfaces=[_interface(request, own)],
            skills=[_skill(each) for each in every if each.stage is AgentStage.PUBLISHED],
        )

    def _of(self, caller: Caller) -> AgentApi:
        return cast("AgentApi", self._app.registry.of(caller.owner))
