"""The agent as a library, in the four names the documents use.

::

    structured = StructuredMemoryStore()
    vector = VectorMemoryStore()
    await structured.init_db()
    deps = AgentDeps("my-session", structured_store=structured, vector_store=vector)
    output, messages = await run_agent("What can you do?", deps)
    await vector.add("The user's dog is called Rex")
    await vector.search("dog", k=5)
    await structured.close()

Programs that want streaming, approvals or several sessions use `open_app` instead.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

from long_running_agents.agent import transcript
from long_running_agents.agent.agent_files import read_agents
from long_running_agents.agent.registry import use_own
from long_running_agents.app import App, open_app
from long_running_agents.config import Settings, load
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.ids import session_id as accept_session
from long_running_agents.domain.memory import (
    Hit,
    MemoryDraft,
    MemoryKind,
    Merged,
    Query,
    Refused,
    Similar,
    Stored,
    Trust,
    Viewer,
)
from long_running_agents.domain.turn import Terms, Turn, TurnStatus
from long_running_agents.errors import (
    Busy,
    Denied,
    LimitReached,
    LraError,
    ModelUnavailable,
    NotFound,
    UsageError,
)
from long_running_agents.memory.factory import open_memories
from long_running_agents.memory.service import MemoryService
from long_running_agents.store import messages, sessions, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """What an open home remembers, in the words of the documented stores."""

    memories: MemoryService
    settings: Settings

    async def add(self, text: str, metadata: Mapping[str, str] | None) -> int:
        """Remember something, also beside what is similar."""
        written = await self.memories.write(
            self._viewer(), _draft(text, metadata or {}), keep_both=True
        )
        match written:
            case Stored(memory) | Merged(memory):
                return memory.id
            case Similar(known):
                return known[0].id
            case Refused(reason):
                raise Denied(f"Not written: {reason}.")

    async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
        """The best memories."""
        found = await self.memories.find(self._viewer(), Query(text=query, limit=limit))
        return [_item(hit) for hit in found.hits]

    def _viewer(self) -> Viewer:
        return Viewer(owner=self.settings.owner, agent=self.settings.agent.name)


class StructuredMemoryStore:
    """The home: sessions, turns, tasks and everything else that is stored."""

    def __init__(
        self, database_url: str | None = None, *, model: Model | str | None = None
    ) -> None:
        """Make a store that is not open yet.

        Args:
            database_url: Another database than the one in the home, such as sqlite:///my.db.
            model: Another model than the configured one: a name, or a Pydantic AI model.
        """
        self._database_url = database_url
        self._model = model
        self._stack = AsyncExitStack()
        self._app: App | None = None

    @property
    def app(self) -> App:
        """The open home."""
        if self._app is None:
            raise Busy("The store is not open.", hint="Call 'await store.init_db()' first.")
        return self._app

    async def init_db(self) -> None:
        """Open the home; turns that were cut off go on. Doing it twice is doing it once."""
        if self._app is not None:
            return
        flags: dict[str, object] = {}
        if self._database_url is not None:
            flags["storage.database_url"] = self._database_url
        model = self._model
        if isinstance(model, str):
            flags["agent.model.model_id"], model = model, None
        self._app = await self._stack.enter_async_context(open_app(load(flags=flags), model=model))

    async def use_agent(self, file: Path) -> str:
        """Have the agent in use that a file of yours describes; its name comes back."""
        agents, path = self.app.agents, await asyncio.to_thread(file.resolve)
        text = await asyncio.to_thread(path.read_text, encoding="utf-8")
        found = read_agents(text, file=path.name, words=agents.words())[0]
        origin = f"folder:{path.parent}"
        return (await use_own(agents, found.draft, origin)).name

    async def close(self) -> None:
        """Close the home."""
        self._app = None
        await self._stack.aclose()

    async def get_recent_conversations(
        self, session_id: str | None = None, limit: int = 10
    ) -> list[dict[str, Any]]:
        """What was said last, oldest first: session_id, when, user, agent of each turn."""
        app, owner = self.app, self.app.settings.owner
        key = None if session_id is None else accept_session(session_id)

        def work(tx: Transaction) -> list[Turn]:
            if key is not None:
                try:
                    sessions.get(tx, key, owner=owner)
                except NotFound:
                    # A session begins with its first turn: nothing was said there yet.
                    return []
            return turns.recent(tx, limit, owner=owner, session_id=key, before=TurnId(""))

        return [_earlier(turn) for turn in reversed(await app.database.read(work))]

    async def add_memory(self, text: str, metadata: Mapping[str, str] | None = None) -> int:
        """Remember something, as `VectorMemoryStore.add` does."""
        return await self.remembered.add(text, metadata)

    async def search_memory(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """Search what is remembered, as `VectorMemoryStore.search` does."""
        return await self.remembered.search(query, limit)

    @property
    def remembered(self) -> OpenMemory:
        """What the open home remembers."""
        app = self.app
        if app.memories is None:
            raise UsageError("Memory is switched off.", hint="Set memory.enabled to use it.")
        return OpenMemory(app.memories, app.settings)


class VectorMemoryStore:
    """What the home remembers, found by words and by meaning.

    Handed to `AgentDeps` it works in the home that the structured store has open. On its own it
    opens the home when it is first used, and has to be closed.
    """

    def __init__(
        self, path: str | None = None, *, structured_store: StructuredMemoryStore | None = None
    ) -> None:
        """Make a store that is not open yet.

        Args:
            path: Folder of an optional ChromaDB index, for a home that this store opens itself;
                where another store has it open, VECTOR_STORE_PATH has said so before.
            structured_store: Whoever has the home open.
        """
        self._path = path
        self._store = structured_store
        self._stack = AsyncExitStack()
        self._own: OpenMemory | None = None

    @property
    def path(self) -> Path | None:
        """The folder, from here or from VECTOR_STORE_PATH; None without either."""
        chosen = self._path or load().settings.storage.vector_store_path
        return Path(chosen) if chosen else None

    def join(self, structured_store: StructuredMemoryStore) -> None:
        """Work in the home that another store has open; what was opened alone stays."""
        self._store = self._store or structured_store

    async def add(self, text: str, metadata: Mapping[str, str] | None = None) -> int:
        """Remember something and return its number; the same again returns the same.

        Args:
            text: One thing, in words that make sense on their own.
            metadata: Any of kind, source, actor and session_id; what a source such as 'web:…'
                or 'tool:…' says is trusted less.

        Raises:
            Denied: It is not worth remembering, or a secret.
        """
        return await (await self._remembered()).add(text, metadata)

    async def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The best `k` memories at most: id, text, score and metadata of each."""
        return await (await self._remembered()).search(query, k)

    async def close(self) -> None:
        """Close the home if this store has opened it."""
        self._own = None
        await self._stack.aclose()

    async def _remembered(self) -> OpenMemory:
        if self._own is None and self._store is not None:
            return self._store.remembered
        if self._own is None:
            flags = {} if self._path is None else {"storage.vector_store_path": self._path}
            loaded = load(flags=flags)
            memories = await self._stack.enter_async_context(open_memories(loaded))
            self._own = OpenMemory(memories, loaded.settings)
        return self._own


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """What a turn of `run_agent` works with."""

    session_id: str
    """The conversation; it begins with its first turn."""
    structured_store: StructuredMemoryStore
    vector_store: VectorMemoryStore | None = None
    sandbox_base_url: str | None = None
    """A sandbox server; unset means the one of the settings."""
    agent: str | None = None
    """Who answers: an agent by name, "auto", or "" for the home's own; as before unless given."""

    def __post_init__(self) -> None:
        """Let both stores work in the same open home."""
        if self.vector_store is not None:
            self.vector_store.join(self.structured_store)


_METADATA = ("kind", "source", "actor", "session_id")


def _draft(text: str, metadata: Mapping[str, str]) -> MemoryDraft:
    unknown = sorted(set(metadata) - set(_METADATA))
    kind = metadata.get("kind", MemoryKind.FACT.value)
    if unknown or kind not in tuple(MemoryKind):
        raise UsageError(
            f"Metadata {unknown or kind!r} cannot be kept:",
            hint=f"use {', '.join(_METADATA)}; a kind is one of {', '.join(MemoryKind)}.",
        )
    session, source = metadata.get("session_id"), metadata.get("source", "user")
    place = source.partition(":")[0]
    return MemoryDraft(
        content=text,
        kind=MemoryKind(kind),
        trust=Trust(place) if place in (Trust.WEB, Trust.TOOL) else Trust.USER,
        source=source,
        actor=metadata.get("actor", "user"),
        session_id=None if session is None else accept_session(session),
    )


def _item(hit: Hit) -> dict[str, Any]:
    memory = hit.memory
    return {
        "id": memory.id,
        "text": memory.content,
        "score": hit.score,
        "metadata": {
            "kind": memory.kind.value,
            "source": memory.source,
            "trust": memory.trust.value,
            "actor": memory.actor,
            "session_id": memory.session_id,
            "when": memory.event_at,
        },
    }


def _earlier(turn: Turn) -> dict[str, Any]:
    return {
        "session_id": turn.session_id,
        "when": turn.created_at,
        "user": turn.prompt,
        "agent": turn.answer,
    }


async def run_agent(prompt: str, deps: AgentDeps) -> tuple[str, list[ModelMessage]]:
    """Run one turn and return its answer with all messages of the session.

    Nobody is there to be asked: calls that need an approval are refused, and the model is told.

    Raises:
        ModelUnavailable: No model answered.
        LimitReached: A budget ended the turn.
        LraError: The turn was stopped.
    """
    app = deps.structured_store.app
    key = accept_session(deps.session_id)
    terms = Terms(agent=deps.agent)
    started = await app.turns.start(key, prompt, attended=False, terms=terms)
    turn = await app.turns.settled(started.id)
    raise_unless_done(turn)

    def work(tx: Transaction) -> list[StoredMessage]:
        told = turns.of_session(tx, key)
        return [message for each in told for message in messages.of_turn(tx, each.id)]

    return turn.answer, transcript.loaded(await app.database.read(work))


def raise_unless_done(turn: Turn) -> None:
    """Tell a program why a turn has no answer."""
    match turn.status:
        case TurnStatus.DONE:
            return
        case TurnStatus.LIMITED:
            raise LimitReached(turn.answer or turn.error)
        case TurnStatus.STOPPED:
            raise LraError("The turn was stopped.", hint="Ask again to go on.")
        case TurnStatus.WAITING:
            raise Busy("The turn waits for an answer.", hint="'lra approvals list' shows it.")
        case _:
            raise ModelUnavailable(turn.error)
