"""`/v1/chat/completions`: a turn of the agent for whoever speaks that protocol."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from long_running_agents.agent.chores import Chore, Chores
from long_running_agents.agent.run_settings import limits_of
from long_running_agents.app import App
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Mode
from long_running_agents.domain.token import Caller
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting
from long_running_agents.server.failures import OPENAI_ERRORS
from long_running_agents.server.openai import chores
from long_running_agents.server.openai.chat_request import ChatRequest
from long_running_agents.server.openai.completion import Completion
from long_running_agents.server.openai.desk import Desk
from long_running_agents.server.openai.line import Line
from long_running_agents.server.openai.manner import Mannered
from long_running_agents.server.openai.naming import model_for
from long_running_agents.server.openai.said import Request as Asked


class CompletionRoutes:
    """Chat completions: conversations with the agent, and the chores of front ends."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._desk = Desk(app, clock)
        self._line = Line(clock)
        agent = app.settings.agent
        self._chores = Chores(
            app.database, clock, app.models, limits_of(agent)[Mode.BOUNDED], agent.model.retries
        )

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["openai"], responses=OPENAI_ERRORS, route_class=JsonRoute)
        router.post("/v1/chat/completions", response_model=None)(self.complete)
        return router

    async def complete(
        self, body: ChatRequest, http: Request, caller: Chatting, manner: Mannered
    ) -> Response:
        """Answer a conversation. The model is the agent, with its tools and the client's."""
        asked = body.request(manner.session)
        metadata = body.metadata.model_dump() if body.metadata else {}
        if chores.is_chore(asked.said, metadata, tools=bool(asked.tools), stream=asked.stream):
            return await self._chore(body, asked, caller)
        following = await self._desk.begin(caller, asked, manner)
        completion = Completion(
            id=f"chatcmpl-{following.turn.id}-{following.before.steps}",
            created=int(following.turn.created_at.timestamp()),
            model=body.model,
            before=following.before,
            usage=_wants_usage(body),
        )
        client = self._desk.client(http, caller, asked, manner, following)
        if asked.stream:
            return await self._line.streamed(client, following, completion.chunks)
        rest = await self._line.whole(client, following)
        if isinstance(rest, Response):
            return rest
        return JSONResponse(completion.whole(rest), headers=dict(client.headers))

    async def _chore(self, body: ChatRequest, asked: Asked, caller: Caller) -> Response:
        done = await self._chores.run(
            caller.owner,
            Chore(
                instructions=asked.instructions,
                words=chores.words(asked.said),
                model=model_for(body.model, self._app.loaded, caller),
                most=body.max_completion_tokens or body.max_tokens,
            ),
        )
        now, spent = self._clock.now(), Spent().after_step(done.usage, tool_calls=0, seconds=0)
        completion = Completion(
            id=f"chatcmpl-{new_id('chore', now)}",
            created=int(now.timestamp()),
            model=body.model,
            before=Spent(),
            usage=_wants_usage(body),
        )
        if asked.stream:
            chunks = completion.spoken(done.text, spent)
            return StreamingResponse(chunks, media_type="text/event-stream")
        return JSONResponse(completion.message({"content": done.text}, "stop", spent))


def _wants_usage(body: ChatRequest) -> bool:
    return bool(body.stream_options and body.stream_options.include_usage)
