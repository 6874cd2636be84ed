"""Conversations with clients that tell all of it each time: which session one goes on in."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse

from long_running_agents.agent import adopting, transcript
from long_running_agents.agent.adopting import Exchange
from long_running_agents.domain.brought import brought
from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Session
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import NotFound
from long_running_agents.store import conversations, events, ledger, messages, sessions, turns
from long_running_agents.store.database import Database, Transaction


class ConversationService:
    """Finds an owner's sessions by what was said in them.

    Args:
        database: Where they are.
        clock: Tells the time.
        owner: Whose conversations; those of others are not there.
    """

    def __init__(self, database: Database, clock: Clock, owner: str) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    async def keep(self, digest: str, turn: Turn) -> None:
        """Remember which turn a conversation ended with."""
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            # A session that was deleted meanwhile has no conversation to go on with.
            if sessions.find(tx, turn.session_id) is not None:
                conversations.keep(tx, self._owner, digest, turn, now)

        await self._database.write(work)

    async def find(self, digest: str) -> Turn | None:
        """The turn that a conversation ended with, if nothing was said after it."""

        def work(tx: Transaction) -> Turn | None:
            found = conversations.find(tx, self._owner, digest)
            if found is None:
                return None
            turn = turns.get(tx, found)
            newest = turns.last(tx, turn.session_id)
            return turn if newest is not None and newest.id == turn.id else None

        return await self._database.read(work)

    async def begun(self, key: str) -> Turn | None:
        """The turn that was begun under the key of a request."""

        def work(tx: Transaction) -> Turn | None:
            found = conversations.begun(tx, self._owner, key)
            return None if found is None else turns.get(tx, found, owner=self._owner)

        return await self._database.read(work)

    async def waiting_for(self, call_ids: Sequence[str]) -> Turn | None:
        """The one turn that waits for results of such calls; None when there are none or many."""
        found = await self._database.read(
            lambda tx: conversations.waiting_for(tx, self._owner, call_ids)
        )
        return found[0] if len(found) == 1 else None

    async def current(self, session_id: SessionId) -> Turn | None:
        """The turn of a session that has not ended."""

        def work(tx: Transaction) -> Turn | None:
            sessions.get(tx, session_id, owner=self._owner)
            return turns.current(tx, session_id)

        return await self._database.read(work)

    async def is_last(self, turn: Turn) -> bool:
        """Whether nothing was said in its session after a turn."""
        newest = await self._database.read(lambda tx: turns.last(tx, turn.session_id))
        return newest is not None and newest.id == turn.id

    async def position(self, session_id: SessionId) -> int:
        """The number of a session's last event; 0 for one that is still to begin."""

        def work(tx: Transaction) -> int:
            session = sessions.find(tx, session_id)
            if session is not None and session.owner != self._owner:
                raise NotFound(f"No session {session_id!r}.")
            return 0 if session is None else events.last(tx, session_id)

        return await self._database.read(work)

    async def told(self, turn: Turn, after: int) -> Sequence[Recorded]:
        """A turn's events after a number."""
        found = await self._database.read(lambda tx: events.of_turn(tx, turn.id))
        return [recorded for recorded in found if recorded.seq > after]

    async def since(self, turn: Turn, step: int) -> tuple[str, Sequence[ToolCallRecord]]:
        """What a turn said after a step, up to the next calls for its client, and those."""
        mine = brought(turn.client_tools).names

        def work(tx: Transaction) -> tuple[str, list[ToolCallRecord]]:
            calls = [call for call in ledger.of_turn(tx, turn.id) if call.tool in mine]
            last = min((call.step for call in calls if call.step > step), default=None)
            log = [
                message
                for message in messages.of_turn(tx, turn.id)
                if message.step > step and (last is None or message.step <= last)
            ]
            said = [
                transcript.text_of(each)
                for each in transcript.loaded(log)
                if isinstance(each, ModelResponse)
            ]
            text = "\n\n".join(filter(None, said))
            return text, [call for call in calls if call.step == last]

        return await self._database.read(work)

    async def adopt(self, exchanges: Sequence[Exchange]) -> Session:
        """Begin a session with what was said elsewhere."""
        now = self._clock.now()
        return await self._database.write(
            lambda tx: adopting.adopt(tx, self._owner, exchanges, now)
        )
