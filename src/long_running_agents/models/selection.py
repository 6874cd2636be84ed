"""Which model answers: settings, then keys, then servers found here, then the embedded one."""

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import httpx2

from long_running_agents.config import LoadedSettings
from long_running_agents.config.editor import Value
from long_running_agents.config.settings import ModelSettings
from long_running_agents.domain.model_card import ModelCard
from long_running_agents.errors import ConfigError, LraError, NotConfigured, NotFound, Unreachable
from long_running_agents.home import Home
from long_running_agents.models import detection, names
from long_running_agents.models.detection import FoundModel, FoundServer, KnownServer
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.names import LIBRARY, LOCAL, USUAL, ModelName


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model, and why it is this one."""

    name: str
    why: str
    """Where the choice came from, in a few words."""
    small: bool = False
    """Whether it is one of the embedded models, of which one must not expect much."""


def choose(
    settings: ModelSettings,
    variables: Mapping[str, str],
    *,
    found: Sequence[FoundServer] = (),
    embedded: Sequence[str] = (),
) -> ModelChoice:
    """Decide which model is asked when nobody names one; without servers, as far as is known.

    Raises:
        NotConfigured: There is nothing at all; the hint says how to get something.
    """
    if (name := names.configured_name(settings)) is not None:
        provider, _, model = name.partition(":")
        small = provider == LOCAL and names.own_weights(model) is None
        return ModelChoice(name, "settings", small=small)
    if settings.provider in USUAL:
        return ModelChoice(USUAL[settings.provider], "settings")
    if not settings.provider and (by_key := _by_key(variables)) is not None:
        return by_key
    for server in found:
        if settings.provider not in ("", server.provider):
            continue
        if (model := server.usual()) is not None:
            return ModelChoice(server.full_name(model), f"found {server.kind} at {server.address}")
    if embedded:
        return ModelChoice(f"{LOCAL}:{embedded[0]}", "embedded", small=True)
    raise names.no_model()


def _by_key(variables: Mapping[str, str]) -> ModelChoice | None:
    having = [provider for provider in USUAL if names.key_of(provider, variables)]
    # A provider that can be asked right away goes before one whose package is missing.
    having.sort(key=lambda each: each in LIBRARY and not names.installed(LIBRARY[each][0]))
    return ModelChoice(USUAL[having[0]], f"key of {having[0]}") if having else None


async def servers(
    loaded: LoadedSettings, *, idle: bool = False, patience: float | None = None
) -> list[FoundServer]:
    """The servers of the settings that answer, and those of this machine in so many seconds.

    With `idle`, they are asked for the windows of models that are not in memory, too.
    """
    settings = loaded.settings.agent.model
    named = addresses(settings)
    async with detection.probing_client() as client:

        async def look(known: KnownServer) -> FoundServer | None:
            found = next(iter(await detection.probe(client, [known])), None)
            return await detection.with_idle(client, found) if idle and found else found

        # Those that somebody has named are not left out for being slow.
        wanted = [asyncio.ensure_future(_named(client, loaded, address)) for address in named]
        others = [
            asyncio.ensure_future(look(known))
            for known in detection.wanted(settings.probe)
            if known.base_url not in named
        ]
        tasks = [*wanted, *others]
        if others:
            await asyncio.wait(others, timeout=patience)
        if wanted:
            await asyncio.wait(wanted, timeout=None if patience is None else 4 * patience)
        late = [task for task in tasks if task.cancel()]
        await asyncio.gather(*late, return_exceptions=True)
        found = [task.result() for task in tasks if not task.cancelled()]
        return [each for each in found if each is not None]


def addresses(settings: ModelSettings) -> list[str]:
    """The servers that the settings name."""
    named = [settings.base_url, *settings.servers]
    return list(dict.fromkeys(address.rstrip("/") for address in named if address))


def key_at(loaded: LoadedSettings, address: str) -> str:
    """The key that a server of the settings wants; empty for none."""
    settings = loaded.settings.agent.model
    own = address == settings.base_url.rstrip("/")
    name = ModelName(settings.provider or names.CUSTOM, "?", "" if own else address)
    server = names.server_of(name, settings)
    return loaded.variables.get(server.key, "") if server else ""


async def _named(
    client: httpx2.AsyncClient, loaded: LoadedSettings, address: str
) -> FoundServer | None:
    """The server at an address of the settings, whatever kind it is."""
    settings, key = loaded.settings.agent.model, key_at(loaded, address)
    found = await detection.at(client, address, key)
    if found is None:
        there = await detection.listed(client, address, key)
        if there is None:
            return None
        found = FoundServer("server", "", address, tuple(map(FoundModel, there)))
    own = address == settings.base_url.rstrip("/")
    return replace(found, configured=settings.provider or names.CUSTOM) if own else found


async def window(client: httpx2.AsyncClient, loaded: LoadedSettings, model: str) -> int | None:
    """The context window that a server of one's own says a model has."""
    settings = loaded.settings.agent.model
    try:
        name = names.parse(model, settings)
    except ConfigError:
        # The first turn will say what is wrong with it.
        return None
    server = names.server_of(name, settings)
    if server is None or server.needs_key:
        return None
    key = loaded.variables.get(server.key, "")
    return await detection.window_at(client, server.base_url, name.model, key)


async def listed(
    loaded: LoadedSettings, name: names.ModelName, settings: ModelSettings
) -> list[str] | None:
    """What the server of a model lists; None when it does not answer, and nothing for a provider.

    A provider is not asked: it would be sent a key just to see whether it is there.
    """
    server = names.server_of(name, settings)
    if server is None or server.needs_key or name.provider == names.LOCAL:
        return []
    async with detection.probing_client() as client:
        return await detection.listed(
            client, server.base_url, loaded.model_variables.get(server.key, "")
        )


async def decide(loaded: LoadedSettings) -> ModelChoice:
    """Find the model to ask: what is set, else a key, else a server here, else an embedded one."""
    settings = loaded.settings.agent.model
    if settings.base_url and not names.configured_name(settings):
        return await _only_there(loaded, settings)
    try:
        return choose(settings, loaded.variables)
    except NotConfigured:
        found = await servers(loaded)
    embedded = Embedded(Home(loaded.home).models).installed()
    return choose(settings, loaded.variables, found=found, embedded=embedded)


def settled(loaded: LoadedSettings, chosen: ModelChoice) -> LoadedSettings:
    """The settings, with a model that was decided on as if it had been set."""
    agent = loaded.settings.agent
    if names.configured_name(agent.model) == chosen.name:
        return loaded
    model = agent.model.model_copy(update={"selected": chosen.name})
    changed = agent.model_copy(update={"model": model})
    return replace(
        loaded,
        settings=loaded.settings.model_copy(update={"agent": changed}),
        origins={**loaded.origins, "agent.model.selected": chosen.why},
    )


async def at_hand(loaded: LoadedSettings) -> list[str]:
    """Every name that can be asked right now, as far as one can tell without asking."""
    named, by_key = _set(loaded)
    found = [
        server.full_name(model)
        for server in await servers(loaded)
        for model in server.models
        if model.chats
    ]
    embedded = [f"{names.LOCAL}:{each}" for each in Embedded(Home(loaded.home).models).installed()]
    return list(dict.fromkeys([*named, *by_key, *found, *embedded]))


async def _only_there(loaded: LoadedSettings, settings: ModelSettings) -> ModelChoice:
    """The one model of the server whose address is set, when its name is not."""
    address = loaded.redact(settings.base_url)
    key = key_at(loaded, settings.base_url.rstrip("/"))
    async with detection.probing_client() as client:
        there = await detection.listed(client, settings.base_url, key)
    where = f"agent.model.base_url (AGENT_MODEL_URL) says {address}"
    if there is None:
        raise NotConfigured(
            f"{where}, and nobody answers there.",
            hint=f"Start that server, or unset the address. {names.CHOOSE}",
        )
    if len(there) != 1:
        has = f"has {', '.join(there[:10])}" if there else "lists no model"
        raise NotConfigured(
            f"{where}, which {has}, and agent.model.model_id (AGENT_MODEL) is not set.",
            hint=f"lra models use '{address}#{there[0] if there else 'MODEL'}'",
        )
    provider = settings.provider or names.CUSTOM
    return ModelChoice(f"{provider}:{there[0]}", f"the only model at {address}")


Cards = Mapping[tuple[str, str], ModelCard]
"""What was found out about models before, by server and name."""

_GIGABYTE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """One model that can be asked, or could be."""

    name: str
    """What it is chosen by, as provider:model."""
    source: str
    """Settings, a key, the server it was found at, or embedded."""
    chosen: bool = False
    """Whether it answers when no model is named."""
    context_window: int | None = None
    """Tokens it reads at once, where the server says it."""
    note: str = ""
    """What is special about it, or what it lacks."""
    size: int | None = None
    """Bytes of an embedded model's weights."""
    licence: str = ""
    """Terms of an embedded model's weights."""
    installed: bool = True
    """False for an embedded model whose weights are not here."""
    card: ModelCard | None = None
    """What its last examination found."""


def listed_everywhere(
    loaded: LoadedSettings, cards: Cards, found: Sequence[FoundServer]
) -> list[ListedModel]:
    """List every model once."""
    settings = loaded.settings.agent.model
    embedded = Embedded(Home(loaded.home).models)
    here = embedded.installed()
    every = [
        *(
            ListedModel(name=name, source=source, note=_lacks(loaded, name))
            for source, each in zip(("settings", "key"), _set(loaded), strict=True)
            for name in each
        ),
        *(each for server in found for each in _served(server)),
        *(
            ListedModel(
                name=f"{names.LOCAL}:{name}",
                source="embedded",
                note=f"{_size(each.size)}, {each.licence}"
                + ("" if name in here else f", not here yet: lra models pull {name}"),
                size=each.size,
                licence=each.licence,
                installed=name in here,
            )
            for name, each in embedded.catalog().items()
        ),
    ]
    try:
        chosen = choose(settings, loaded.variables, found=found, embedded=here).name
    except NotConfigured:
        chosen = ""
    return [_with_card(loaded, each, cards) for each in _once(every, chosen)]


def _set(loaded: LoadedSettings) -> tuple[list[str], list[str]]:
    """What the settings and the keys name."""
    settings = loaded.settings.agent.model
    first = [names.configured_name(settings), names.own_name(settings)]
    by_key = [
        usual for provider, usual in names.USUAL.items() if names.key_of(provider, loaded.variables)
    ]
    return list(dict.fromkeys([*filter(None, first), *settings.fallback])), by_key


def _lacks(loaded: LoadedSettings, text: str) -> str:
    """What a name still needs."""
    settings = loaded.settings.agent.model
    try:
        names.require(names.parse(text, settings), settings, loaded.variables)
    except LraError as error:
        return str(error)
    return ""


def _served(server: FoundServer) -> list[ListedModel]:
    source = f"{server.kind} at {server.address}"
    if server.loading:
        return [ListedModel(name="", source=source, note="is still loading its model")]
    return [
        ListedModel(
            name=server.full_name(model),
            source=source,
            context_window=model.context_window,
            note=_state(model),
        )
        for model in server.models
    ]


def _state(model: FoundModel) -> str:
    if not model.chats:
        return "for embeddings"
    if model.assumed:
        return "not loaded; the window is the usual one"
    return "loaded" if model.loaded else ""


def _once(every: Sequence[ListedModel], chosen: str) -> list[ListedModel]:
    """Each name once, with everything that is known of it."""
    by_name: dict[str, ListedModel] = {}
    for each in every:
        known = by_name.get(each.name)
        if known is None:
            by_name[each.name] = replace(each, chosen=bool(each.name) and each.name == chosen)
        else:
            by_name[each.name] = replace(
                each,
                chosen=known.chosen,
                source=f"{known.source}, {each.source}",
                note=each.note or known.note,
            )
    return list(by_name.values())


def _with_card(loaded: LoadedSettings, each: ListedModel, cards: Cards) -> ListedModel:
    settings = loaded.settings.agent.model
    try:
        name = names.parse(each.name, settings)
    except LraError:
        return each
    card = cards.get((loaded.redact(names.endpoint_of(name, settings)), name.model))
    if card is None:
        return each
    found = f"tools: {card.tools}, checked {card.checked_at.astimezone():%Y-%m-%d %H:%M}"
    return replace(
        each,
        card=card,
        context_window=each.context_window or card.context_window,
        note=f"{each.note}; {found}" if each.note else found,
    )


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= _GIGABYTE else f"{count / 1e6:.0f} MB"


SECTION = "agent.model"
"""The settings that say which model answers."""

_CONFIGURED = ("provider", "model_id", "base_url")
_SHOWN = 10


async def check_there(loaded: LoadedSettings, name: ModelName) -> str:
    """See whether a server of one's own answers, and has the model.

    Returns:
        What a person should know; empty when there is nothing.

    Raises:
        Unreachable: Nobody answers there, or not without another key.
        NotFound: The server is there, and has no such model.
    """
    server = names.server_of(name, loaded.settings.agent.model)
    if server is None or server.needs_key:
        return ""
    trial = await detection.try_server(server.base_url, loaded.variables.get(server.key, ""))
    if trial.refused:
        raise Unreachable(loaded.redact(trial.message), hint=trial.hint)
    return check_listed(name.model, trial)


def check_listed(model: str, trial: detection.ServerTrial) -> str:
    """See whether a server that answers has a model."""
    there = trial.models
    if not trial.ok:
        return f"{trial.message} Whether it has {model} is not known."
    if there and not {model, f"{model}:latest"} & set(there):
        near = difflib.get_close_matches(model, there, n=1)
        has = f"Did you mean {near[0]}?" if near else f"It has {', '.join(there[:_SHOWN])}."
        raise NotFound(f"The server at {trial.base_url} has no model {model!r}.", hint=has)
    return ""


async def added(
    loaded: LoadedSettings, address: str, key: str | None, model: str
) -> tuple[dict[str, Value], dict[str, str | None]]:
    """See whether a server answers, and what remembers it: values of the section, and variables.

    Raises:
        Unreachable: It does not answer, or not with a list of models.
        NotFound: It has no such model.
    """
    settings = loaded.settings.agent.model
    trial = await detection.found(address, key or key_at(loaded, address.rstrip("/")))
    if not trial.ok:
        raise Unreachable(loaded.redact(trial.message), hint=trial.hint)
    name = ModelName(names.CUSTOM, model.removeprefix(f"{trial.base_url}#"), trial.base_url)
    if model:
        check_listed(name.model, trial)
    server = names.server_of(name, settings)
    secrets: dict[str, str | None] = {server.key: key} if server and key else {}
    return values(name, settings) if model else remembered(trial.base_url, settings), secrets


def values(name: ModelName, settings: ModelSettings) -> dict[str, Value]:
    """What the section of the settings says of this model; None takes a value away.

    A server that is set stays set: any other model is only selected beside it.
    """
    own = settings.base_url.rstrip("/")
    if own and (
        name.base_url == own
        if name.base_url
        else name.provider in (names.CUSTOM, settings.provider)
    ):
        return {"model_id": name.model, "selected": None}
    if own or settings.provider:
        chosen: dict[str, Value] = {"selected": str(name)}
    else:
        chosen = {"model_id": str(name), "selected": None}
    return chosen | (remembered(name.base_url, settings) if name.base_url else {})


def remembered(base_url: str, settings: ModelSettings) -> dict[str, Value]:
    """What the section says when a server is among those of the settings."""
    if base_url in (settings.base_url.rstrip("/"), *settings.servers):
        return {}
    return {"servers": [*settings.servers, base_url]}


def applied(settings: ModelSettings, changed: Mapping[str, Value]) -> ModelSettings:
    """The settings with these values."""
    update = {
        key: tuple(value) if isinstance(value, list) else value or ""
        for key, value in changed.items()
    }
    return settings.model_copy(update=update)


def overriding(loaded: LoadedSettings, changed: Mapping[str, Value]) -> str:
    """Where a value comes from that goes before the config file; empty when from nowhere."""
    for key in ("selected", *(_CONFIGURED if changed.get("selected") else changed)):
        origin = loaded.origin(f"{SECTION}.{key}")
        if origin.startswith(("environment", "flag")) or origin.partition(" (")[0].endswith(".env"):
            return origin
    return ""
