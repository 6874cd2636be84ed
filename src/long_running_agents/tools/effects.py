"""What a tool says of itself: what running it again would do, what it can do, whom it quotes."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.tool import Effect, Power

_KEY = "effect"
_ALIAS = "alias"
_POWERS = "powers"
_FOREIGN = "foreign"
_UNLESS = "once_unless"


def effect(
    kind: Effect,
    *,
    alias: bool = False,
    powers: Iterable[Power] = (),
    foreign: bool = False,
    once_unless: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Metadata for a tool: ``@tools.tool(metadata=effect(Effect.READ))``.

    Args:
        kind: What running it again would do.
        alias: Whether it is another name for a tool that there is already.
        powers: What else it can do.
        foreign: Whether its results are somebody else's words, such as a page's.
        once_unless: Arguments and their values; a call that gives another value to one of them is
            ONCE, whatever the kind.
    """
    said: dict[str, Any] = {_KEY: kind}
    if alias:
        said[_ALIAS] = True
    if powers := frozenset(powers):
        said[_POWERS] = powers
    if foreign:
        said[_FOREIGN] = True
    if once_unless:
        said[_UNLESS] = dict(once_unless)
    return said


def code_powers(*, network: bool) -> frozenset[Power]:
    """What a tool can do that runs code, since nobody knows what the code does.

    Args:
        network: Whether code in a sandbox can reach anybody.
    """
    usual = frozenset({Power.EXECUTE, Power.CHANGE})
    return usual | {Power.SEND} if network else usual


def powers_of(tool: ToolDefinition | None) -> frozenset[Power]:
    """What a tool declared that it can do; everything when it declared nothing of itself."""
    said = tool.metadata or {} if tool is not None else {}
    if _KEY not in said:
        return frozenset(Power)
    return said.get(_POWERS, frozenset())


def is_foreign(tool: ToolDefinition | None) -> bool:
    """Whether a tool's results are somebody else's words; a tool of which nobody knows says so."""
    said = tool.metadata or {} if tool is not None else {}
    return bool(said.get(_FOREIGN, _KEY not in said))


def is_alias(tool: ToolDefinition) -> bool:
    """Whether a tool is another name for one that there is already."""
    return bool((tool.metadata or {}).get(_ALIAS))


def effect_of(tool: ToolDefinition | None, args: Mapping[str, Any] | None = None) -> Effect:
    """What a tool declared; ONCE when it declared nothing, because that is never wrong.

    Args:
        tool: The tool.
        args: What it is called with; without them, the most careful of its effects.
    """
    said = tool.metadata or {} if tool is not None else {}
    if _KEY not in said:
        return Effect.ONCE
    unless: Mapping[str, str] = said.get(_UNLESS, {})
    # An argument that is not given has its default, which is the harmless value.
    harmless = (
        not unless
        if args is None
        else all(args.get(name, value) == value for name, value in unless.items())
    )
    return Effect(said[_KEY]) if harmless else Effect.ONCE
