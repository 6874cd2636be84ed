"""Agents as data: a spec with immutable versions, and what of it holds below other agents."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from math import ceil
from statistics import median
from typing import Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.chain import Chain
from long_running_agents.domain.session import MINE
from long_running_agents.errors import UsageError

DEEPEST = 3
"""How far agents may hand work on below a turn, unless a spec says less."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


_HELPERS = frozenset({"read_result", "search_tools"})
"""Tools that only show what another tool has found."""


class AgentStage(StrEnum):
    """Where a version of an agent stands."""

    DRAFT = "draft"
    PUBLISHED = "published"
    """The one version of its agent that is used."""
    RETIRED = "retired"


class WorkspaceMode(StrEnum):
    """What an agent may do with the workspace."""

    SHARED = "shared"
    OWN = "own"
    """It has a folder of its own in it, and sees nothing else."""
    READ_ONLY = "read_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """How a model is asked; what is unset is as the settings say."""

    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """Which tools an agent may use, of those that its owner's settings allow."""

    allow: tuple[str, ...] | None = None
    """None for the usual ones."""
    deny: tuple[str, ...] = ()

    def permits(self, tool: str) -> bool:
        """Whether a tool is among them."""
        named = self.allow is None or tool in self.allow or tool in _HELPERS
        return named and tool not in self.deny


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolicy:
    """What an agent may do less than its owner's settings allow."""

    approvals: tuple[str, ...] = ()
    """Tools that run only after a person agreed."""
    workspace: WorkspaceMode = WorkspaceMode.SHARED
    network: tuple[str, ...] | None = None
    """Hosts that its tools may reach, with ``*``; None for those of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDraft:
    """What an agent is, before it has a version."""

    name: str
    description: str = ""
    """What it is for: people and the router read it."""
    instructions: str = ""
    """What its model is told first."""
    capabilities: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Sentences of people that are for it."""
    model: str | None = None
    """The model it asks; the session's unless given."""
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    tools: ToolChoice = field(default_factory=ToolChoice)
    policy: AgentPolicy = field(default_factory=AgentPolicy)
    budget: Limits = field(default_factory=Limits)
    """What one of its turns may use, delegates included."""
    memory: Literal["shared", "none"] = "shared"
    """Whether it recalls and writes memories."""
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    """What its answer has to be, as a JSON schema; any text when unset."""
    max_chain_depth: int = DEEPEST
    """How far it may hand work on; 0 for not at all."""
    chain: Chain | None = None
    """The agents that do its work one after another, instead of a model."""
    color: str = ""
    icon: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What an imported file said beside; it comes out again on export."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"Agent name {self.name!r} not accepted:",
                hint="use up to 64 letters, digits, '_' or '-', a letter or digit first.",
            )
        if self.max_chain_depth < 0:
            raise UsageError("max_chain_depth is below 0.", hint="Use 0 for no delegation.")

    @property
    def digest(self) -> str:
        """What names its content: the same content has the same."""
        kept = json.dumps(content(self), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(kept.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec(AgentDraft):
    """One version of an agent, which never changes."""

    version: int
    stage: AgentStage
    origin: str = "person"
    """Who made it: person, built-in, import:FILE, or agent:NAME."""
    warnings: tuple[str, ...] = ()
    """What was left out when it was imported."""
    created_at: datetime
    owner: str = MINE

    @property
    def label(self) -> str:
        """What a turn records."""
        return f"{self.name}@{self.version}"


_DRAFT = TypeAdapter(AgentDraft)
_CONTENT = [each.name for each in fields(AgentDraft)]


def content(draft: AgentDraft) -> dict[str, Any]:
    """What a draft says, as JSON; what is as usual is left out, so new fields change no digest."""
    told = cast("dict[str, Any]", _DRAFT.dump_python(AgentDraft(**said_by(draft)), mode="json"))
    usual = cast("dict[str, Any]", _DRAFT.dump_python(AgentDraft(name=draft.name), mode="json"))
    return {key: value for key, value in told.items() if key == "name" or value != usual[key]}


def said_by(draft: AgentDraft) -> dict[str, Any]:
    """What a draft or a version says, field by field."""
    return {name: getattr(draft, name) for name in _CONTENT}


def as_draft(said: Mapping[str, Any]) -> AgentDraft:
    """Read a draft that somebody wrote.

    Raises:
        UsageError: It is none.
    """
    if unknown := [key for key in said if key not in _CONTENT]:
        raise UsageError(f"An agent has no {unknown[0]!r}.", hint=f"It has: {', '.join(_CONTENT)}.")
    try:
        draft = _DRAFT.validate_python(said)
        json.dumps(content(draft), allow_nan=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the agent"
        raise UsageError(
            f"{where}: {first['msg']}.", hint="See docs/how-to/make-agents.md."
        ) from None
    except ValueError:
        raise UsageError(
            "An agent's numbers are finite.", hint="Leave out what has none."
        ) from None
    return draft


def label_parts(label: str) -> tuple[str, int | None]:
    """The name and the version of `researcher@3`; a name alone means the published one."""
    name, _, version = label.partition("@")
    if version and not version.isdecimal():
        raise UsageError(f"{label!r} names no version.", hint="Write NAME or NAME@3.")
    return name, int(version) if version else None


HARMLESS = frozenset(
    {"create_task", "update_task_status", "manage_tasks", "delegate", "delegate_research_task"}
)
"""Tools that write nothing but rows of ours: an agent that may only read has them, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBounds:
    """What holds for a turn by its own agent and by all above it: always the least."""

    tools: tuple[ToolChoice, ...] = ()
    approvals: frozenset[str] = frozenset()
    networks: tuple[tuple[str, ...], ...] = ()
    """Of each agent that is bound to some hosts; all of them hold."""
    read_only: bool = False
    folder: str = ""
    """The folder of the workspace that is all they have; empty for the whole."""
    memory: bool = True

    def permits(self, tool: str) -> bool:
        """Whether each of the agents may use a tool."""
        return all(each.permits(tool) for each in self.tools)


def bounds_of(lineage: Sequence[AgentDraft]) -> AgentBounds:
    """What agents allow that work for each other."""
    own = [each.name for each in lineage if each.policy.workspace is WorkspaceMode.OWN]
    return AgentBounds(
        folder=own[0] if own else "",
        tools=tuple(each.tools for each in lineage if each.tools != ToolChoice()),
        approvals=frozenset(tool for each in lineage for tool in each.policy.approvals),
        networks=tuple(each.policy.network for each in lineage if each.policy.network is not None),
        read_only=any(each.policy.workspace is WorkspaceMode.READ_ONLY for each in lineage),
        memory=all(each.memory != "none" for each in lineage),
    )


def least(one: Limits, other: Limits) -> Limits:
    """What both of two budgets allow."""

    def lower(name: str) -> Any:
        given = [value for each in (one, other) if (value := getattr(each, name)) is not None]
        return min(given, default=None)

    return Limits(**{each.name: lower(each.name) for each in fields(Limits)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStats:
    """How one version of an agent has done."""

    agent: str
    """name@version."""
    turns: int
    done: int
    refuted: int = 0
    """Tasks whose evidence was refuted in its turns."""
    tokens: int = 0
    cost: Decimal = Decimal(0)
    p50_seconds: float = 0.0
    p95_seconds: float = 0.0
    errors: tuple[str, ...] = ()
    """The last ones."""
    anomalies: tuple[str, ...] = ()
    """What of its last turn is far outside what its turns before took."""


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What a turn took."""

    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something of a turn that is far outside what turns of its agent take."""

    what: Literal["tokens", "seconds"]
    value: float
    usual: float

    def __str__(self) -> str:
        return f"{self.value:,.0f} {self.what} instead of about {self.usual:,.0f}"


LOOKED_BACK = 50
"""Turns of a version by which the next is judged."""
_FEWEST = 8
_FAR = 3
_STEADY = 0.1
"""The least that counts as usual variation: the same work never takes exactly the same."""


def unusual(last: TurnCost, before: Sequence[TurnCost]) -> tuple[Anomaly, ...]:
    """What of a turn is farther from the median of those before than three times their MAD."""
    if len(before) < _FEWEST:
        return ()
    parts: tuple[Literal["tokens", "seconds"], ...] = ("tokens", "seconds")
    found: list[Anomaly] = []
    for what in parts:
        value = float(getattr(last, what))
        known = [float(getattr(each, what)) for each in before[:LOOKED_BACK]]
        usual = median(known)
        spread = max(median(abs(each - usual) for each in known), usual * _STEADY)
        if abs(value - usual) > _FAR * spread:
            found.append(Anomaly(what, value, usual))
    return tuple(found)


def anomalies(last: TurnCost, before: Sequence[TurnCost]) -> tuple[str, ...]:
    """The same, in words."""
    return tuple(map(str, unusual(last, before)))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of some values does not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else 0.0
