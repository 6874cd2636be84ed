"""The composition root: opens the rooms, hands each what it needs, closes them in reverse."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import httpx2
import pydantic_ai
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.agent.budgets import BudgetBook, BudgetService
from long_running_agents.agent.compaction import Compactor
from long_running_agents.agent.context_view import ContextService
from long_running_agents.agent.delegation import Delegations
from long_running_agents.agent.driver import WORK, SessionModels, TurnDriver
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.memory import Memorizer, Recall
from long_running_agents.agent.model_request import SideRequests
from long_running_agents.agent.registry import AgentService, file_words
from long_running_agents.agent.router import Router
from long_running_agents.agent.rules import RuleService
from long_running_agents.agent.run_settings import run_settings
from long_running_agents.agent.runner import RunSettings, TurnRunner
from long_running_agents.agent.sessions import SessionService
from long_running_agents.agent.turns import TurnService
from long_running_agents.agent.work_transitions import WorkDefaults
from long_running_agents.agent.works import WorkService
from long_running_agents.clock import SystemClock
from long_running_agents.config import LoadedSettings, Settings, load
from long_running_agents.domain.context_window import HistoryWindow, WindowOf
from long_running_agents.domain.model_card import MissingCapability
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Turn
from long_running_agents.engine.local import LocalEngine
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.home import Home, agent_folder, archives_of
from long_running_agents.jobs.cron_file import CRON_FILE, CronFile
from long_running_agents.jobs.curator import Curator
from long_running_agents.jobs.learned import LearnedService
from long_running_agents.jobs.notices import Notices
from long_running_agents.jobs.notifiers import notifiers
from long_running_agents.jobs.reflection import Reflector
from long_running_agents.jobs.scheduler import Scheduler
from long_running_agents.jobs.service import JobService, local_zone
from long_running_agents.jobs.watch import Watcher
from long_running_agents.mcp.servers import McpServers
from long_running_agents.memory.embedding.remote import RemoteEmbedder
from long_running_agents.memory.factory import memories_of, mirrors_of, open_memories
from long_running_agents.memory.service import MemoryService
from long_running_agents.models import names, selection
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.factory import Findings, ModelFactory, ModelSource, OneModel
from long_running_agents.observe.logs import log_to
from long_running_agents.observe.observers import Observers
from long_running_agents.store import events, model_cards
from long_running_agents.store.database import Database
from long_running_agents.store.schema import open_database
from long_running_agents.tools.catalog import for_works, switched_on
from long_running_agents.tools.deps import Consent, MakeDeps, Tell, TurnDeps
from long_running_agents.tools.mcp import foreign_servers, tools_of
from long_running_agents.tools.owner_resources import AllOwnerResources, SkillSetup, skill_setup_of

if TYPE_CHECKING:
    from long_running_agents.observe.traces import Tracing

__all__ = ["App", "open_app", "open_memories"]

_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An open home."""

    loaded: LoadedSettings
    home: Home
    database: Database
    sessions: SessionService
    turns: TurnService
    contexts: ContextService
    """What models would be shown next."""
    driver: TurnDriver
    """Drives the turns of all owners."""
    compactor: Compactor
    """Sums up what leaves the view of the models."""
    hands: AllOwnerResources
    """What the agents of each owner work with."""
    observers: Observers
    """Whoever counts or traces what is done for all owners."""
    models: ModelSource
    memories: MemoryService | None
    """What is remembered; None when that is switched off."""
    remembered: Callable[[], Awaitable[None]]
    """Waits until every turn that came to rest is remembered."""
    registry: AgentService
    """The agents of all owners."""
    workshop: SkillSetup | None
    """Where skills are made and kept; None when they are switched off."""
    jobs: JobService
    """The jobs of the owner in the settings; its scheduler fires those of all, once it is open."""
    learned: LearnedService
    """What the owner in the settings has taught; its parts look after that of all, once open."""

    @property
    def rules(self) -> RuleService:
        """The pinned rules of the owner in the settings."""
        return RuleService(self.sessions)

    @property
    def servers(self) -> McpServers:
        """Foreign servers whose tools may be used."""
        return self.hands.servers

    @property
    def agents(self) -> AgentService:
        """The agents of the owner in the settings."""
        return self.registry.of(self.settings.owner)

    @property
    def works(self) -> WorkService:
        """The works of the owner in the settings."""
        return WorkService(self.turns, self.driver.deps)

    @property
    def side_requests(self) -> SideRequests:
        """Whoever asks models something beside turns."""
        return self.compactor.asked

    @property
    def book(self) -> BudgetBook:
        """What the requests of all owners may take."""
        return self.side_requests.book

    @property
    def budgets(self) -> BudgetService:
        """The budgets of the owner in the settings."""
        return BudgetService(self.book, self.turns, self.settings.owner)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings


@asynccontextmanager
async def open_app(
    loaded: LoadedSettings | None = None,
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
    limits = httpx2.Limits(max_connections=_CONNECTIONS)
    async with (
        open_database(loaded, clock) as database,
        httpx2.AsyncClient(timeout=loaded.settings.agent.model.timeout, limits=limits) as client,
        _watched(loaded) as tracing,
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
            app.observers.attend(tracing)
        engine = LocalEngine({WORK: app.driver.run}, clock)
        closing.push_async_callback(engine.close)
        closing.callback(app.jobs.scheduler.close)
        closing.callback(app.learned.close)
        closing.callback(app.driver.close)
        closing.push_async_callback(app.compactor.close)
        app.compactor.open()
        if parts.remembering is not None:
            parts.remembering.open()
        await app.driver.open(
            engine,
            settled=partial(_settled, parts.remembering, app),
            note=app.jobs.scheduler.notices.of_turn,
        )
        if parts.workshop is not None:
            parts.workshop.filing.nudge(loaded.settings.owner)
        yield app


def _parts(
    loaded: LoadedSettings,
    database: Database,
    client: httpx2.AsyncClient,
    clock: Clock,
    servers: McpServers,
    toolsets: Sequence[AbstractToolset[TurnDeps]],
    closing: AsyncExitStack,
) -> "_Parts":
    """Make what most rooms need, and have it closed in reverse."""
    remembering = None
    if loaded.settings.memory.enabled:
        memories = memories_of(loaded, database, client, clock)
        closing.push_async_callback(memories.close)
        mirrors = mirrors_of(loaded, memories)
        remembering = Memorizer(memories, loaded.settings.agent.name, clock, mirrors)
        closing.push_async_callback(remembering.close)
    hands = AllOwnerResources(loaded, client, clock, servers)
    closing.push_async_callback(hands.close)
    hub = Hub(
        lambda session, owner, seq, limit: database.read(
            lambda tx: events.after(tx, session, seq, owner=owner, limit=limit)
        )
    )
    workshop = skill_setup_of(
        loaded, database, clock, hands, toolsets=toolsets, announce=hub.publish
    )
    if workshop is not None:
        closing.push_async_callback(workshop.close)
    return _Parts(database, clock, hub, hands, remembering, workshop, client)


@asynccontextmanager
async def _watched(loaded: LoadedSettings) -> AsyncGenerator["Tracing | None"]:
    """Write the log, and make traces if somebody wants them."""
    settings = loaded.settings
    with log_to(Home(loaded.home).logs, settings.log_level, loaded.redact, settings.log_format):
        if not settings.telemetry.otlp_endpoint:
            yield None
            return
        try:
            # Only here: whoever sends nothing needs no library for it.
            from long_running_agents.observe import otlp  # noqa: PLC0415
        except ImportError as error:
            raise NotConfigured(
                "telemetry.otlp_endpoint is set, and nothing is installed that sends traces.",
                hint="pip install 'long-running-agents[otel]', or unset it.",
            ) from error
        async with otlp.tracing(loaded) as tracing:
            yield tracing


@dataclass(frozen=True, slots=True)
class _Parts:
    """What most rooms need something of."""

    database: Database
    clock: Clock
    hub: Hub
    hands: AllOwnerResources
    remembering: Memorizer | None
    workshop: SkillSetup | None
    client: httpx2.AsyncClient

    @property
    def memories(self) -> MemoryService | None:
        return None if self.remembering is None else self.remembering.memories


def _compactor(
    loaded: LoadedSettings, parts: _Parts, models: ModelSource, settings: RunSettings
) -> Compactor:
    book = BudgetBook(parts.database, parts.clock, settings.shared)
    _meter(parts.memories, book, loaded.settings.owner)
    asked = SideRequests(book, models, settings.limits[Mode.BOUNDED], settings.retries)
    return Compactor(parts.database, parts.clock, parts.hub, asked, archives_of(loaded))


def _assemble(
    loaded: LoadedSettings,
    parts: _Parts,
    models: ModelSource,
    settings: RunSettings,
    tools: Sequence[AbstractToolset[TurnDeps]],
) -> App:
    """Put the rooms together, each with what it needs."""
    database, clock, hub, remembering = parts.database, parts.clock, parts.hub, parts.remembering
    owner = loaded.settings.owner
    observers, chosen = Observers(), SessionModels()
    hub.attend(observers.on_event)
    compactor = _compactor(loaded, parts, models, settings)
    registry = _registry(loaded.settings, parts, compactor)
    runner = TurnRunner(
        database=database,
        hub=hub,
        clock=clock,
        toolsets=tools,
        work_toolsets=[for_works(loaded.settings)],
        settings=settings,
        book=compactor.asked.book,
        deps=_deps(loaded.settings, parts),
        recall=_recall(loaded.settings, hub, remembering),
        observers=observers,
        compactor=compactor,
    )
    driver = TurnDriver(
        database=database,
        hub=hub,
        clock=clock,
        runner=runner,
        models=models,
        chosen=chosen,
        view=HistoryWindow(loaded.settings.sessions.max_history_messages),
        observers=observers,
    )
    runner.delegations = Delegations(database, hub, clock, registry, driver.submit)
    turns = _turns(loaded.settings, parts, driver, registry)
    return App(
        loaded=loaded,
        home=Home(loaded.home),
        database=database,
        sessions=SessionService(
            database, clock, owner, hub.publish, chosen.switch, compactor.archive
        ),
        turns=turns,
        contexts=ContextService(database, clock, runner, models, driver.view, compactor, owner),
        driver=driver,
        compactor=compactor,
        hands=parts.hands,
        observers=observers,
        models=models,
        memories=parts.memories,
        remembered=_at_once if remembering is None else remembering.done,
        registry=registry,
        workshop=parts.workshop,
        jobs=_jobs(loaded, turns, models, compactor.asked.book, parts),
        learned=_learned(loaded.settings, parts, compactor.asked),
    )


def _learned(settings: Settings, parts: _Parts, asked: SideRequests) -> LearnedService:
    library = None if parts.workshop is None else parts.workshop.library
    curator = Curator(parts.database, parts.clock, parts.memories, library)
    reflector = Reflector(
        database=parts.database,
        asked=asked,
        memories=parts.memories,
        ready=_at_once if parts.remembering is None else parts.remembering.ready,
        skills=library,
        settings=settings.reflection,
        agent=settings.agent.name,
        announce=parts.hub.publish,
    )
    return LearnedService(curator, reflector, settings.owner)


def _settled(remembering: Memorizer | None, app: App, turn: Turn) -> None:
    """A turn came to rest."""
    if remembering is not None:
        remembering.nudge(turn)
    app.learned.reflector.nudge()
    app.jobs.scheduler.notices.nudge()


def _jobs(
    loaded: LoadedSettings,
    turns: TurnService,
    models: ModelSource,
    book: BudgetBook,
    parts: _Parts,
) -> JobService:
    owner = loaded.settings.owner
    senders = notifiers(loaded.settings.notices.urls, parts.client)
    notices = Notices(turns.database, turns.clock, senders, owner)
    return JobService(
        Scheduler(turns.database, turns, models, book, notices, Watcher(parts.hands.of), owner),
        loaded.settings.jobs.timezone or local_zone(loaded.variables),
        CronFile(agent_folder(loaded, owner) / CRON_FILE),
        owner,
    )


def _registry(settings: Settings, parts: _Parts, compactor: Compactor) -> AgentService:
    embedder = None if parts.memories is None else parts.memories.embedder
    router = Router(embedder, compactor.asked)
    words = partial(file_words, settings)
    return AgentService(parts.database, parts.clock, router=router, words=words)


def _turns(
    settings: Settings, parts: _Parts, driver: TurnDriver, registry: AgentService
) -> TurnService:
    works = WorkDefaults.of(settings.agent.deep_work)
    return TurnService(
        parts.database, parts.hub, parts.clock, driver, registry, settings.owner, works
    )


def _deps(settings: Settings, parts: _Parts) -> MakeDeps:
    """What the tools of any turn can touch."""
    workshop = parts.workshop

    def make(turn: Turn, taint: Tell, consent: Consent, folder: str = "") -> TurnDeps:
        own = parts.hands.of(turn.owner, folder)
        return TurnDeps(
            turn=turn,
            clock=parts.clock,
            database=parts.database,
            announce=parts.hub.publish,
            owner=turn.owner,
            agent=turn.agent.partition("@")[0] or settings.agent.name,
            memories=parts.memories,
            workspace=own.workspace,
            folder=own.folder,
            sandboxes=own.sandboxes,
            web=own.web,
            skills=None if workshop is None else workshop.library.of(turn.owner),
            trusted=settings.agent.workspace_trust == "user",
            taint=taint,
            consent=consent,
        )

    return make


def _meter(memories: MemoryService | None, book: BudgetBook, owner: str) -> None:
    """Let vectors that a server computes count for the home's owner."""
    embedder = None if memories is None else memories.embedder
    if isinstance(embedder, RemoteEmbedder):
        embedder.spend = partial(book.spend, owner, embedder.space)


async def _at_once(_: str | None = None) -> None:
    """There is nothing to wait for."""


def _recall(settings: Settings, hub: Hub, remembering: Memorizer | None) -> Recall | None:
    if remembering is None or not settings.memory.recall:
        return None
    return Recall(
        remembering.memories,
        hub,
        settings.memory,
        agent=settings.agent.name,
        ready=remembering.ready,
    )


async def _findings(loaded: LoadedSettings, database: Database, clock: Clock) -> Findings:
    """What is known of models from before."""
    known, taught = await database.read(
        lambda tx: (model_cards.every(tx), model_cards.every_lack(tx))
    )

    async def keep(lack: MissingCapability) -> None:
        await database.write(lambda tx: model_cards.put_lack(tx, lack))

    return Findings(known, taught, keep=keep, clock=clock, redact=loaded.redact)


async def _known_windows(
    loaded: LoadedSettings, model: Model | None, client: httpx2.AsyncClient, findings: Findings
) -> WindowOf:
    """The context windows that examinations have found or servers tell, by a model's full name."""
    settings = loaded.settings.agent.model
    own = names.configured_name(settings) if model is None else None
    told = (
        await selection.window(client, loaded, own) if own and not settings.context_window else None
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


def _models(
    loaded: LoadedSettings, model: Model | None, client: httpx2.AsyncClient, findings: Findings
) -> ModelSource:
    if model is not None:
        return OneModel(model)
    return ModelFactory(
        loaded.settings.agent.model,
        loaded.model_variables,
        client,
        Embedded(Home(loaded.home).models),
        known=findings,
    )
