"""The agent as a library, in the four names the documents use.

::

    structured = StructuredMemoryStore()
    await structured.init_db()
    deps = AgentDeps(session_id="my-session", structured_store=structured)
    output, messages = await run_agent("What can you do?", deps)
    await structured.close()

Programs that want streaming, approvals or several sessions use `open_app` instead.
"""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model

from long_running_agents.agent import transcript
from long_running_agents.app import App, open_app
from long_running_agents.config import load
from long_running_agents.domain.ids import session_id
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, LimitReached, LraError, ModelUnavailable
from long_running_agents.store import messages, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage


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

    async def close(self) -> None:
        """Close the home."""
        self._app = None
        await self._stack.aclose()


class VectorMemoryStore:
    """Names the folder of an optional vector index; the home's own index needs none."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    @property
    def path(self) -> Path | None:
        """The folder, from here or from VECTOR_STORE_PATH; None without either."""
        chosen = self._path or load().settings.storage.vector_store_path
        return Path(chosen) if chosen else None


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """What a turn of `run_agent` works with."""

    session_id: str
    """The conversation; it begins with its first turn."""
    structured_store: StructuredMemoryStore
    vector_store: VectorMemoryStore | None = None
    sandbox_base_url: str | None = None
    """A sandbox server; unset means the one of the settings."""


async def run_agent(prompt: str, deps: AgentDeps) -> tuple[str, list[ModelMessage]]:
    """Run one turn and return its answer with all messages of the session.

    Nobody is there to be asked: calls that need an approval are refused, and the model is told.

    Raises:
        ModelUnavailable: No model answered.
        LimitReached: A budget ended the turn.
        LraError: The turn was stopped.
    """
    app = deps.structured_store.app
    key = session_id(deps.session_id)
    started = await app.turns.start(key, prompt, attended=False)
    turn = await app.turns.settled(started.id)
    _raise_unless_done(turn)

    def work(tx: Transaction) -> list[StoredMessage]:
        told = turns.of_session(tx, key)
        return [message for each in told for message in messages.of_turn(tx, each.id)]

    return turn.answer, transcript.loaded(await app.database.read(work))


def _raise_unless_done(turn: Turn) -> None:
    match turn.status:
        case TurnStatus.DONE:
            return
        case TurnStatus.LIMITED:
            raise LimitReached(turn.answer or turn.error)
        case TurnStatus.STOPPED:
            raise LraError("The turn was stopped.", hint="Ask again to go on.")
        case _:
            raise ModelUnavailable(turn.error)
