"""The desk for clients: which session a request belongs to, and what is begun or gone on with."""

import re

from fastapi import Request as HttpRequest

from long_running_agents.agent.conversations import ConversationService
from long_running_agents.agent.turns import TurnService
from long_running_agents.app import App
from long_running_agents.domain import ids
from long_running_agents.domain.brought import Brought
from long_running_agents.domain.events import TurnFailed
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.token import Caller
from long_running_agents.domain.turn import Terms, Turn, TurnStatus
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.server.openai.following import Following, Rest, Sayer
from long_running_agents.server.openai.line import Client
from long_running_agents.server.openai.manner import Manner
from long_running_agents.server.openai.naming import model_for
from long_running_agents.server.openai.said import (
    Newest,
    Request,
    Role,
    Said,
    digest,
    exchanges,
    newest,
)

_RESPONSE = re.compile(r"resp_(turn_[0-9a-z]+)_(\d{1,9})")


def response_id(following: Following) -> str:
    """The id of a response: which turn it is of, and how far that had come before it."""
    return f"resp_{following.turn.id}_{following.before.steps}"


class Desk:
    """Takes requests of any protocol to the turns of whoever asks."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def begin(self, caller: Caller, request: Request, manner: Manner) -> Following:
        """Begin a turn, or go on with one that waits for its client.

        Raises:
            UsageError: Nothing new is said, or results are for calls that nobody made.
            NotFound: The session, the response or the model is not there, or not the caller's.
        """
        model = model_for(request.model, self._app.loaded, caller)
        new = newest(request.said)
        conversations = self._conversations(caller)
        previous = await self._previous(caller, request)
        if new.results:
            turn = await self._waiting(conversations, request, new, previous)
            if not new.words:
                return await self._go_on(caller, request, turn, new, manner)
            await self._turns(caller).deliver(turn.id, new.results, go_on=False)
            session = turn.session_id
        else:
            session = await self._session(caller, request, new, previous, manner)
        # With a session of its own, all but the last words are history that was sent along.
        words = new.words[-1] if request.session else "\n\n".join(new.words)
        return await self._start(caller, request, session, words, manner, model)

    async def response(self, caller: Caller, name: str) -> tuple[Turn, int]:
        """The turn that a response is of, and how far that had come before it.

        Raises:
            NotFound: There is none, or it is somebody else's.
        """
        named = _RESPONSE.fullmatch(name)
        if named is None:
            raise NotFound(f"No response {name!r}.")
        try:
            return await self._turns(caller).get(TurnId(named[1])), int(named[2])
        except NotFound as error:
            raise NotFound(f"No response {name!r}.") from error

    async def now(self, caller: Caller, name: str) -> Rest:
        """A response as it stands now, whether the turn has come to rest or not.

        Raises:
            NotFound: There is none, or it is somebody else's.
        """
        turn, step = await self.response(caller, name)
        text, calls = await self._conversations(caller).since(turn, step)
        failed = turn.status is TurnStatus.FAILED
        failure = TurnFailed(code="failed", message=turn.error) if failed else None
        limit = [turn.answer] if turn.status is TurnStatus.LIMITED else []
        return Rest(turn, calls, failure, "\n\n".join(filter(None, [text, *limit])))

    def client(
        self,
        http: HttpRequest,
        caller: Caller,
        request: Request,
        manner: Manner,
        following: Following,
    ) -> Client:
        """Whoever is at the other end, and what is done for them."""

        async def keep(rest: Rest) -> None:
            await self._keep(caller, request, rest)

        async def leave() -> None:
            if not manner.detached:
                await self._turns(caller).stop_turn(following.turn.id)

        told = {"X-LRA-Session": following.turn.session_id, "X-LRA-Turn": following.turn.id}
        return Client(http=http, keep=keep, leave=leave, headers=told)

    async def _keep(self, caller: Caller, request: Request, rest: Rest) -> None:
        """Remember the conversation as the client will tell it next time."""
        if request.session is not None or request.previous is not None:
            # It told a part: the same few words may begin another conversation.
            return
        calls = tuple(call.call_id for call in rest.calls)
        answer = Said(role=Role.ASSISTANT, text=rest.sent, calls=calls)
        told = digest([*request.said, answer])
        await self._conversations(caller).keep(told, rest.turn)

    def _turns(self, caller: Caller) -> TurnService:
        return self._app.turns.of(caller.owner)

    def _conversations(self, caller: Caller) -> ConversationService:
        return ConversationService(self._app.database, self._clock, caller.owner)

    async def _previous(self, caller: Caller, request: Request) -> Turn | None:
        if request.previous is None:
            return None
        return (await self.response(caller, request.previous))[0]

    async def _waiting(
        self,
        conversations: ConversationService,
        request: Request,
        new: Newest,
        previous: Turn | None,
    ) -> Turn:
        """The turn that results are for."""
        turn = previous
        if turn is None and request.session is not None:
            turn = await conversations.current(ids.session_id(request.session))
        elif turn is None:
            turn = await conversations.find(digest(new.before))
            if turn is None:
                turn = await conversations.waiting_for(list(new.results))
        if turn is None or turn.status is not TurnStatus.WAITING:
            raise UsageError(
                "No turn waits for these results.",
                hint="Each call is answered once, and before anything else is said.",
            )
        return turn

    async def _session(
        self,
        caller: Caller,
        request: Request,
        new: Newest,
        previous: Turn | None,
        manner: Manner,
    ) -> SessionId:
        """The session that new words are for."""
        conversations = self._conversations(caller)
        if request.session is not None:
            return ids.session_id(request.session)
        if manner.key is not None and (begun := await conversations.begun(manner.key)):
            return begun.session_id
        if previous is not None:
            return await self._after(caller, previous)
        if new.before and (known := await conversations.find(digest(new.before))):
            return known.session_id
        if told := exchanges(new.before):
            return (await conversations.adopt(told)).id
        return _of_user(request.user) or SessionId(new_id("session", self._clock.now()))

    async def _after(self, caller: Caller, previous: Turn) -> SessionId:
        """The session of a response; if that went on since, a copy up to there."""
        if await self._conversations(caller).is_last(previous):
            return previous.session_id
        sessions = self._app.sessions.of(caller.owner)
        return (await sessions.fork(previous.session_id, at=previous.id)).id

    async def _go_on(
        self, caller: Caller, request: Request, turn: Turn, new: Newest, manner: Manner
    ) -> Following:
        turns, conversations = self._turns(caller), self._conversations(caller)
        after = await conversations.position(turn.session_id)
        listener = turns.listen(turn.session_id, after)
        await turns.deliver(turn.id, new.results)
        sayer = Sayer(activity=manner.activity, whole=not request.stream)
        return Following(turns, conversations, turn, listener, after, sayer)

    async def _start(
        self,
        caller: Caller,
        request: Request,
        session: SessionId,
        words: str,
        manner: Manner,
        model: str | None,
    ) -> Following:
        turns, conversations = self._turns(caller), self._conversations(caller)
        began = self._clock.now()
        listener = turns.listen(session, await conversations.position(session))
        brought = Brought(instructions=request.instructions, tools=request.tools)
        turn = await turns.start(
            session,
            words,
            attended=manner.attended,
            model=model,
            terms=Terms(client_tools=brought.to_json(), key=manner.key),
        )
        # A request that was made before has begun its turn then.
        late = turn.created_at < began
        sayer = Sayer(activity=manner.activity, late=late, whole=not request.stream)
        return Following(turns, conversations, turn, listener, 0, sayer)


def _of_user(user: str | None) -> SessionId | None:
    """The session that a client's user names, if it can be the name of one."""
    try:
        return None if user is None else ids.session_id(user)
    except UsageError:
        return None
