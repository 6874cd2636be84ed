"""The one way from a command to the services: in this home, or at the process that has it open."""

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from long_running_agents.cli.output import note, plain
from long_running_agents.clock import SystemClock
from long_running_agents.errors import HomeBusy, LraError, NotFound, ServerAway, UsageError
from long_running_agents.home import Home, archives_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from long_running_agents import api
    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.api import (
        BudgetApi,
        MemoryApi,
        RuleApi,
        SessionApi,
        SkillApi,
        TurnApi,
        WorkApi,
    )
    from long_running_agents.app import App
    from long_running_agents.cli.main import Options
    from long_running_agents.client import Address, Client
    from long_running_agents.config import LoadedSettings
    from long_running_agents.domain.compaction import ContextProbe, Fold
    from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
    from long_running_agents.domain.memory import Viewer
    from long_running_agents.domain.ports import Clock
    from long_running_agents.domain.session import Session
    from long_running_agents.domain.turn import Turn
    from long_running_agents.memory.service import MemoryService
    from long_running_agents.skills.library import SkillLibrary
    from long_running_agents.store.database import Database


S = TypeVar("S")
T = TypeVar("T")


def has_database(options: "Options") -> bool:
    """Whether anything was ever stored in the home."""
    from long_running_agents.store.schema import database_path

    return database_path(options.load()).exists()


def with_database(
    options: "Options",
    work: "Callable[[Database], Awaitable[T]]",
    *,
    writes: bool = False,
    empty: "T | None" = None,
) -> T:
    """Run work on a home's database; it owns the home only if it writes.

    That nothing was ever stored is an answer (`empty`) and no failure, where one is given.
    """
    from long_running_agents.store.schema import open_database

    if empty is not None and not has_database(options):
        return empty
    return run_with(open_database(options.load(), SystemClock(), read_only=not writes), work)


def run_with(opening: "AbstractAsyncContextManager[S]", work: "Callable[[S], Awaitable[T]]") -> T:
    """Run work with something that is open meanwhile."""

    async def opened() -> T:
        async with opening as service:
            return await work(service)

    return asyncio.run(opened())


def with_sessions(
    options: "Options", work: "Callable[[SessionService], Awaitable[T]]", **how: Any
) -> T:
    """Run work on a home's sessions, in a way that is one of `with_database`."""
    from long_running_agents.agent.sessions import SessionService

    loaded, clock = options.load(), SystemClock()
    owner, archives = loaded.settings.owner, archives_of(loaded)
    return with_database(
        options,
        lambda database: work(SessionService(database, clock, owner=owner, archives=archives)),
        **how,
    )


def with_memories(
    options: "Options",
    work: "Callable[[MemoryService, Viewer], Awaitable[T]]",
    *,
    writes: bool = False,
) -> T:
    """Run work on what a home remembers; it owns the home only if it writes."""
    from long_running_agents.memory.factory import open_memories

    loaded = options.load()
    viewer = viewer_of(loaded)
    return run_with(
        open_memories(loaded, read_only=not writes), lambda memories: work(memories, viewer)
    )


def changing_sessions(options: "Options", work: "Callable[[SessionApi], Awaitable[T]]") -> T:
    """Change sessions: at the server that owns the home, else as its owner."""
    return there_or_here(
        options,
        lambda client: work(client.sessions),
        lambda: with_sessions(options, work, writes=True),
    )


def changing_memories(options: "Options", work: "Callable[[MemoryApi, Viewer], Awaitable[T]]") -> T:
    """Change what is remembered: at the server that owns the home, else as its owner."""
    return there_or_here(
        options,
        lambda client: work(client.memories, viewer_of(options.load())),
        lambda: with_memories(options, work, writes=True),
    )


def with_skills(
    options: "Options",
    work: "Callable[[SkillLibrary], Awaitable[T]]",
    *,
    writes: bool = False,
    making: bool = False,
) -> T:
    """Run work on a home's skills; `making` needs the names of all other tools."""
    from long_running_agents.tools.skill_library import open_library

    return run_with(open_library(options.load(), read_only=not writes, making=making), work)


def changing_skills(
    options: "Options", work: "Callable[[SkillApi], Awaitable[T]]", *, making: bool = False
) -> T:
    """Change skills: at the server that owns the home, else as its owner."""
    return there_or_here(
        options,
        lambda client: work(client.skills),
        lambda: with_skills(options, work, writes=True, making=making),
    )


def with_agents(options: "Options", work: "Callable[[api.AgentApi], Awaitable[T]]") -> T:
    """Run work on agents: at the server that owns the home, else as its owner."""

    def here() -> T:
        from long_running_agents.agent.registry import AgentService, file_words

        settings, clock = options.load().settings, SystemClock()
        words = partial(file_words, settings)

        def local(database: "Database") -> "Awaitable[T]":
            service = AgentService(database, clock, settings.owner, words=words)
            return work(cast("api.AgentApi", service))

        return with_database(options, local, writes=True)

    return there_or_here(options, lambda client: work(client.agents), here)


def with_jobs(
    options: "Options", work: "Callable[[api.JobApi], Awaitable[Any]]", *, wait: bool = False
) -> Any:
    """Run work on jobs: at the server that owns the home, else as its owner.

    Here, whoever fires one can wait until its turn has ended.
    """

    async def local(app: "App") -> Any:
        done = await work(app.jobs)
        if wait and done.firing.turn_id is not None:
            await app.turns.settled(done.firing.turn_id)
            done = (await app.jobs.history(done.firing.job_id, limit=1))[0]
        return done

    return there_or_here(
        options, lambda client: work(client.jobs), lambda: with_app(options, local)
    )


def with_learned(options: "Options", work: "Callable[[api.LearnedApi], Awaitable[T]]") -> T:
    """Run work on what was learned: at the server that owns the home, else as its owner."""
    return there_or_here(
        options,
        lambda client: work(client.learned),
        lambda: with_app(options, lambda app: work(app.learned)),
    )


def with_app(options: "Options", work: "Callable[[App], Awaitable[T]]") -> T:
    """Run work on a home as its owner."""
    from long_running_agents.app import open_app

    return run_with(open_app(options.load()), work)


def there_or_here(
    options: "Options", there: "Callable[[Client], Awaitable[T]]", here: "Callable[[], T]"
) -> T:
    """Do something at the server, or here if there is no server that does it for this owner."""

    async def asked() -> "list[T]":
        async with client_of(options.load()) as client:
            return [] if client is None else [await there(client)]

    while True:
        # A server acts for the owner in its settings; for others it would be the wrong one.
        done = asyncio.run(asked()) if options.owner is None else []
        if done:
            return done[0]
        try:
            return here()
        except HomeBusy:
            # Somebody was faster, and can be joined in a moment.
            if options.owner is not None:
                raise


def viewer_of(loaded: "LoadedSettings") -> "Viewer":
    """Whose memories a person at the terminal sees."""
    from long_running_agents.domain.memory import Viewer

    return Viewer(owner=loaded.settings.owner, agent=loaded.settings.agent.name)


@asynccontextmanager
async def open_home(loaded: "LoadedSettings") -> "AsyncGenerator[LocalApi]":
    """Open a home while inside; other terminals may join."""
    from long_running_agents.cli.main import loading

    with loading():
        from long_running_agents.app import open_app
        from long_running_agents.server.server_file import shared

    clock = SystemClock()
    opened_at = clock.now()
    async with open_app(loaded) as app, shared(app, clock):
        yield LocalApi(app, clock, opened_at)


class _Agent:
    """What an agent is to the terminal, wherever its home is open."""

    def __init__(
        self,
        loaded: "LoadedSettings",
        name: str,
        services: "App | Client",
        skills: "SkillApi | None",
    ) -> None:
        settings = loaded.settings
        self.home = Home(loaded.home)
        """Where this side keeps its files."""
        self.name = name
        self.owner = settings.owner
        self.waits = settings.agent.tools.non_interactive_approval_policy == "ask"
        """Whether an approval that nobody is there for may stay pending."""
        self.turns: TurnApi = services.turns
        self.sessions: SessionApi = services.sessions
        self.rules: RuleApi = services.rules
        self.budgets: BudgetApi = services.budgets
        self.works: WorkApi = services.works
        self.agents = cast("api.AgentApi", services.agents)
        self.memories: MemoryApi | None = services.memories
        """What is remembered; None when memory is switched off."""
        self.skills = skills
        """Tools that were made; None when they are switched off."""

    async def find(self, session_id: "SessionId") -> "Session | None":
        """Look a session up; None when nothing was said in it yet."""
        try:
            return await self.sessions.get(session_id)
        except NotFound:
            return None

    async def last_event(self, session_id: "SessionId") -> int:
        """The number of a session's newest event; 0 for none."""
        try:
            return await self.sessions.last_event(session_id)
        except NotFound:
            return 0


class LocalApi(_Agent):
    """The agent of a home that this process has opened."""

    goes_on = "the turn goes on when the home is opened again"
    there = True
    """Whether it can be reached."""

    def __init__(self, app: "App", clock: "Clock", opened_at: "datetime") -> None:
        """Talk to an open home; what happened since `opened_at` is news."""
        workshop, name = app.workshop, app.settings.agent.name
        super().__init__(app.loaded, name, app, None if workshop is None else workshop.library)
        self._app = app
        self._clock = clock
        self._opened_at = opened_at

    async def known_until(self, session_id: "SessionId", unfinished: "Sequence[Turn]") -> int:
        """The last event that is no news: turns go on by themselves once the home is open."""
        from long_running_agents.store import events

        del unfinished
        before, self._opened_at = self._opened_at, self._clock.now()
        return await self._app.database.read(lambda tx: events.last(tx, session_id, before=before))

    async def turn_of(self, approval_id: "ApprovalId") -> "TurnId | None":
        """The turn that an approval belongs to."""
        from long_running_agents.store import approvals

        found = await self._app.database.read(
            lambda tx: approvals.get(tx, approval_id, owner=self.owner)
        )
        return found.turn_id

    async def model(self) -> str | None:
        """The model that answers where a session has not chosen its own."""
        from long_running_agents.models.names import configured_name

        return configured_name(self._app.settings.agent.model)

    async def models(self) -> "Sequence[str]":
        """Models that can be asked right now."""
        from long_running_agents.models import selection

        return await selection.at_hand(self._app.loaded)

    async def context(self, session_id: "SessionId") -> "Mapping[str, Any]":
        """The next request of a session: model, window, total, shares."""
        found = (await self._app.contexts.next(session_id)).context
        return {**plain(found), "total": found.shares.total}

    async def check(self, session_id: "SessionId") -> "Sequence[ContextProbe]":
        """Ask the model what rows can tell, with no more than its next request would show."""
        return await self._app.contexts.check(session_id)

    async def compact(self, session_id: "SessionId") -> "Fold":
        """Let a summary, or a line for each turn, stand for all turns but the last one."""
        return await self._app.contexts.compact(session_id)

    async def tools(self) -> "Sequence[str]":
        """The names of the tools that may be called."""
        from long_running_agents.server.routes.files import offered

        return [each.name for each in (await offered(self._app, self.owner)) if each.enabled]

    async def check_model(self, name: str) -> None:
        """Refuse a model that cannot be asked."""
        self._app.models.choices(name)

    def tell(self, hear: "Callable[[str], None]") -> None:
        """Do nothing: it can always be reached."""


class RemoteApi(_Agent):
    """The agent of another process that has the home open."""

    def __init__(self, client: "Client", name: str, loaded: "LoadedSettings") -> None:
        """Talk to a server; one without memory or skills says so when it is asked."""
        super().__init__(loaded, name, client, client.skills)
        self._client = client
        self.models = client.models
        self.tools = client.tools
        self.context = client.sessions.context
        self.check = client.sessions.check
        self.compact = client.sessions.compact

    @property
    def goes_on(self) -> str:
        """What becomes of a turn when its listener leaves."""
        address = self._client.link.address
        if address is None or not address.socket:
            return "the turn goes on at the server"
        if address.pid == os.getpid():
            return LocalApi.goes_on
        return f"the turn goes on in process {address.pid}"

    async def known_until(self, session_id: "SessionId", unfinished: "Sequence[Turn]") -> int:
        """The last event before the turns that have not ended: all of them is told."""
        newest = await self.last_event(session_id)
        if not unfinished:
            return newest
        return await self._client.sessions.before(session_id, unfinished[0].id, newest)

    async def turn_of(self, approval_id: "ApprovalId") -> "TurnId | None":
        """The turn that an approval belongs to; None when it is not pending any more."""
        found = await self.turns.open_questions()
        return next((each.turn_id for each in found if each.id == approval_id), None)

    async def model(self) -> str | None:
        """The model that answers where a session has not chosen its own."""
        return (await self._client.status()).model or None

    async def check_model(self, name: str) -> None:
        """Leave it to the server: it says so when it cannot ask a model."""

    @property
    def there(self) -> bool:
        """Whether the server can be reached."""
        return self._client.link.there

    def tell(self, hear: "Callable[[str], None]") -> None:
        """Say who hears that the server went away, and that it is back."""
        self._client.link.tell = hear


AgentApi = LocalApi | RemoteApi
"""An agent that can be talked to."""


_PATIENCE = 150.0
"""Seconds for which a process that cannot be joined yet, or ever, is waited for.

Ten times what one needs until it answers, on a machine with four busy programs to a core.
"""
_LOOK, _SILENT = 0.05, 1.0


@asynccontextmanager
async def open_agent(
    loaded: "LoadedSettings",
    model: str | None,
    *,
    terminal: bool,
    resuming: bool = False,
    announce: bool = False,
) -> "AsyncGenerator[tuple[AgentApi, str | None]]":
    """The agent while inside, wherever the home is open, and the model to ask; see `settle`."""
    async with AsyncExitStack() as stack:
        agent = None
        while agent is None:
            agent = await stack.enter_async_context(joined(loaded, announce=announce))
            if agent is not None:
                break
            from long_running_agents.cli.chat import settle

            settled, chosen = await settle(loaded, model, terminal=terminal, resuming=resuming)
            try:
                agent = await stack.enter_async_context(open_home(settled))
            except HomeBusy:
                # Somebody was faster, and can be joined in a moment.
                continue
            model = chosen
        yield agent, model


@asynccontextmanager
async def joined(
    loaded: "LoadedSettings", *, announce: bool = False
) -> "AsyncGenerator[AgentApi | None]":
    """The agent of the process that owns the home, while inside; None when nobody owns it."""
    async with client_of(loaded) as client:
        if client is None:
            yield None
            return
        if loaded.origin("sandbox.unsafe_local") == "flag":
            raise UsageError(
                "Where code runs is decided by the process that has the home open.",
                hint="Stop it, and start it with --unsafe-local.",
            )
        agent = RemoteApi(client, (await client.status()).agent, loaded)
        agent.tell(note)
        if announce and (address := client.link.address) is not None:
            note(f"joined {address.shown}")
        yield agent


@asynccontextmanager
async def client_of(loaded: "LoadedSettings") -> "AsyncGenerator[Client | None]":
    """A client of the process that owns the home, while inside; None when nobody owns it.

    When it is another terminal's and ends, the home is opened here, and everything goes on.

    Raises:
        HomeBusy: It cannot be joined, and keeps the home.
    """
    clock = SystemClock()
    awaited = _AwaitedOwner(loaded, clock)
    while await awaited.announced():
        from long_running_agents.client import Client

        finder = _HomeFinder(loaded)
        try:
            async with Client.found(finder.find, clock, owner=loaded.settings.owner) as client:
                if await _answers(client):
                    yield client
                    return
        finally:
            await finder.close()
        # It has just left, and somebody else may have the home by now.
        await clock.sleep(_LOOK)
    yield None


class _HomeFinder:
    """Finds the process that has the home open, and opens the home when another terminal ended."""

    def __init__(self, loaded: "LoadedSettings") -> None:
        self._loaded = loaded
        self._shared = False
        """Whether the process that was found last is a terminal's, which does not come back."""
        self._opening: asyncio.Task[None] | None = None
        self._left = asyncio.Event()

    def find(self) -> "Address | None":
        """Where the home is open; None while it is nowhere."""
        found = _address(self._loaded)
        if found is not None:
            # A server is waited for instead: whoever keeps it running starts it again.
            self._shared = bool(found.socket)
        elif self._shared and (self._opening is None or self._opening.done()):
            self._opening = asyncio.create_task(self._open())
        return found

    async def close(self) -> None:
        """Close the home, if it was opened here."""
        self._left.set()
        if self._opening is not None:
            await self._opening

    async def _open(self) -> None:
        from long_running_agents.cli.serve import with_model

        try:
            async with open_home(await with_model(self._loaded, None)):
                await self._left.wait()
        except HomeBusy:
            # Somebody else did; that one is found the next time.
            return
        except LraError as error:
            self._shared = False
            note(f"the home cannot be opened here: {error.message}")


class _AwaitedOwner:
    """The process that owns the home: it may just have begun, or be about to end."""

    def __init__(self, loaded: "LoadedSettings", clock: "Clock") -> None:
        self._loaded = loaded
        self._clock = clock
        self._pid: int | None = None
        self._since = 0.0
        self._told = False

    async def announced(self) -> bool:
        """Wait until it says where it can be joined; False when nobody owns the home.

        Raises:
            HomeBusy: It was waited for long enough, in all.
        """
        home = Home(self._loaded.home)
        while (pid := home.owner()) is not None:
            if pid != self._pid:
                self._pid, self._since, self._told = pid, self._clock.monotonic(), False
            found = _address(self._loaded)
            waited = self._clock.monotonic() - self._since
            if waited > _PATIENCE or (found is None and pid == os.getpid()):
                raise home.busy(pid)
            if waited > _SILENT and not self._told:
                self._told = True
                note(f"waiting for process {pid}, which is using {home.path}")
            if found is not None:
                return True
            await self._clock.sleep(_LOOK)
        return False


async def _answers(client: "Client") -> bool:
    try:
        await client.link.once("GET", "/api/status")
    except ServerAway:
        return False
    return True


async def tell_of_model(loaded: "LoadedSettings", name: str) -> None:
    """Have the process that has the home open ask another model from now on."""
    async with client_of(loaded) as client:
        if client is None:
            return
        try:
            told = await client.choose_model(name) or "The running process uses it from now on."
        except LraError as error:
            told = f"The running process uses it from its next start on: {error.message}"
        note(told)


def _address(loaded: "LoadedSettings") -> "Address | None":
    from long_running_agents.server import server_file

    found = server_file.running(Home(loaded.home))
    if found is None:
        return None
    from long_running_agents.client import Address

    return Address(found.address, found.secret, found.socket, found.pid)
