"""`/v1/responses`: a turn of the agent for whoever speaks that protocol."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server.callers import Chatting
from long_running_agents.server.openai.desk import Desk, response_id
from long_running_agents.server.openai.line import Line
from long_running_agents.server.openai.manner import Mannered
from long_running_agents.server.openai.response import Answer
from long_running_agents.server.openai.responses_request import ResponsesRequest


class ResponseRoutes:
    """Responses: conversations with the agent that go on from one another."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._desk = Desk(app, clock)
        self._line = Line(clock)

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["openai"])
        router.post("/v1/responses", response_model=None)(self.respond)
        return router

    async def respond(
        self, body: ResponsesRequest, http: Request, caller: Chatting, manner: Mannered
    ) -> Response:
        """Answer. What was said before is found by the response it goes on from."""
        asked = body.request(manner.session)
        following = await self._desk.begin(caller, asked, manner)
        answer = Answer(
            id=response_id(following),
            created=int(following.turn.created_at.timestamp()),
            model=body.model,
            before=following.before,
            previous=body.previous_response_id,
        )
        client = self._desk.client(http, caller, asked, manner, following)
        if asked.stream:
            return await self._line.streamed(client, following, answer.events)
        rest = await self._line.whole(client, following)
        return rest if isinstance(rest, Response) else JSONResponse(answer.whole(rest))
