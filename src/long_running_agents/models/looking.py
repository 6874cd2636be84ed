"""Looking around for a model when nobody named one: the edge of the decision in choosing."""

from dataclasses import replace

import httpx2

from long_running_agents.config import Loaded
from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.home import Home
from long_running_agents.models import choosing, detection, names, windows
from long_running_agents.models.choosing import Chosen
from long_running_agents.models.detection import Found
from long_running_agents.models.embedded import Embedded


async def servers(settings: ModelSettings, *, idle: bool = False) -> list[Found]:
    """The servers of this machine that answer.

    Args:
        settings: Say which to look for.
        idle: Whether to ask for the windows of models that are not in memory, too.
    """
    wanted = detection.wanted(settings.probe)
    async with detection.probing_client() as client:
        found = await detection.probe(client, wanted)
        return [await windows.with_idle(client, each) for each in found] if idle else found


async def window(client: httpx2.AsyncClient, loaded: Loaded, model: str) -> int | None:
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
    return await windows.window_at(client, server.base_url, name.model, key)


async def decide(loaded: Loaded) -> Chosen:
    """Find the model to ask: what is set, else a key, else a server here, else an embedded one.

    Raises:
        NotConfigured: There is nothing; the hint says how to get something.
    """
    settings = loaded.settings.agent.model
    if settings.base_url and not settings.model_id:
        return await _only_there(loaded, settings)
    try:
        return choosing.by_settings(settings, loaded.variables)
    except NotConfigured:
        found = await servers(settings)
    embedded = Embedded(Home(loaded.home).models).installed()
    return choosing.choose(settings, loaded.variables, found=found, embedded=embedded)


def settled(loaded: Loaded, chosen: Chosen) -> Loaded:
    """The settings, with a model that was decided on as if it had been set."""
    agent = loaded.settings.agent
    if names.configured_name(agent.model) == chosen.name:
        return loaded
    name = names.parse(chosen.name, agent.model)
    if name.base_url:
        values = {"provider": "", "model_id": name.model, "base_url": name.base_url}
    elif agent.model.base_url:
        # The address is set, and the name is one at that address.
        values = {"model_id": name.model}
    else:
        values = {"provider": "", "model_id": chosen.name}
    changed = agent.model_copy(update={"model": agent.model.model_copy(update=values)})
    return replace(
        loaded,
        settings=loaded.settings.model_copy(update={"agent": changed}),
        origins={**loaded.origins, "agent.model.model_id": chosen.why},
    )


async def at_hand(loaded: Loaded) -> list[str]:
    """Every name that can be asked right now, as far as one can tell without asking."""
    settings = loaded.settings.agent.model
    configured = names.configured_name(settings)
    by_key = [
        usual for provider, usual in names.USUAL.items() if names.key_of(provider, loaded.variables)
    ]
    found = [
        server.full_name(model)
        for server in await servers(settings)
        for model in server.models
        if model.chats
    ]
    embedded = [f"{names.LOCAL}:{each}" for each in Embedded(Home(loaded.home).models).installed()]
    first = [configured] if configured else []
    return list(dict.fromkeys([*first, *settings.fallback, *by_key, *found, *embedded]))


async def _only_there(loaded: Loaded, settings: ModelSettings) -> Chosen:
    """The one model of the server whose address is set, when its name is not."""
    address = loaded.redact(settings.base_url)
    server = names.server_of(names.Name(settings.provider or names.CUSTOM, "?"), settings)
    key = loaded.variables.get(server.key, "") if server else ""
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
    return Chosen(f"{provider}:{there[0]}", f"the only model at {address}")
