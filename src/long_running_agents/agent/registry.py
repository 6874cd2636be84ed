"""The registry of agents: versions are saved, published and retired, and found by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from long_running_agents.agent.agent_files import FileWords, as_markdown, read_agents
from long_running_agents.agent.router import Router
from long_running_agents.config import Settings
from long_running_agents.domain.agent import (
    AgentDraft,
    AgentPolicy,
    AgentSpec,
    AgentStage,
    AgentStats,
    ToolChoice,
    WorkspaceMode,
    as_draft,
    content,
    label_parts,
    said_by,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.routing import Routing
from long_running_agents.domain.session import MINE
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.store import agents
from long_running_agents.store.database import Database, Transaction

if TYPE_CHECKING:
    from long_running_agents.api import AgentApi

T = TypeVar("T")

BUILT_IN_ORIGIN = "built-in"
_READING = ("list_files", "read_file", "search_files", "data_view", "search_memory")
BUILT_IN = (
    AgentDraft(
        name="coder",
        description="Writes, changes, runs and debugs code and tests in the workspace.",
        instructions=(
            "You are a careful programmer. Read before you write, make the smallest change that"
            " does the job, run it, and report what you ran and what came out."
        ),
        capabilities=("code",),
        examples=(
            "Write a Python script that renames my photos by date.",
            "Fix the failing test in this project.",
            "Why does this function raise a KeyError?",
            "Refactor the parser into smaller functions.",
        ),
    ),
    AgentDraft(
        name="researcher",
        description="Finds out facts: searches the web and files, compares sources, cites them.",
        instructions=(
            "You are a researcher. Look things up instead of guessing, compare at least two"
            " sources where you can, name them, and say what stays uncertain."
        ),
        capabilities=("research", "web"),
        examples=(
            "What are the newest findings about sleep and memory?",
            "Compare the prices of three hosting providers.",
            "Find out who maintains this library, with sources.",
        ),
        tools=ToolChoice(allow=(*_READING, "web_search", "web_fetch", "read_result")),
    ),
    AgentDraft(
        name="reviewer",
        description="Reviews code, plans and texts, and reports what is wrong; changes nothing.",
        instructions=(
            "You review what others did. Look at the thing itself, not at what is said about it."
            " Report each problem with its place, why it matters, and how to mend it."
        ),
        capabilities=("review",),
        examples=(
            "Review my changes before I commit them.",
            "Is there anything wrong with this plan?",
            "Look over this document for mistakes.",
        ),
        policy=AgentPolicy(workspace=WorkspaceMode.READ_ONLY),
    ),
)
"""What every home has; somebody who publishes another agent of such a name uses that one."""


@dataclass(frozen=True, slots=True)
class AgentService:
    """An owner's agents."""

    database: Database
    clock: Clock
    owner: str = MINE
    router: Router = field(default_factory=Router)
    words: Callable[[], FileWords] = FileWords
    """What the words of agents' files mean here."""
    _ready: set[str] = field(default_factory=set[str])
    """The owners who have what is built in."""

    def of(self, owner: str) -> "AgentService":
        """The same service for somebody else's agents."""
        return replace(self, owner=owner)

    async def every(self) -> Sequence[AgentSpec]:
        """Of each agent the version in use, or else the newest, by name."""
        return await self._read(lambda tx: agents.every(tx, self.owner))

    async def get(self, name: str, version: int | None = None) -> AgentSpec:
        """One version: a given one, or the one in use, or the newest."""
        label = name if version is None else f"{name}@{version}"
        bare, number = label_parts(label)

        def work(tx: Transaction) -> AgentSpec:
            found = agents.find(tx, self.owner, label)
            if found is None and number is None:
                found = next(iter(agents.history(tx, self.owner, bare)), None)
            return found or agents.get(tx, self.owner, label)

        return await self._read(work)

    async def published(self, label: str) -> AgentSpec:
        """The version of an agent that is in use, by its name or label.

        Raises:
            NotFound: None is, or another one.
        """
        spec = await self._read(lambda tx: agents.get(tx, self.owner, label))
        if spec.stage is not AgentStage.PUBLISHED:
            raise NotFound(f"{label!r} is not in use.", hint="'lra agents list' shows the agents.")
        return spec

    async def history(self, name: str) -> Sequence[AgentSpec]:
        """All versions of an agent, the newest first."""

        def work(tx: Transaction) -> list[AgentSpec]:
            if not (found := agents.history(tx, self.owner, name)):
                raise NotFound(f"No agent {name!r}.", hint="'lra agents list' shows the agents.")
            return found

        return await self._read(work)

    async def save(
        self,
        agent: AgentDraft | Mapping[str, Any],
        *,
        origin: str = "person",
        warnings: Sequence[str] = (),
    ) -> AgentSpec:
        """Store a draft as the next version; it is used when a person publishes it.

        Raises:
            UsageError: It makes no sense.
        """
        draft = agent if isinstance(agent, AgentDraft) else as_draft(agent)
        spec = self._version(draft, origin, warnings)
        return await self._write(lambda tx: agents.add(tx, spec))

    def _version(self, draft: AgentDraft, origin: str, warnings: Sequence[str] = ()) -> AgentSpec:
        return AgentSpec(
            **said_by(draft),
            version=0,
            stage=AgentStage.DRAFT,
            origin=origin,
            warnings=tuple(warnings),
            created_at=self.clock.now(),
            owner=self.owner,
        )

    async def publish(self, name: str, version: int | None = None) -> AgentSpec:
        """Use a version, the newest unless one is given; the one before is retired."""
        chosen = version or (await self.history(name))[0].version
        label = f"{name}@{chosen}"
        return await self._write(lambda tx: agents.publish(tx, agents.get(tx, self.owner, label)))

    async def retire(self, name: str) -> AgentSpec:
        """Use an agent no more; turns that run keep their version."""

        def work(tx: Transaction) -> AgentSpec:
            return agents.retire(tx, self.owner, name) or agents.get(tx, self.owner, name)

        return await self._write(work)

    async def learn(self, name: str, text: str) -> AgentSpec:
        """Note that what somebody said is for this agent: the router knows it from now on."""
        if not text.strip():
            raise UsageError("There is nothing to learn from.", hint="Give the sentence.")

        def work(tx: Transaction) -> AgentSpec:
            spec = agents.get(tx, self.owner, name)
            agents.learn(tx, spec, text, self.clock.now())
            return spec

        return await self._write(work)

    async def bring_in(self, text: str, *, file: str = "agent.md") -> Sequence[AgentSpec]:
        """Take agents in from a file, as drafts: its words are somebody else's.

        Raises:
            UsageError: It is no agent's file.
        """
        found = read_agents(text, file=file, words=self.words())
        origin = f"import:{PurePath(file).name}"
        return [
            await self.save(each.draft, origin=origin, warnings=each.warnings) for each in found
        ]

    async def export(self, name: str, version: int | None = None) -> str:
        """An agent as a file that others can read: Markdown with front matter."""
        return as_markdown(await self.get(name, version), self.words())

    async def route(self, text: str, *, needs: Sequence[str] = ()) -> Routing:
        """Which agent a message is for, and why; of those with the capabilities it needs."""
        await self.prepare()
        return await self.router.route(self.database, self.owner, text, needs)

    async def stats(self, name: str) -> Sequence[AgentStats]:
        """How each version of an agent has done that did something, the newest first."""
        labels = [spec.label for spec in await self.history(name)]

        def work(tx: Transaction) -> list[AgentStats]:
            told = [agents.stats(tx, self.owner, label) for label in labels]
            return [each for each in told if each is not None]

        return await self._read(work)

    async def _read(self, work: Callable[[Transaction], T]) -> T:
        await self.prepare()
        return await self.database.read(work)

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        await self.prepare()
        return await self.database.write(work)

    async def prepare(self) -> None:
        """Store what is built in, once; anew where its words have changed since."""
        if self.owner in self._ready:
            return

        def missing(tx: Transaction) -> list[AgentSpec]:
            return [
                self._version(draft, BUILT_IN_ORIGIN)
                for draft in BUILT_IN
                if _outdated(tx, self.owner, draft)
            ]

        def work(tx: Transaction) -> None:
            for spec in missing(tx):
                agents.publish(tx, agents.add(tx, spec))

        if await self.database.read(missing):
            await self.database.write(work)
        self._ready.add(self.owner)


def _outdated(tx: Transaction, owner: str, draft: AgentDraft) -> bool:
    known = agents.history(tx, owner, draft.name)
    return not known or (known[0].origin == BUILT_IN_ORIGIN and known[0].digest != draft.digest)


async def use_own(agents: "AgentApi | AgentService", draft: AgentDraft, origin: str) -> AgentSpec:
    """Have a person's own agent in use: stored and published, unless it is as it was.

    Raises:
        UsageError: Another agent of this name is in use that came from somewhere else.
    """
    try:
        known = await agents.get(draft.name)
    except NotFound:
        known = None
    if known is not None and known.stage is AgentStage.PUBLISHED:
        if known.digest == draft.digest:
            return known
        if not known.origin.startswith(("folder:", "person")):
            raise UsageError(
                f"Another agent {draft.name!r} is in use, from {known.origin}.",
                hint="Give this one another name in its file.",
            )
    if isinstance(agents, AgentService):
        saved = await agents.save(draft, origin=origin)
    else:
        # A server says itself where an agent came from.
        saved = await agents.save(content(draft))
    return await agents.publish(saved.name, saved.version)


def file_words(settings: Settings) -> FileWords:
    """What the words of agents' files mean in a home."""
    from long_running_agents.tools.catalog import reserved  # noqa: PLC0415 - takes a while to load

    pairs = (each.partition("=") for each in settings.agent.model_aliases)
    return FileWords(reserved(), {short.strip(): name.strip() for short, _, name in pairs if name})
