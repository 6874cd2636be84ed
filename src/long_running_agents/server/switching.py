"""Which models there are, and choosing another while the server runs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from long_running_agents.app import App
from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Denied, LraError, NotConfigured, UsageError
from long_running_agents.home import Home
from long_running_agents.models import listing, looking, names, switching, trying
from long_running_agents.models.detection import Found
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.listing import Listed
from long_running_agents.models.names import Name
from long_running_agents.models.trying import Tried
from long_running_agents.server.config_file import ConfigFile
from long_running_agents.store import cards

_FRESH = 15.0
"""Seconds for which it is not looked again which servers are there."""
_PATIENCE = 1.0
"""Seconds that looking may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """What came of choosing a model for all sessions."""

    model: str
    note: str
    """What a person should know."""


class Switching:
    """Knows which model the server asks, and lets it be another."""

    def __init__(self, app: App, clock: Clock, file: ConfigFile) -> None:
        self._app = app
        self._file = file
        self._clock = clock
        self._loaded = app.loaded
        self._found = list[Found]()
        self._looked_at: float | None = None
        self._turn = asyncio.Lock()

    @property
    def loaded(self) -> Loaded:
        """The settings, with the model that is asked now."""
        return self._loaded

    async def listed(self) -> Sequence[Listed]:
        """Every model that can be asked, or could be."""
        async with self._turn:
            await self._look()
        known = await self._app.database.read(cards.every)
        by_name = {(each.endpoint, each.model): each for each in known}
        # Looking into folders takes a moment.
        return await asyncio.to_thread(listing.listed, self._loaded, by_name, self._found)

    async def nameable(self, text: str) -> str:
        """A model's name that may come from outside.

        Raises:
            UsageError: It is no name, or cannot be asked as things are.
            Denied: It brings an address or a path of its own, which only a person here may name.
        """
        parsed = names.parse(text, self._settings)
        own = parsed.provider == names.LOCAL and "/" in parsed.model
        if (parsed.base_url or own) and text not in {each.name for each in await self.listed()}:
            raise Denied(
                "An address or a path of your own cannot be chosen from outside.",
                hint="'lra models use NAME' does it on the server's machine.",
            )
        try:
            self._require(parsed)
        except NotConfigured as error:
            raise UsageError(error.message, hint=error.hint) from error
        return text

    async def try_out(self, text: str) -> Tried:
        """Ask a model for a word, to see whether it answers.

        Raises:
            UsageError: It is no name, or cannot be asked as things are.
            Denied: It brings an address or a path of its own.
        """
        choice = self._app.models.choices(await self.nameable(text))[0]
        tried = await trying.try_out(choice, self._clock)
        redact = self._loaded.redact
        return replace(tried, error=redact(tried.error), hint=redact(tried.hint))

    async def select(self, text: str) -> Switched:
        """Ask another model from the next step on, wherever a session has not chosen its own.

        Raises:
            UsageError: It cannot be asked.
            NotFound: Its server has no such model.
        """
        parsed = names.parse(await self.nameable(text), self._settings)
        note = await switching.check_there(self._loaded, parsed)
        before, changed = self._loaded, switching.values(parsed, self._settings)
        model = switching.applied(self._settings, changed)
        self._app.models.use(model)
        try:
            await self._file.write({switching.SECTION: changed})
        except LraError:
            self._app.models.use(self._settings)
            raise
        self._loaded = _with_model(before, model)
        if (origin := _overriding(before)) and not note:
            note = f"Until the next start: {origin} goes before the file that was written."
        return Switched(model=self._app.models.usual, note=note)

    @property
    def _settings(self) -> names.ModelSettings:
        return self._loaded.settings.agent.model

    def _require(self, name: Name) -> None:
        if name.provider == names.LOCAL and "/" not in name.model:
            Embedded(Home(self._loaded.home).models).ready(name.model)
        names.require(name, self._settings, self._loaded.variables)

    async def _look(self) -> None:
        now = self._clock.monotonic()
        if self._looked_at is not None and now - self._looked_at < _FRESH:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                self._found = await looking.servers(self._settings, idle=True)
        except TimeoutError:
            # What was there before may still be.
            pass
        self._looked_at = self._clock.monotonic()


def _with_model(loaded: Loaded, model: names.ModelSettings) -> Loaded:
    agent = loaded.settings.agent.model_copy(update={"model": model})
    return replace(loaded, settings=loaded.settings.model_copy(update={"agent": agent}))


def _overriding(loaded: Loaded) -> str:
    """Where a value comes from that goes before the config file; empty when from nowhere."""
    for key in ("model_id", "provider", "base_url"):
        origin = loaded.origin(f"{switching.SECTION}.{key}")
        if origin.startswith(("environment", "flag")) or origin.partition(" (")[0].endswith(".env"):
            return origin
    return ""
