"""Turns at a running server."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from http import HTTPStatus
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from long_running_agents.client import shapes
from long_running_agents.client.link import Link
from long_running_agents.client.shapes import Heard
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.events import FellBehind, Passing, Recorded
from long_running_agents.domain.grant import Lasting
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Busy, Denied, NotFound, ServerAway, Unauthorized

_WAIT = 25
"""Seconds after which it is asked again whether a turn has settled."""
_SOCKET_CODES = 4000
_REFUSALS = 20
"""How often in a row a server that answers may close a socket before anything was heard."""


class Turns:
    """Start, stop, answer, retry and hear turns, as the server's own service does."""

    def __init__(self, link: Link, owner: str) -> None:
        self._link = link
        self._owner = owner

    async def start(
        self,
        session_id: SessionId,
        text: str,
        *,
        attended: bool = True,
        model: str | None = None,
    ) -> Turn:
        """Say something. When this returns, it is on the server's disk and will be answered.

        A server that is away is waited for; the message is one turn, however often it was sent.
        """
        reply = await self._link.insist(
            "POST",
            f"/api/chat/{quote(session_id)}",
            body={"message": text, "attended": attended, "model": model},
            headers={"Idempotency-Key": secrets.token_urlsafe(18), "Prefer": "respond-async"},
        )
        return shapes.turn(reply.body, self._owner)

    async def stop(self, session_id: SessionId) -> Turn | None:
        """Stop the turn that runs or waits in a session; None when there is none."""
        try:
            reply = await self._link.ask("POST", f"/api/sessions/{quote(session_id)}/stop")
        except Busy:
            return None
        return shapes.turn(reply.body, self._owner)

    async def stop_turn(self, turn_id: TurnId) -> Turn:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        reply = await self._link.insist("POST", f"/api/turns/{quote(turn_id)}/stop")
        return shapes.turn(reply.body, self._owner)

    async def retry(self, session_id: SessionId) -> Turn:
        """Let the session's last turn go on from where it failed, was stopped or ran out."""
        reply = await self._link.ask("POST", f"/api/sessions/{quote(session_id)}/retry")
        return shapes.turn(reply.body, self._owner)

    async def answer(
        self,
        approval_id: ApprovalId,
        *,
        allowed: bool,
        reason: str = "",
        lasting: Lasting = Lasting.ONCE,
    ) -> None:
        """Answer a question; when it was the last open one, the turn goes on."""
        said = {"allowed": allowed, "reason": reason, "lasting": lasting}
        await self._link.ask("POST", f"/api/approvals/{quote(approval_id)}", body=said)

    async def get(self, turn_id: TurnId) -> Turn:
        """Look a turn up."""
        reply = await self._link.insist("GET", f"/api/turns/{quote(turn_id)}")
        return shapes.turn(reply.body, self._owner)

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer, also while the server is away."""
        while True:
            reply = await self._link.insist(
                "GET", f"/api/turns/{quote(turn_id)}", query={"wait": _WAIT}
            )
            turn = shapes.turn(reply.body, self._owner)
            if turn.status.settled:
                return turn

    async def unfinished(self) -> Sequence[Turn]:
        """The turns of all sessions that run or are in line."""
        reply = await self._link.ask("GET", "/api/turns")
        return [shapes.turn(told, self._owner) for told in reply.body["turns"]]

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that wait for an answer."""
        query = {} if session_id is None else {"session_id": session_id}
        try:
            reply = await self._link.insist("GET", "/api/approvals", query=query)
        except NotFound:
            # A session in which nothing was said yet asks nothing.
            return []
        return [shapes.approval(told) for told in reply.body["approvals"]]

    async def listen(self, session_id: SessionId, after: int = 0) -> AsyncGenerator[Heard]:
        """Hear a session's events after a number, each once, then everything that happens.

        When the server goes away, it is waited for, and what was missed is heard.

        Raises:
            ServerAway: It did not come back.
        """
        last, current, refused = after, None, 0
        while refused < _REFUSALS:
            if current is not None:
                # The words of the step under way are told again from their beginning.
                yield self._fell_behind(session_id, current)
            refused += 1
            async for heard in self._window(session_id, last):
                refused = 0
                if heard is None or (isinstance(heard, Recorded) and heard.seq <= last):
                    continue
                if isinstance(heard, Recorded):
                    last = heard.seq
                current = heard.turn_id
                yield heard
            self._link.lost()
            await self._link.back(rested=refused)
        raise ServerAway("The server is there, but lets nobody listen.", hint="Try again later.")

    async def _window(self, session_id: SessionId, after: int) -> AsyncGenerator[Heard | None]:
        """What is heard at one WebSocket, until it closes; None for what is said to it alone.

        Raises:
            LraError: The server would refuse another one, too.
        """
        try:
            async with self._link.socket(f"/ws/{quote(session_id)}?after={after}") as socket:
                async for text in socket:
                    yield shapes.heard(text, self._owner)
        except InvalidStatus as error:
            _check(error.response.status_code)
        except ConnectionClosed as error:
            _check(0 if error.rcvd is None else error.rcvd.code)
        except (OSError, InvalidHandshake, ServerAway):
            # Nobody is there.
            return

    def _fell_behind(self, session_id: SessionId, turn_id: TurnId) -> Passing:
        return Passing(
            session_id=session_id, turn_id=turn_id, owner=self._owner, delta=FellBehind()
        )


def _check(code: int) -> None:
    """Tell a server that refuses from one that is away.

    Args:
        code: The status of a response, or the code that closed a socket: those end alike.

    Raises:
        LraError: It would refuse the next time, too.
    """
    match code % _SOCKET_CODES:
        case HTTPStatus.UNAUTHORIZED:
            raise Unauthorized("The server does not take this token.", hint="It may be revoked.")
        case HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND:
            raise Denied("The server does not let this be heard.", hint="Is the session yours?")
        case _:
            return
