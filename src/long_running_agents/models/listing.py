"""Every model that can be asked, or could be, and what it would take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from long_running_agents.config import Loaded
from long_running_agents.domain.card import Card
from long_running_agents.errors import LraError, NotConfigured
from long_running_agents.home import Home
from long_running_agents.models import choosing, names
from long_running_agents.models.detection import Found, FoundModel
from long_running_agents.models.embedded import Embedded

Cards = Mapping[tuple[str, str], Card]
"""What was found out about models before, by server and name."""

_GIGABYTE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One model that can be asked, or could be."""

    name: str
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
    card: Card | None = None
    """What its last examination found."""


def listed(loaded: Loaded, cards: Cards, found: Sequence[Found]) -> list[Listed]:
    """List every model once.

    Args:
        loaded: The settings.
        cards: What is known from before.
        found: The servers that answered on this machine.
    """
    settings = loaded.settings.agent.model
    embedded = Embedded(Home(loaded.home).models)
    here = embedded.installed()
    every = [
        *_set(loaded),
        *(each for server in found for each in _served(server)),
        *(
            Listed(
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
        chosen = choosing.choose(settings, loaded.variables, found=found, embedded=here).name
    except NotConfigured:
        chosen = ""
    return [_with_card(loaded, each, cards) for each in _once(every, chosen)]


def _set(loaded: Loaded) -> list[Listed]:
    """What the settings and the keys name."""
    settings = loaded.settings.agent.model
    first = names.configured_name(settings)
    chosen = [*([first] if first else []), *settings.fallback]
    by_key = [
        usual for provider, usual in names.USUAL.items() if names.key_of(provider, loaded.variables)
    ]
    return [
        *(Listed(name=name, source="settings", note=_lacks(loaded, name)) for name in chosen),
        *(Listed(name=name, source="key", note=_lacks(loaded, name)) for name in by_key),
    ]


def _lacks(loaded: Loaded, text: str) -> str:
    """What a name still needs."""
    settings = loaded.settings.agent.model
    try:
        names.require(names.parse(text, settings), settings, loaded.variables)
    except LraError as error:
        return str(error)
    return ""


def _served(server: Found) -> list[Listed]:
    source = f"{server.kind} at {server.address}"
    if server.loading:
        return [Listed(name="", source=source, note="is still loading its model")]
    return [
        Listed(
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


def _once(every: Sequence[Listed], chosen: str) -> list[Listed]:
    """Each name once, with everything that is known of it."""
    by_name: dict[str, Listed] = {}
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


def _with_card(loaded: Loaded, each: Listed, cards: Cards) -> Listed:
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
