"""Which model answers: settings, then keys, then servers found here, then the embedded one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from long_running_agents.config.settings import ModelSettings
from long_running_agents.models import names
from long_running_agents.models.detection import Found
from long_running_agents.models.names import LIBRARY, LOCAL, USUAL


@dataclass(frozen=True, slots=True)
class Chosen:
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
    found: Sequence[Found] = (),
    embedded: Sequence[str] = (),
) -> Chosen:
    """Decide which model is asked when nobody names one.

    Args:
        settings: What a person has set.
        variables: The environment, where keys are.
        found: Servers that answered on this machine.
        embedded: The embedded models whose weights are here, the preferred one first.

    Raises:
        NotConfigured: There is nothing at all; the hint says how to get something.
    """
    if (name := names.configured_name(settings)) is not None:
        provider, _, model = name.partition(":")
        small = provider == LOCAL and names.own_weights(model) is None
        return Chosen(name, "settings", small=small)
    if settings.provider in USUAL:
        return Chosen(USUAL[settings.provider], "settings")
    if not settings.provider and (by_key := _by_key(variables)) is not None:
        return by_key
    for server in found:
        if settings.provider not in ("", server.provider):
            continue
        if (model := server.usual()) is not None:
            return Chosen(server.full_name(model), f"found {server.kind} at {server.address}")
    if embedded:
        return Chosen(f"{LOCAL}:{embedded[0]}", "embedded", small=True)
    raise names.no_model()


def by_settings(settings: ModelSettings, variables: Mapping[str, str]) -> Chosen:
    """Decide by what is known without looking around.

    Raises:
        NotConfigured: Neither a setting nor a key says anything.
    """
    return choose(settings, variables)


def _by_key(variables: Mapping[str, str]) -> Chosen | None:
    having = [provider for provider in USUAL if names.key_of(provider, variables)]
    # A provider that can be asked right away goes before one whose package is missing.
    having.sort(key=lambda each: each in LIBRARY and not names.installed(LIBRARY[each][0]))
    return Chosen(USUAL[having[0]], f"key of {having[0]}") if having else None
