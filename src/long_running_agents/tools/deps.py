"""What a tool can touch in a turn, and what a tool declares of itself: its metadata."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema
from typing_extensions import override

from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.policy import Allow, Decision
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.domain.tool import Claim, Effect, GatedCall, Power
from long_running_agents.domain.turn import Turn
from long_running_agents.memory.service import MemoryService
from long_running_agents.sandbox.manager import SessionSandboxes
from long_running_agents.skills.library import SkillLibrary
from long_running_agents.store.database import Database
from long_running_agents.workspace.workspace import Workspace

if TYPE_CHECKING:
    from long_running_agents.web.web import Web


class Tell(Protocol):
    """Says that a result holds words from somewhere outside, and from where, before it is told."""

    async def __call__(self, source: str, call_id: str = "", /) -> None:
        """Say so; with the call whose result it is, it is known which words are meant."""
        ...


Consent = Callable[[str, str], Awaitable[bool]]
"""Has a person agree to what a call, by its id, turned out to need; not, if nobody is there."""


Permits = Callable[[GatedCall], Awaitable[Decision]]
"""Decides whether something may be done that no call of the model asks for."""
Judge = Callable[[str, str], Awaitable[tuple[bool, str]]]
"""Whether a sentence holds, by what the ledger shows, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegateRequest:
    """What a delegate is to do."""

    agent: str
    tasks: Sequence[str]
    """One delegate for each."""
    input: Any = None
    """Data for it, as its input schema says."""
    max_parallel: int = 4
    background: bool = False
    """Whether nobody waits for it."""


Delegate = Callable[[str, DelegateRequest], Awaitable[str | None]]
"""Begins delegates for a call, by its id; gives what came of them, or None while they work."""


async def _allowed(_: GatedCall) -> Decision:
    """Nothing speaks against it."""
    return Allow()


async def _nobody(_: str, __: str = "") -> None:
    """Nobody has to know."""


async def _never(_: str, __: str) -> bool:
    """Nobody is there."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDeps:
    """Everything a tool can touch, on one screen."""

    turn: Turn
    clock: Clock
    database: Database
    announce: Callable[[Sequence[EventEnvelope]], None]
    """Publish events that a tool has stored."""
    owner: str = MINE
    agent: str = "lra"
    """What the agent is called."""
    memories: MemoryService | None = None
    """What is remembered; None when that is switched off."""
    workspace: Workspace | None = None
    """The agent's folder, and no way out of it."""
    folder: Workspace | None = None
    """The agent's own in the home; often the workspace, too."""
    sandboxes: SessionSandboxes | None = None
    """Where code runs."""
    web: "Callable[[], Web] | None" = None
    """Gives the web: its modules are loaded when it is asked for."""
    skills: SkillLibrary | None = None
    """Tools that were made; None when that is switched off."""
    trusted: bool = True
    """Whether files of which nothing is known are the user's own words."""
    taint: Tell = _nobody
    consent: Consent = _never
    permits: Permits = _allowed
    judge: Judge | None = None
    """Who judges what cannot be checked; None when nobody does."""
    delegate: Delegate | None = None
    """Hands work to other agents; None where that may not be."""
    looking: bool = False
    """Whether it is only looked what would be offered: then nothing is called, begun or kept."""


class MakeDeps(Protocol):
    """Gives a turn what its tools can touch."""

    def __call__(self, turn: Turn, taint: Tell, consent: Consent, folder: str = "", /) -> TurnDeps:
        """With a folder, its agent has no more of the workspace than that."""
        ...


def preview_deps(make: MakeDeps, turn: Turn) -> TurnDeps:
    """What tools are told when it is only looked which of them would be offered."""
    return replace(make(turn, _nobody, _never), looking=True)


_KEY = "effect"
_ALIAS = "alias"
_POWERS = "powers"
_FOREIGN = "foreign"
_UNLESS = "once_unless"
_SERVER = "server"
_CLAIM = "claim"
CLIENT = {"client": True}
"""Metadata for a tool that the client brought and runs itself."""


def effect(
    kind: Effect,
    *,
    alias: str = "",
    powers: Iterable[Power] = (),
    foreign: bool = False,
    once_unless: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Metadata for a tool: ``@tools.tool(metadata=effect(Effect.READ))``.

    Args:
        kind: What running it again would do.
        alias: The tool that it is another name of: it can be called, and is not offered beside it.
        powers: What else it can do.
        foreign: Whether its results are somebody else's words, such as a page's.
        once_unless: Arguments and their values; a call that gives another value to one of them is
            ONCE, whatever the kind.
    """
    said: dict[str, Any] = {_KEY: kind}
    if alias:
        said[_ALIAS] = alias
    if powers := frozenset(powers):
        said[_POWERS] = powers
    if foreign:
        said[_FOREIGN] = True
    if once_unless:
        said[_UNLESS] = dict(once_unless)
    return said


def hearsay(server: str, claim: Claim | None) -> dict[str, Any]:
    """Metadata for a tool of a foreign server, which declares nothing that would be believed."""
    return {_SERVER: server, _CLAIM: claim}


def _declared(tool: ToolDefinition | None) -> dict[str, Any]:
    return (tool.metadata or {}) if tool is not None else {}


def server_of(tool: ToolDefinition | None) -> str:
    """The foreign server whose tool it is; empty for others."""
    return _declared(tool).get(_SERVER, "")


def claim_of(tool: ToolDefinition | None) -> Claim | None:
    """What a foreign server says of a tool."""
    return _declared(tool).get(_CLAIM)


def code_powers(*, network: bool) -> frozenset[Power]:
    """What a tool can do that runs code, since nobody knows what the code does."""
    usual = frozenset({Power.EXECUTE, Power.CHANGE})
    return usual | {Power.SEND} if network else usual


def powers_of(tool: ToolDefinition | None) -> frozenset[Power]:
    """What a tool declared that it can do; everything when it declared nothing of itself."""
    said = _declared(tool)
    if _KEY not in said:
        return frozenset(Power)
    return said.get(_POWERS, frozenset())


def is_foreign(tool: ToolDefinition | None) -> bool:
    """Whether a tool's results are somebody else's words; a tool of which nobody knows says so."""
    said = _declared(tool)
    return bool(said.get(_FOREIGN, _KEY not in said))


def is_clients(tool: ToolDefinition) -> bool:
    """Whether the client brought a tool."""
    return bool(_declared(tool).get("client"))


def alias_of(tool: ToolDefinition) -> str | None:
    """The tool that a tool is another name of."""
    return _declared(tool).get(_ALIAS)


def effect_of(tool: ToolDefinition | None, args: Mapping[str, Any] | None = None) -> Effect:
    """What a tool declared; ONCE when it declared nothing, because that is never wrong.

    Args:
        tool: The tool.
        args: What it is called with; without them, the most careful of its effects.
    """
    said = _declared(tool)
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


_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class DefinedToolset(AbstractToolset[TurnDeps]):
    """Tools that are known by their definitions; whoever runs a call checks its arguments."""

    name: ClassVar[str]

    @property
    @override
    def id(self) -> str:
        return self.name

    def offered(
        self, definitions: Iterable[ToolDefinition], retries: int
    ) -> dict[str, ToolsetTool[TurnDeps]]:
        """The tools of these definitions, by name."""
        return {
            each.name: ToolsetTool(
                toolset=self, tool_def=each, max_retries=retries, args_validator=_ARGUMENTS
            )
            for each in definitions
        }
