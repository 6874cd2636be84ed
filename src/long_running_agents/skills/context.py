"""The context of skills: the index of those in use, and everything they are made and used with."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from long_running_agents.config import LoadedSettings
from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import SkillKind, Version
from long_running_agents.domain.text import WordIndex, about
from long_running_agents.mcp import base
from long_running_agents.mcp.servers import McpServers
from long_running_agents.sandbox.manager import SessionSandboxes
from long_running_agents.skills.trial import Trials
from long_running_agents.store import skills
from long_running_agents.store.database import Database
from long_running_agents.workspace.workspace import Workspace


class SkillIndex:
    """The skills in use, with an index of their words."""

    def __init__(self, versions: Sequence[Version] = ()) -> None:
        self.versions = versions
        self._by_name = {each.name: each for each in versions}
        interfaces = {each.name: each.interface for each in versions}
        self._index = WordIndex(
            {name: about(each.description, each.parameters) for name, each in interfaces.items()}
        )

    def get(self, name: str) -> Version | None:
        """A skill in use."""
        return self._by_name.get(name)

    def of(self, kind: SkillKind) -> list[Version]:
        """Those of a kind, by name."""
        return [version for version in self.versions if version.kind is kind]

    def search(self, query: str, limit: int) -> list[Version]:
        """The skills that fit some words best."""
        scores = self._index.scores(query)
        best = sorted(scores, key=lambda name: (-scores[name], name))
        return [self._by_name[name] for name in best[:limit]]


def offered(
    index: SkillIndex,
    query: str,
    *,
    most: int,
    first: Iterable[str] = (),
) -> list[Version]:
    """The functions to offer: all while they are few, else the first and those that fit."""
    functions = index.of(SkillKind.FUNCTION)
    if len(functions) <= most:
        return functions
    known = {version.name: version for version in functions}
    chosen = [name for name in dict.fromkeys(first) if name in known]
    fitting = [each.name for each in index.search(query, most) if each.name in known]
    names = dict.fromkeys([*chosen, *fitting])
    return [known[name] for name in names][: max(most, len(chosen))]


def new_here(versions: Iterable[Version], session_id: str) -> list[str]:
    """The names of those that were made in a session, the newest first."""
    made = [each for each in versions if each.brought.session_id == session_id]
    return [each.name for each in sorted(made, key=lambda each: each.created_at, reverse=True)]


class Place(Protocol):
    """Where an owner's agent works."""

    @property
    def folder(self) -> Workspace:
        """The agent's own folder in the home, where its skills lie."""
        ...

    @property
    def sandboxes(self) -> SessionSandboxes:
        """Where its code runs."""
        ...


class SkillIndexes:
    """The skills in use, by owner, as long as nothing has changed."""

    def __init__(self, database: Database, reserved: frozenset[str] = frozenset()) -> None:
        self._database = database
        # A reserved name may have come with an upgrade, after a skill of that name was approved:
        # then the skill rests.
        self._reserved = reserved
        self._indexes: dict[str, SkillIndex] = {}

    async def of(self, owner: str) -> SkillIndex:
        """An owner's skills in use."""
        index = self._indexes.get(owner)
        if index is None:
            found = await self._database.read(lambda tx: skills.in_use(tx, owner))
            index = SkillIndex([each for each in found if each.name not in self._reserved])
            self._indexes[owner] = index
        return index

    def changed(self, owner: str) -> None:
        """Look again the next time."""
        self._indexes.pop(owner, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillContext:
    """Everything that the skills of all owners need."""

    database: Database
    clock: Clock
    settings: SkillSettings
    redact: Redactor
    trials: Trials
    reserved: frozenset[str]
    """The names of tools that are no skills."""
    prefixes: tuple[str, ...] = ()
    """What the names of foreign tools begin with."""
    allow: Collection[str] | None = None
    """The names of the tools that may run; all unless given."""
    place: Callable[[str], Place]
    """Where an owner's agent works."""
    announce: Callable[[Sequence[EventEnvelope]], None]
    """Publishes what was written."""
    indexes: SkillIndexes
    fingerprints: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    """What sources look like beneath their names, by digest."""

    def allows(self, name: str) -> bool:
        """Whether a skill of that name can be a tool, once it is in use."""
        named = self.allow is None or name in self.allow
        return named and not name.startswith(self.prefixes)


def skill_context_of(
    loaded: LoadedSettings,
    database: Database,
    clock: Clock,
    sandboxes: SessionSandboxes,
    *,
    servers: McpServers,
    reserved: frozenset[str],
    place: Callable[[str], Place],
    announce: Callable[[Sequence[EventEnvelope]], None],
) -> SkillContext:
    """The context of the skills of a home."""
    return SkillContext(
        database=database,
        clock=clock,
        settings=loaded.settings.agent.skills,
        redact=loaded.redact,
        trials=Trials(lambda: sandboxes.lent("trial"), clock),
        reserved=reserved,
        prefixes=tuple(f"{base.prefix(each.spec.name)}_" for each in servers.each),
        allow=loaded.settings.agent.tools.allow,
        place=place,
        announce=announce,
        indexes=SkillIndexes(database, reserved),
    )
