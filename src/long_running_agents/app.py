"""The composition root: opens the rooms, hands each what it needs, closes them in reverse."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import httpx2
import pydantic_ai
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.agent.contexts import ContextService
from long_running_agents.agent.driving import WORK, TurnDriver
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.onlookers import Onlookers
from long_running_agents.agent.recall import Recall
from long_running_agents.agent.remembering import Remembering
from long_running_agents.agent.run_settings import recall_of, run_settings, view_of
from long_running_agents.agent.runner import RunSettings, TurnRunner
from long_running_agents.agent.session_models import SessionModels
from long_running_agents.agent.sessions import SessionService
from long_running_agents.agent.tracing import Tracing
from long_running_agents.agent.turns import TurnService
from long_running_agents.clock import SystemClock
from long_running_agents.config import Loaded, Settings, load
from long_running_agents.domain.fitting import WindowOf
from long_running_agents.domain.lack import Lack
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.engine.local import LocalEngine
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.home import Home
from long_running_agents.logs import log_to
from long_running_agents.mcp.servers import Servers
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.opening import (
    memories_of,
    mirrors_of,
    open_memories,
)
from long_running_agents.models import looking, names
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.factory import ModelFactory, ModelSource, OneModel
from long_running_agents.models.findings import Findings
from long_running_agents.store import cards, events, lacks
from long_running_agents.store.database import Database
from long_running_agents.store.opening import open_database
from long_running_agents.tools.catalog import switched_on
from long_running_agents.tools.deps import Consent, MakeDeps, Tell, TurnDeps
from long_running_agents.tools.hands import AllHands
from long_running_agents.tools.mcp import foreign_servers, tools_of
from long_running_agents.tools.workshop import Workshop, workshop_of

__all__ = ["App", "open_app", "open_memories"]

_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An open home."""

    loaded: Loaded
    home: Home
    database: Database
    sessions: SessionService
    turns: TurnService
    contexts: ContextService
    """What models would be shown next."""
    driver: TurnDriver
    """Drives the turns of all owners."""
    hands: AllHands
    """What the agents of each owner work with."""
    onlookers: Onlookers
    """Whoever counts or traces what is done for all owners."""
    models: ModelSource
    memories: Memories | None
    """What is remembered; None when that is switched off."""
    remembered: Callable[[], Awaitable[None]]
    """Waits until every turn that came to rest is remembered."""
    servers: Servers
    """Foreign servers whose tools may be used."""
    workshop: Workshop | None
    """Where skills are made and kept; None when they are switched off."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings


@asynccontextmanager
async def open_app(
    loaded: Loaded | None = None,
    *,
    model: Model | None = None,
    toolsets: Sequence[AbstractToolset[TurnDeps]] = (),
    clock: Clock | None = None,
    windows: WindowOf | None = None,
) -> AsyncGenerator[App]:
    """Open a home: interrupted turns go on by themselves.

    Args:
        loaded: The settings; read from where they usually are unless given.
        model: A model to use instead of the configured ones.
        toolsets: Tools of your own, beside the built-in ones.
        clock: Another clock than the machine's.
        windows: Whoever knows the context windows of models that no setting gives.
    """
    loaded = loaded or load()
    clock = clock or SystemClock()
    servers = foreign_servers(loaded, clock, toolsets)
    loaded = servers.guarded(loaded)
    # Its first-run banner would land in the middle of a conversation.
    pydantic_ai.BANNER_ENABLED = False
    home = Home(loaded.home)
    async with (
        open_database(loaded, clock) as database,
        _client(loaded) as client,
        _watched(loaded, home) as tracing,
        AsyncExitStack() as closing,
    ):
        findings = await _findings(loaded, database, clock)
        closing.push_async_callback(findings.close)
        windows = windows or await _known_windows(loaded, model, client, findings)
        models = _models(loaded, model, client, findings)
        settings = run_settings(loaded, model, windows)
        settings = replace(settings, rules=servers.ruled(settings.rules))
        parts = _parts(loaded, database, client, clock, servers, toolsets, closing)
        tools = [switched_on(loaded.settings), *toolsets, *tools_of(servers, loaded)]
        if parts.workshop is not None:
            tools.append(parts.workshop.toolset)
        app = _assemble(loaded, parts, models, settings, tools)
        if tracing is not None:
            app.onlookers.attend(tracing)
        engine = LocalEngine({WORK: app.driver.run}, clock)
        closing.push_async_callback(engine.close)
        closing.callback(app.driver.close)
        if parts.remembering is None:
            await app.driver.open(engine)
        else:
            parts.remembering.open()
            await app.driver.open(engine, settled=parts.remembering.nudge)
        if parts.workshop is not None:
            parts.workshop.filing.nudge(loaded.settings.owner)
        yield app


def _parts(
    loaded: Loaded,
    database: Database,
    client: httpx2.AsyncClient,
    clock: Clock,
    servers: Servers,
    toolsets: Sequence[AbstractToolset[TurnDeps]],
    closing: AsyncExitStack,
) -> "_Parts":
    """Make what most rooms need, and have it closed in reverse."""
    memories = _memories(loaded, database, client, clock)
    if memories is not None:
        closing.push_async_callback(memories.close)
    remembering = _remembering(loaded, memories, clock)
    if remembering is not None:
        closing.push_async_callback(remembering.close)
    hands = AllHands(loaded, client, clock, servers)
    closing.push_async_callback(hands.close)
    hub = _hub(database)
    workshop = workshop_of(loaded, database, clock, hands, toolsets=toolsets, announce=hub.publish)
    if workshop is not None:
        closing.push_async_callback(workshop.close)
    return _Parts(database, clock, hub, hands, remembering, workshop)


@asynccontextmanager
async def _watched(loaded: Loaded, home: Home) -> AsyncGenerator[Tracing | None]:
    """Write the log, and make traces if somebody wants them."""
    settings = loaded.settings
    with log_to(home.logs, settings.log_level, loaded.redact, settings.log_format):
        if not settings.telemetry.otlp_endpoint:
            yield None
            return
        async with _traced(loaded) as tracing:
            yield tracing


@asynccontextmanager
async def _traced(loaded: Loaded) -> AsyncGenerator[Tracing]:
    try:
        # Only here: whoever sends nothing needs no library for it.
        from long_running_agents import telemetry  # noqa: PLC0415
    except ImportError as error:
        raise NotConfigured(
            "telemetry.otlp_endpoint is set, and nothing is installed that sends traces.",
            hint="pip install 'long-running-agents[otel]', or unset it.",
        ) from error
    async with telemetry.tracing(loaded) as tracing:
        yield tracing


def _memories(
    loaded: Loaded, database: Database, client: httpx2.AsyncClient, clock: Clock
) -> Memories | None:
    if not loaded.settings.memory.enabled:
        return None
    return memories_of(loaded, database, client, clock)


def _remembering(loaded: Loaded, memories: Memories | None, clock: Clock) -> Remembering | None:
    if memories is None:
        return None
    mirrors = mirrors_of(loaded, memories)
    return Remembering(memories, loaded.settings.agent.name, clock, mirrors)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What most rooms need something of."""

    database: Database
    clock: Clock
    hub: Hub
    hands: AllHands
    remembering: Remembering | None
    workshop: Workshop | None

    @property
    def memories(self) -> Memories | None:
        return None if self.remembering is None else self.remembering.memories


def _hub(database: Database) -> Hub:
    return Hub(
        lambda session, owner, seq, limit: database.read(
            lambda tx: events.after(tx, session, seq, owner=owner, limit=limit)
        )
    )


def _assemble(
    loaded: Loaded,
    parts: _Parts,
    models: ModelSource,
    settings: RunSettings,
    tools: Sequence[AbstractToolset[TurnDeps]],
) -> App:
    """Put the rooms together, each with what it needs."""
    database, clock, hub, remembering = parts.database, parts.clock, parts.hub, parts.remembering
    onlookers = Onlookers()
    hub.attend(onlookers.heard)
    chosen = SessionModels()
    runner = TurnRunner(
        database=database,
        hub=hub,
        clock=clock,
        toolsets=tools,
        settings=settings,
        deps=_deps(loaded.settings, parts),
        recall=_recall(loaded.settings, hub, remembering),
        onlookers=onlookers,
    )
    driver = TurnDriver(
        database=database,
        hub=hub,
        clock=clock,
        runner=runner,
        models=models,
        chosen=chosen,
        view=view_of(loaded.settings),
        onlookers=onlookers,
    )
    return App(
        loaded=loaded,
        home=Home(loaded.home),
        database=database,
        sessions=SessionService(
            database,
            clock,
            owner=loaded.settings.owner,
            announce=hub.publish,
            switched=chosen.switch,
        ),
        turns=TurnService(database, hub, clock, driver, loaded.settings.owner),
        contexts=ContextService(
            database, clock, runner, models, view_of(loaded.settings), loaded.settings.owner
        ),
        driver=driver,
        hands=parts.hands,
        onlookers=onlookers,
        models=models,
        memories=parts.memories,
        remembered=_at_once if remembering is None else remembering.ready,
        servers=parts.hands.servers,
        workshop=parts.workshop,
    )


def _deps(settings: Settings, parts: _Parts) -> MakeDeps:
    """What the tools of any turn can touch."""
    workshop = parts.workshop

    def make(turn: Turn, taint: Tell, consent: Consent) -> TurnDeps:
        own = parts.hands.of(turn.owner)
        return TurnDeps(
            turn=turn,
            clock=parts.clock,
            database=parts.database,
            announce=parts.hub.publish,
            owner=turn.owner,
            agent=settings.agent.name,
            memories=parts.memories,
            workspace=own.workspace,
            sandboxes=own.sandboxes,
            web=own.web,
            skills=None if workshop is None else workshop.library.of(turn.owner),
            taint=taint,
            consent=consent,
        )

    return make


async def _at_once() -> None:
    """There is nothing to wait for."""


def _recall(settings: Settings, hub: Hub, remembering: Remembering | None) -> Recall | None:
    if remembering is None or not settings.memory.recall:
        return None
    return Recall(
        remembering.memories,
        hub,
        recall_of(settings),
        agent=settings.agent.name,
        ready=remembering.ready,
    )


async def _findings(loaded: Loaded, database: Database, clock: Clock) -> Findings:
    """What is known of models from before."""
    known, taught = await database.read(lambda tx: (cards.every(tx), lacks.every(tx)))

    async def keep(lack: Lack) -> None:
        await database.write(lambda tx: lacks.put(tx, lack))

    return Findings(known, taught, keep=keep, clock=clock, redact=loaded.redact)


async def _known_windows(
    loaded: Loaded, model: Model | None, client: httpx2.AsyncClient, findings: Findings
) -> WindowOf:
    """The context windows that examinations have found or servers tell, by a model's full name."""
    settings = loaded.settings.agent.model
    own = names.configured_name(settings) if model is None else None
    told = (
        await looking.window(client, loaded, own) if own and not settings.context_window else None
    )

    def window(name: str) -> int | None:
        if name == own and told is not None:
            # As it is served now; a card may be older.
            return told
        try:
            parsed = names.parse(name, settings)
        except ConfigError:
            # A model that was handed over, which nobody had to name.
            return None
        return findings.window(names.endpoint_of(parsed, settings), parsed.model)

    return window


def _client(loaded: Loaded) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        timeout=loaded.settings.agent.model.timeout,
        limits=httpx2.Limits(max_connections=_CONNECTIONS),
    )


def _models(
    loaded: Loaded, model: Model | None, client: httpx2.AsyncClient, findings: Findings
) -> ModelSource:
    if model is not None:
        return OneModel(model)
    return ModelFactory(
        loaded.settings.agent.model,
        loaded.variables,
        client,
        Embedded(Home(loaded.home).models),
        known=findings,
    )
