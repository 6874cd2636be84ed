"""Model names: the agent's own, and those of models that may be asked for one turn."""

from collections.abc import Sequence

from long_running_agents.config import Loaded
from long_running_agents.domain.token import Caller, Scope
from long_running_agents.errors import ConfigError, NotConfigured, NotFound
from long_running_agents.models import names

ALWAYS = "lra"
"""A name that the agent has in every home."""


def agent_names(loaded: Loaded) -> list[str]:
    """What the agent itself is called."""
    return list(dict.fromkeys([loaded.settings.agent.name, ALWAYS]))


def model_names(loaded: Loaded) -> list[str]:
    """The models that anybody may ask for: those of the settings."""
    chosen = loaded.settings.agent.model
    known = [names.configured_name(chosen), *chosen.fallback]
    return list(dict.fromkeys(name for name in known if name))


def listed(loaded: Loaded) -> Sequence[str]:
    """Every name that a client is shown."""
    return list(dict.fromkeys([*agent_names(loaded), *model_names(loaded)]))


def model_for(asked: str, loaded: Loaded, caller: Caller) -> str | None:
    """The model to ask for a turn; None for the session's own.

    Whoever may change the settings may name any model: it says where a conversation is sent.

    Raises:
        NotFound: There is no model of this name, or not for this caller.
    """
    if asked in agent_names(loaded):
        return None
    if asked in model_names(loaded):
        return asked
    if caller.may(Scope.ADMIN) and (":" in asked or "#" in asked):
        try:
            names.require(
                names.parse(asked, loaded.settings.agent.model),
                loaded.settings.agent.model,
                loaded.variables,
            )
        except (ConfigError, NotConfigured) as error:
            raise NotFound(f"The model {asked!r} cannot be asked: {error}") from error
        return asked
    raise NotFound(f"There is no model {asked!r}.", hint=f"Ask for {', '.join(listed(loaded))}.")
