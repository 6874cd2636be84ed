"""`/v1/responses`: a turn of the agent for whoever speaks that protocol."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from long_running_agents.app import App
from long_running_agents.domain.ports import Clock
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting
from long_running_agents.server.failures import OPENAI_ERRORS
from long_running_agents.server.openai.desk import Desk, response_id
from long_running_agents.server.openai.line import Line
from long_running_agents.server.openai.manner import Mannered
from long_running_agents.server.openai.naming import ALWAYS
from long_running_agents.server.openai.response import Answer
from long_running_agents.server.openai.responses_request import ResponsesRequest


class ResponseRoutes:
    """Responses: conversations with the agent that go on from one another."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._desk = Desk(app, clock)
        self._line = Line(clock)

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["openai"], responses=OPENAI_ERRORS, route_class=JsonRoute)
        router.post("/v1/responses", response_model=None)(self.respond)
        router.get("/v1/responses/{name}", response_model=None)(self.response)
        return router

    async def response(self, name: str, caller: Chatting) -> Response:
        """Look a response up. What it used is not known any more."""
        rest = await self._desk.now(caller, name)
        answer = Answer(
            id=name,
            created=int(rest.turn.created_at.timestamp()),
            model=rest.turn.model or ALWAYS,
            before=rest.turn.spent,
        )
        return JSONResponse(answer.standing(rest))

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
        if isinstance(rest, Response):
            return rest
        return JSONResponse(answer.whole(rest), headers=dict(client.headers))
