"""What skills are made and used with."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.skills.offering import Shelf
from long_running_agents.skills.trial import Trials
from long_running_agents.store import skills
from long_running_agents.store.database import Database


class Place(Protocol):
    """Where an owner's agent works."""

    @property
    def workspace(self) -> Workspace:
        """Its folder."""
        ...

    @property
    def sandboxes(self) -> SessionSandboxes:
        """Where its code runs."""
        ...


class Shelves:
    """The skills in use, by owner, as long as nothing has changed."""

    def __init__(self, database: Database, reserved: frozenset[str] = frozenset()) -> None:
        """Know where skills are kept.

        Args:
            database: Where.
            reserved: The names of other tools. One may have come with an upgrade, after a skill of
                that name was approved: then the skill rests.
        """
        self._database = database
        self._reserved = reserved
        self._shelves: dict[str, Shelf] = {}

    async def of(self, owner: str) -> Shelf:
        """An owner's skills in use."""
        shelf = self._shelves.get(owner)
        if shelf is None:
            found = await self._database.read(lambda tx: skills.in_use(tx, owner))
            shelf = Shelf([each for each in found if each.name not in self._reserved])
            self._shelves[owner] = shelf
        return shelf

    def changed(self, owner: str) -> None:
        """Look again the next time."""
        self._shelves.pop(owner, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workroom:
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
    announce: Callable[[Sequence[Recorded]], None]
    """Rings what was written."""
    shelves: Shelves
    fingerprints: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    """What sources look like beneath their names, by digest."""

    def allows(self, name: str) -> bool:
        """Whether a skill of that name can be a tool, once it is in use."""
        named = self.allow is None or name in self.allow
        return named and not name.startswith(self.prefixes)
