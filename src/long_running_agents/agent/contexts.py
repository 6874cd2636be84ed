"""Contexts as a service: what a session's next request would be. It only reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from long_running_agents.agent import history, transcript
from long_running_agents.agent.context import Context, measured
from long_running_agents.agent.history import View
from long_running_agents.agent.runner import TurnRunner
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE, Session
from long_running_agents.domain.turn import Origin, Turn, TurnStatus
from long_running_agents.models.factory import ModelSource
from long_running_agents.store import messages, sessions, turns
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.messages import StoredMessage

_NOT_YET = TurnId("")
"""The id of a turn that nobody has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """A session's next request."""

    session_id: SessionId
    earlier: int
    """Messages of the log that are not looked at: too many came after them, or it was cleared."""
    context: Context


@dataclass(frozen=True, slots=True)
class _Past:
    """What a request comes after."""

    turn: Turn
    model: str | None
    log: Sequence[StoredMessage]
    """What there is to choose from."""
    kept: Sequence[StoredMessage]
    count: int
    """How many messages the log has in all."""
    stored: int
    """How many of those to choose from are in it."""

    @property
    def whole(self) -> bool:
        return len(self.kept) >= self.count


class ContextService:
    """Looks at what the model would be shown.

    Args:
        database: Where sessions are.
        clock: Tells the time.
        runner: Knows what requests are made of.
        models: Whoever knows which models to ask.
        view: Bounds of what is shown of the past.
        owner: Whose sessions; those of others are not there.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        runner: TurnRunner,
        models: ModelSource,
        view: View,
        owner: str = MINE,
    ) -> None:
        self._database = database
        self._clock = clock
        self._runner = runner
        self._models = models
        self._view = view
        self._owner = owner

    def of(self, owner: str) -> "ContextService":
        """The same service for somebody else's sessions."""
        return ContextService(
            self._database, self._clock, self._runner, self._models, self._view, owner
        )

    async def next(self, session_id: SessionId, prompt: str | None = None) -> Foreseen:
        """What the next request of a session would be; the session need not be there yet.

        Args:
            session_id: The session.
            prompt: What would be said. Without it, it is the next step of the turn that has not
                ended, or, where there is none, what comes to mind for the last thing that was said.

        Raises:
            NotFound: It is another's.
            NotConfigured: There is no model to ask.
        """
        past = await self._database.read(lambda tx: self._past(tx, session_id, prompt))
        choice = self._models.choices(past.model)[0]
        talk = transcript.loaded(past.log)
        skipped = len(past.log) - len(past.kept)
        shown = talk[skipped:]
        unsaid = _unsaid(past, prompt)
        ahead = await self._runner.ahead(past.turn, shown, choice, unsaid=unsaid, seen=past.whole)
        return Foreseen(
            session_id=session_id,
            earlier=past.count - past.stored,
            context=measured(ahead, talk[:skipped], unsaid or ""),
        )

    def _past(self, tx: Transaction, session_id: SessionId, prompt: str | None) -> _Past:
        session = sessions.find(tx, session_id)
        if session is not None:
            session = sessions.get(tx, session_id, owner=self._owner)
        turn = self._turn(tx, session, session_id, prompt)
        glance = history.glance(tx, turn, self._view)
        log = [*glance.stored, *glance.lacking]
        count = messages.count(tx, session_id)
        return _Past(
            turn=turn,
            model=turn.model or (None if session is None else session.model),
            log=log,
            kept=history.fit(log, self._view.tokens),
            count=count,
            stored=len(glance.stored),
        )

    def _turn(
        self, tx: Transaction, session: Session | None, session_id: SessionId, prompt: str | None
    ) -> Turn:
        """The turn that the request would be a part of."""
        if prompt is None and (current := turns.current(tx, session_id)) is not None:
            return current
        last = turns.last(tx, session_id)
        said = "" if last is None else last.prompt
        return Turn(
            id=_NOT_YET,
            session_id=session_id,
            number=1 if last is None else last.number + 1,
            prompt=said if prompt is None else prompt,
            origin=Origin.USER,
            attended=True,
            status=TurnStatus.QUEUED,
            model=None,
            created_at=self._clock.now(),
            owner=self._owner if session is None else session.owner,
        )


def _unsaid(past: _Past, prompt: str | None) -> str | None:
    """The newest message, if it is not in the log."""
    if past.turn.id == _NOT_YET:
        return prompt or ""
    begun = any(message.turn_id == past.turn.id for message in past.log)
    return None if begun else past.turn.prompt
