"""Models while the server runs: listing, choosing, keys, servers and downloads."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from long_running_agents.app import App
from long_running_agents.config.editor import ConfigFile, Value
from long_running_agents.domain.auth import TokenScope
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Busy, Denied, LraError, NotConfigured, UsageError
from long_running_agents.home import Home
from long_running_agents.models import detection, examination, names, selection
from long_running_agents.models.detection import FoundServer, ServerTrial
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.examination import ModelTried
from long_running_agents.models.names import LOCAL
from long_running_agents.models.selection import ListedModel
from long_running_agents.server import http
from long_running_agents.server.auth import Administering, Known, Reading, check
from long_running_agents.server.http import Routes, ServerContext, route
from long_running_agents.server.wire import (
    ShownSession,
    WireRequest,
    WireResponse,
    derived,
    example,
)
from long_running_agents.store import model_cards

_FRESH = 15.0
"""Seconds for which it is not looked again which servers are there."""
_PATIENCE = 1.0
"""Seconds that looking may take; four times as much for servers that somebody has named."""


class ModelChosen(WireResponse):
    """What is asked now."""

    model: str
    session_id: ShownSession | None
    note: str = ""
    """What a person should know."""


class ModelSwitch:
    """Knows which model the server asks, and lets it be another."""

    def __init__(self, app: App, clock: Clock, file: ConfigFile) -> None:
        self._app = app
        self._file = file
        self._clock = clock
        self.loaded = app.loaded
        """The settings, with the model that is asked now."""
        self._found = list[FoundServer]()
        self._looked_at: float | None = None
        self._turn = asyncio.Lock()

    async def listed(self) -> Sequence[ListedModel]:
        """Every model that can be asked, or could be."""
        await self._look()
        known = await self._app.database.read(model_cards.every)
        by_name = {(each.endpoint, each.model): each for each in known}
        # Looking into folders takes a moment.
        return await asyncio.to_thread(
            selection.listed_everywhere, self.loaded, by_name, self._found
        )

    async def nameable(self, text: str) -> str:
        """A model's name that may come from outside.

        Raises:
            Denied: It brings an address or a path of its own, which only a person here may name.
        """
        parsed = names.parse(text, self._settings)
        own = parsed.provider == names.LOCAL and "/" in parsed.model
        foreign = parsed.base_url and parsed.base_url not in selection.addresses(self._settings)
        if (foreign or own) and text not in {each.name for each in await self.listed()}:
            raise Denied(
                "An address or a path of your own cannot be chosen from outside.",
                hint="'lra models use NAME' does it on the server's machine.",
            )
        try:
            if parsed.provider == names.LOCAL and not own:
                Embedded(Home(self.loaded.home).models).ready(parsed.model)
            names.require(parsed, self._settings, self.loaded.model_variables)
        except NotConfigured as error:
            raise UsageError(error.message, hint=error.hint) from error
        return text

    async def try_out(self, text: str) -> ModelTried:
        """Ask a model that is `nameable` for a word, to see whether it answers."""
        choice = self._app.models.choices(await self.nameable(text))[0]
        tried = await examination.try_out(choice, self._clock)
        redact = self.loaded.redact
        return replace(tried, error=redact(tried.error), hint=redact(tried.hint))

    async def check(self, text: str) -> str:
        """See whether a model can be asked, at its server, too; what a person should know."""
        parsed = names.parse(await self.nameable(text), self._settings)
        return await selection.check_there(self.loaded, parsed)

    async def select(self, text: str) -> ModelChosen:
        """Ask another model, if it can be asked, wherever a session has not chosen its own."""
        note = await self.check(text)
        parsed = names.parse(text, self._settings)
        changed = selection.values(parsed, self._settings)
        origin = selection.overriding(self.loaded, changed)
        await self._change(changed)
        if origin and not note:
            note = f"Until the next start: {origin} goes before the file that was written."
        return ModelChosen(model=self._app.models.usual, session_id=None, note=note)

    async def give_key(self, provider: str, key: str | None) -> None:
        """Keep a provider's key, or forget it; it is in force at once."""
        first, *others = names.key_variables(provider)
        await self._keep({first: key} if key else dict.fromkeys([first, *others]))

    async def add_server(self, address: str, key: str | None, model: str) -> None:
        """Remember a server that answers, and ask a model of it if one is named."""
        changed, secrets = await selection.added(self.loaded, address, key, model)
        if secrets:
            await self._keep(secrets)
        if changed:
            await self._change(changed)
        self._looked_at = None

    async def servers(self) -> Mapping[str, FoundServer | None]:
        """The servers of the settings and of this machine; None for one that does not answer."""
        await self._look()
        named = dict.fromkeys(selection.addresses(self._settings))
        return {**named, **{each.base_url: each for each in self._found}}

    async def _keep(self, secrets: Mapping[str, str | None]) -> None:
        self.loaded.redact.learn(text for text in secrets.values() if text)
        # Refused before anything is written, where there is nothing to choose from.
        self._app.models.use(self._settings, self.loaded.variables)
        variables = await self._file.keep(secrets, self.loaded.variables)
        self.loaded = replace(self.loaded, variables=variables)
        self._app.models.use(self._settings, variables)

    async def _change(self, changed: Mapping[str, Value]) -> None:
        """Follow other settings, and write them down."""
        model = selection.applied(self._settings, changed)
        self._app.models.use(model, self.loaded.variables)
        try:
            await self._file.write({selection.SECTION: changed})
        except LraError:
            self._app.models.use(self._settings, self.loaded.variables)
            raise
        settings = self.loaded.settings
        agent = settings.agent.model_copy(update={"model": model})
        self.loaded = replace(self.loaded, settings=settings.model_copy(update={"agent": agent}))

    @property
    def _settings(self) -> names.ModelSettings:
        return self.loaded.settings.agent.model

    async def _look(self) -> None:
        async with self._turn:
            now = self._clock.monotonic()
            if self._looked_at is None or now - self._looked_at >= _FRESH:
                self._found = await selection.servers(self.loaded, idle=True, patience=_PATIENCE)
                self._looked_at = self._clock.monotonic()


Secret = Annotated[
    str,
    # What a file of variables can hold without any escaping.
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=1000, pattern=r"^[!#-&(-\[\]-~]+$"
    ),
]
Address = Annotated[
    str, Field(max_length=300, pattern=r"^(https?://)?[A-Za-z0-9.:_\[\]-]+(/[A-Za-z0-9._~/-]*)?$")
]


class ProviderResponse(WireResponse):
    """A provider whose models need a key."""

    provider: str
    label: str
    """What people call it."""
    has_key: bool
    suggested_model: str
    note: str
    """What it lacks besides a key."""


class ModelServerResponse(WireResponse):
    """A model server."""

    base_url: str
    source: Literal["settings", "detected"]
    reachable: bool
    models: list[str]
    """The names that its models are chosen by."""


class EmbeddedResponse(WireResponse):
    """The model that runs inside this program."""

    name: str
    size_bytes: int
    installed: bool
    available: bool
    """Whether it could be run here."""
    note: str


class ProviderList(WireResponse):
    """Every way to a model."""

    providers: list[ProviderResponse]
    servers: list[ModelServerResponse]
    embedded: EmbeddedResponse


class ModelResponse(
    derived(ListedModel, only=("name", "source", "context_window", "installed", "note"))
):
    """A model that can be asked, or could be."""

    model_config = example("""{"name": "ollama:qwen3", "source": "Ollama at 127.0.0.1:11434",
      "current": true, "context_window": 32768, "installed": true, "note": "loaded"}""")

    current: bool
    """Whether it answers where a session has not chosen its own."""


class ModelList(WireResponse):
    """Models, and the one that answers."""

    current: str
    """The model that answers; empty when none is chosen."""
    models: list[ModelResponse]


class ModelSelection(WireRequest):
    """The model to ask from the next step on."""

    model_config = example('{"provider": "lmstudio", "model_id": "your-model-id"}')

    provider: str = Field(default="", max_length=100, pattern=http.PLAIN)
    """Such as openai, openrouter, lmstudio or ollama; empty when ``model_id`` has it."""
    model_id: http.Line
    session_id: SessionId | None = Field(default=None, pattern=http.SESSION_ID)
    """Only for this session; for all that have not chosen their own unless given."""

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.provider}:{self.model_id}" if self.provider else self.model_id


class ModelTrial(WireRequest):
    """The model to try."""

    model_config = example('{"model": "ollama:qwen3"}')

    model: http.Line
    """What it is chosen by, as provider:model."""


class ModelTestResponse(derived(ModelTried)):
    """Whether a model answers."""

    model_config = example("""{"model": "ollama:qwen3", "ok": false, "seconds": 0.02,
      "error": "ollama:qwen3 does not answer: it cannot be reached.", "hint": "Is it running?"}""")


class KeyGiven(WireRequest):
    """A provider's key; it is never told again."""

    model_config = example('{"key": "sk-your-key"}')

    key: Secret = Field(repr=False)


class KeyResponse(WireResponse):
    """Whether a provider has a key."""

    provider: str
    has_key: bool


class ServerGiven(WireRequest):
    """A model server to try."""

    model_config = example('{"base_url": "http://127.0.0.1:1234"}')

    base_url: Address
    """With ``/v1`` or without."""
    api_key: Secret | None = Field(default=None, repr=False)


class ServerAdded(ServerGiven):
    """A model server to remember."""

    model: str = Field(default="", max_length=300, pattern=http.PLAIN)
    """The model of it to ask from now on, if any."""


class ServerTried(derived(ServerTrial, without=("status",))):
    """Whether a model server answers."""


class PullRequest(WireRequest):
    """The model to fetch."""

    name: str = Field(default="", max_length=100, pattern=http.PLAIN)
    """As GET /api/models names it; the small one to begin with unless given."""


PullState = Literal["running", "done", "failed", "idle"]


class PullResponse(WireResponse):
    """How far a download is."""

    name: str
    state: PullState
    received: int
    """Bytes."""
    total: int
    message: str


log = logging.getLogger(__name__)


class ModelDownload:
    """One download at a time. What arrived is kept when it ends early, and the next goes on."""

    def __init__(self, folder: Path) -> None:
        self._embedded = Embedded(folder)
        self._task: asyncio.Task[Path] | None = None
        self._name = ""
        self._received = self._total = 0

    def start(self, name: str) -> PullResponse:
        """Begin, unless it has begun."""
        try:
            weights = self._embedded.weights(name.removeprefix(f"{LOCAL}:"))
            self._embedded.require_runtime()
        except NotConfigured as error:
            raise UsageError(error.message, hint=error.hint) from error
        if self._task is None or self._task.done():
            self._name, self._received, self._total = weights.name, 0, weights.size
            pulled = self._embedded.pull(weights.name, progress=self._progress)
            self._task = asyncio.ensure_future(pulled)
        elif weights.name != self._name:
            raise Busy(f"{self._name} is being fetched.", hint="Wait, or stop it first.")
        return self.told()

    async def stop(self) -> PullResponse:
        """End it, if it runs."""
        if self._task is not None and self._task.cancel():
            with contextlib.suppress(asyncio.CancelledError, LraError):
                await self._task
        return self.told()

    def told(self) -> PullResponse:
        """How far it is."""
        state: PullState = "running"
        message = ""
        if self._task is None or self._task.cancelled():
            state, message = "idle", "Stopped; what arrived is kept." if self._task else ""
        elif self._task.done():
            error = self._task.exception()
            state, message = ("failed", str(error)) if error else ("done", "")
            if error and not isinstance(error, LraError):
                log.error("fetching %s broke", self._name, exc_info=error)
                message = "Something broke. The log of the server says what."
        return PullResponse(
            name=self._name and f"{LOCAL}:{self._name}",
            state=state,
            received=self._received,
            total=self._total,
            message=message,
        )

    def _progress(self, received: int, total: int) -> None:
        self._received, self._total = received, total


class ModelRoutes(Routes, tag="models"):
    """Listing, choosing and trying."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._pulling = ModelDownload(self._app.home.models)

    @route("GET /api/models")
    async def list_all(self, _: Reading) -> ModelList:
        """List the models that are set, found on the server's machine, or embedded."""
        return await self._listed()

    @route("POST /api/models/select", openapi_extra={"x-scope": "admin; chat for one session"})
    async def select(self, caller: Known, choice: ModelSelection) -> ModelChosen:
        """Ask another model from the next step on, for all sessions or for one."""
        if choice.session_id is None:
            check(caller, TokenScope.ADMIN)
            return await self._switching.select(choice.name)
        check(caller, TokenScope.CHAT)
        service, key = self._sessions(caller), caller.key(choice.session_id)
        await service.get(key)
        note = await self._switching.check(choice.name)
        await service.choose_model(key, choice.name)
        return ModelChosen(model=choice.name, session_id=key, note=note)

    @route("POST /api/models/test")
    async def test(self, _: Administering, trial: ModelTrial) -> ModelTestResponse:
        """Ask a model for one word: does it answer, how fast, and if not, why."""
        return ModelTestResponse.of(await self._switching.try_out(trial.model))

    @route("GET /api/models/providers")
    async def providers(self, _: Administering) -> ProviderList:
        """List every way to a model: providers and their keys, servers, and the embedded model."""
        loaded = self._switching.loaded
        configured = selection.addresses(loaded.settings.agent.model)
        return ProviderList(
            providers=[
                ProviderResponse(
                    provider=provider,
                    label=names.LABELS[provider],
                    has_key=bool(names.key_of(provider, loaded.variables)),
                    suggested_model=usual,
                    note=names.missing_package(provider),
                )
                for provider, usual in names.USUAL.items()
            ],
            servers=[
                ModelServerResponse(
                    base_url=loaded.redact(base_url),
                    source="settings" if base_url in configured else "detected",
                    reachable=found is not None,
                    models=[found.full_name(each) for each in found.models] if found else [],
                )
                for base_url, found in (await self._switching.servers()).items()
            ],
            embedded=_embedded(Embedded(self._app.home.models)),
        )

    @route("PUT /api/models/keys/{provider}")
    async def give_key(self, _: Administering, provider: http.Key, given: KeyGiven) -> KeyResponse:
        """Keep a provider's key in the home's .env file; it is in force at once."""
        await self._switching.give_key(provider, given.key)
        return KeyResponse(provider=provider, has_key=True)

    @route("DELETE /api/models/keys/{provider}")
    async def remove_key(self, _: Administering, provider: http.Key) -> KeyResponse:
        """Remove a provider's key from the home's .env file."""
        await self._switching.give_key(provider, None)
        return KeyResponse(provider=provider, has_key=False)

    @route("POST /api/models/servers/test")
    async def test_server(self, caller: Administering, given: ServerGiven) -> ServerTried:
        """Ask a model server for its models, with /v1 and without; nothing is remembered."""
        del caller
        return ServerTried.of(await detection.found(given.base_url, given.api_key or ""))

    @route("POST /api/models/servers")
    async def add_server(self, _: Administering, given: ServerAdded) -> ModelList:
        """Remember a model server that answers, and ask a model of it if one is named."""
        await self._switching.add_server(given.base_url, given.api_key, given.model)
        return await self._listed()

    @route("POST /api/models/pull", status_code=202)
    async def pull(self, _: Administering, asked: PullRequest | None = None) -> PullResponse:
        """Begin to fetch an embedded model, or go on with it."""
        return self._pulling.start(asked.name if asked else "")

    @route("GET /api/models/pull")
    async def pulling(self, _: Administering) -> PullResponse:
        """Say how far the download is."""
        return self._pulling.told()

    @route("DELETE /api/models/pull")
    async def stop_pulling(self, _: Administering) -> PullResponse:
        """Stop the download; what arrived is kept."""
        return await self._pulling.stop()

    async def _listed(self) -> ModelList:
        current = self._app.models.usual
        found = list(await self._switching.listed())
        if current and not any(each.name == current for each in found):
            found.insert(0, ListedModel(name=current, source="settings"))
        told = [ModelResponse.of(each, current=each.name == current != "") for each in found]
        return ModelList(current=current, models=told)


def _embedded(embedded: Embedded) -> EmbeddedResponse:
    note = ""
    weights = next(iter(embedded.catalog().values()), None)
    try:
        embedded.require_runtime()
    except NotConfigured as error:
        note = str(error)
    return EmbeddedResponse(
        name=f"{names.LOCAL}:{weights.name}" if weights else "",
        size_bytes=weights.size if weights else 0,
        installed=bool(weights and embedded.path(weights).is_file()),
        available=not note,
        note=note,
    )
