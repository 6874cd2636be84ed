"""The routes of OpenAI's protocols, and how they start and follow turns."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from long_running_agents.agent.hub import Subscriber
from long_running_agents.agent.model_request import SideRequest
from long_running_agents.app import App
from long_running_agents.config import LoadedSettings
from long_running_agents.domain import ids
from long_running_agents.domain.agent import AgentStage
from long_running_agents.domain.auth import Caller, TokenScope
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.events import TurnFailed
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.picture import from_urls
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import SessionOrigin
from long_running_agents.domain.turn import ClientRequest, Terms, Turn, TurnStatus, brought
from long_running_agents.errors import ConfigError, NotConfigured, NotFound, UsageError
from long_running_agents.models import names
from long_running_agents.models.chat_protocol import Completion
from long_running_agents.server.auth import Chatting
from long_running_agents.server.errors import OPENAI_ERRORS
from long_running_agents.server.http import Routes, ServerContext, route
from long_running_agents.server.openai import history
from long_running_agents.server.openai.history import (
    ConversationRequest,
    ConversationService,
    HistoryEntry,
    NewestEntries,
    SpeakerRole,
    digest,
    exchanges,
    newest,
)
from long_running_agents.server.openai.render import CompletionRenderer, ResponseRenderer
from long_running_agents.server.openai.requests import CompletionRequest, ResponsesRequest
from long_running_agents.server.openai.stream import (
    OpenAIClient,
    SseWriter,
    TextAssembler,
    TurnAtRest,
    TurnStream,
)

ALWAYS = "lra"
"""A name that the agent has in every home."""


def agent_names(loaded: LoadedSettings) -> tuple[str, ...]:
    """What the agent itself is called."""
    return loaded.settings.agent.name, ALWAYS


def model_names(loaded: LoadedSettings) -> list[str]:
    """The models that anybody may ask for: those of the settings."""
    chosen = loaded.settings.agent.model
    return [name for name in (names.configured_name(chosen), *chosen.fallback) if name]


def listed(loaded: LoadedSettings) -> Sequence[str]:
    """Every name that a client is shown."""
    return list(dict.fromkeys([*agent_names(loaded), *model_names(loaded)]))


_AGENT = "agent:"
"""What the name of a published agent begins with, among the models."""


async def agent_for(asked: str, app: App, caller: Caller) -> str | None:
    """The published agent that is asked for as a model; None for a model.

    Raises:
        NotFound: There is no agent of this name, or not for this caller.
    """
    if not asked.startswith(_AGENT):
        return None
    return (await app.registry.of(caller.owner).published(asked.removeprefix(_AGENT))).name


def model_for(asked: str, loaded: LoadedSettings, caller: Caller) -> str | None:
    """The model to ask for a turn; None for the session's own.

    Whoever may change the settings may name any model: it says where a conversation is sent.

    Raises:
        NotFound: There is no model of this name, or not for this caller.
    """
    if asked in agent_names(loaded):
        return None
    if asked in model_names(loaded):
        return asked
    if caller.may(TokenScope.ADMIN) and (":" in asked or "#" in asked):
        try:
            names.require(
                names.parse(asked, loaded.settings.agent.model),
                loaded.settings.agent.model,
                loaded.variables,
            )
        except (ConfigError, NotConfigured) as error:
            raise NotFound(f"The model {asked!r} cannot be asked: {error}") from error
        return asked
    raise NotFound(f"There is no model {asked!r}.", hint=f"Ask for {', '.join(listed(loaded))}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """How a client wants to be served."""

    session: Annotated[str | None, Header(alias="x-lra-session")] = None
    """The session it names."""
    attended: Annotated[bool, Header(alias="x-lra-attended")] = False
    """Whether a person is there who answers approvals elsewhere."""
    detached: Annotated[bool, Header(alias="x-lra-detach")] = False
    """Whether the turn goes on when the client goes away."""
    activity: Annotated[bool, Header(alias="x-lra-activity")] = False
    """Whether the client wants to read what the agent does meanwhile."""
    key: Annotated[str | None, Header(alias="idempotency-key", max_length=200)] = None
    """What names the request."""


Mannered = Annotated[RequestOptions, Depends(RequestOptions)]
"""What the headers of a request say."""


_RESPONSE = re.compile(r"resp_(turn_[0-9a-z]+)_(\d{1,9})")
"""The id of a response: which turn it is of, and how far that had come before it."""


class OpenAIAgentApi:
    """The turns and conversations of one caller."""

    def __init__(self, app: App, clock: Clock, caller: Caller) -> None:
        self._app = app
        self._clock = clock
        self._caller = caller
        self._turns = app.turns.of(caller.owner)
        self._conversations = ConversationService(app.database, clock, caller.owner)

    async def response(self, name: str) -> tuple[Turn, int]:
        """The turn that a response is of, and how far that had come before it."""
        with suppress(NotFound):
            if named := _RESPONSE.fullmatch(name):
                return await self._turns.get(TurnId(named[1])), int(named[2])
        raise NotFound(f"No response {name!r}.")

    async def now(self, name: str) -> TurnAtRest:
        """A response as it stands now, whether the turn has come to rest or not."""
        turn, step = await self.response(name)
        text, calls = await self._conversations.since(turn, step)
        if _formed(turn):
            text = turn.answer
        failed = turn.status is TurnStatus.FAILED
        failure = TurnFailed(code="failed", message=turn.error) if failed else None
        limit = [turn.answer] if turn.status is TurnStatus.LIMITED else []
        return TurnAtRest(turn, calls, failure, "\n\n".join(filter(None, [text, *limit])))


class OpenAIConversation(OpenAIAgentApi):
    """Takes one request of any protocol to the turns of whoever asks."""

    def __init__(
        self,
        app: App,
        clock: Clock,
        caller: Caller,
        request: ConversationRequest,
        options: RequestOptions,
    ) -> None:
        super().__init__(app, clock, caller)
        self._request = request
        self._options = options

    async def begin(self) -> TurnStream:
        """Begin a turn, or go on with one that waits for its client.

        Raises:
            UsageError: Nothing new is said, or results are for calls that nobody made.
            NotFound: The session, the response or the model is not there, or not the caller's.
        """
        request = self._request
        agent = await agent_for(request.model, self._app, self._caller)
        model = None if agent else model_for(request.model, self._app.loaded, self._caller)
        new = newest(request.said)
        shown = from_urls(new.pictures)
        previous = None if request.previous is None else (await self.response(request.previous))[0]
        if new.results:
            turn = await self._waiting(new, previous)
            if not new.words:
                return await self._go_on(turn, new)
            await self._turns.deliver(turn.id, new.results, go_on=False)
            session = turn.session_id
        else:
            session = await self._session(new, previous)
        # With a session of its own, all but the last words are history that was sent along.
        words = new.words[-1] if request.session else "\n\n".join(new.words)
        brings = ClientRequest(
            instructions=request.instructions, tools=request.tools, form=request.form
        )
        terms = Terms(
            client_tools=brings.to_json(),
            key=self._options.key,
            origin=SessionOrigin.OPENAI,
            title=new.words[-1],
            pictures=shown,
            agent=agent,
        )
        return await self._start(session, words, model, terms)

    def client(self, http: Request, following: TurnStream) -> OpenAIClient:
        """Whoever is at the other end, and what is done for them."""

        async def leave() -> None:
            if not self._options.detached:
                await self._turns.stop_turn(following.turn.id)

        told = {
            "X-LRA-Session": ids.shown(following.turn.session_id),
            "X-LRA-Turn": following.turn.id,
        }
        return OpenAIClient(http=http, keep=self._keep, leave=leave, headers=told)

    async def _keep(self, rest: TurnAtRest) -> None:
        """Remember the conversation as the client will tell it next time."""
        if self._request.session is not None or self._request.previous is not None:
            # It told a part: the same few words may begin another conversation.
            return
        calls = tuple(call.call_id for call in rest.calls)
        answer = HistoryEntry(role=SpeakerRole.ASSISTANT, text=rest.sent, calls=calls)
        await self._conversations.keep(digest([*self._request.said, answer]), rest.turn)

    async def _waiting(self, new: NewestEntries, previous: Turn | None) -> Turn:
        """The turn that results are for."""
        turn = previous
        if turn is None and self._request.session is not None:
            turn = await self._conversations.current(self._key(self._request.session))
        elif turn is None:
            turn = await self._conversations.find(digest(new.before))
            if turn is None:
                turn = await self._conversations.waiting_for(list(new.results))
        if turn is None or turn.status is not TurnStatus.WAITING:
            raise UsageError(
                "No turn waits for these results.",
                hint="Each call is answered once, and before anything else is said.",
            )
        return turn

    async def _session(self, new: NewestEntries, previous: Turn | None) -> SessionId:
        """The session that new words are for."""
        request, key, conversations = self._request, self._options.key, self._conversations
        made_up = self._caller.key(new_id("session", self._clock.now()))
        if request.session is not None:
            return self._key(request.session)
        if key is not None and (begun := await conversations.begun(key)):
            return begun.session_id
        if previous is not None:
            return await self._after(previous)
        if new.before and (known := await conversations.find(digest(new.before))):
            return known.session_id
        if told := exchanges(new.before):
            await conversations.adopt(told, made_up)
            return made_up
        return self._of_user() or made_up

    def _of_user(self) -> SessionId | None:
        """The session that a client's user names, if it can be the name of one."""
        with suppress(UsageError):
            return self._key(self._request.user or "")
        return None

    def _key(self, name: str) -> SessionId:
        return self._caller.key(ids.session_id(name))

    async def _after(self, previous: Turn) -> SessionId:
        """The session of a response; if that went on since, a copy up to there."""
        if await self._conversations.is_last(previous):
            return previous.session_id
        sessions = self._app.sessions.of(self._caller.owner)
        return (await sessions.fork(previous.session_id, at=previous.id)).id

    async def _go_on(self, turn: Turn, new: NewestEntries) -> TurnStream:
        after = await self._conversations.position(turn.session_id)
        listener = self._turns.listen(turn.session_id, after)
        await self._turns.deliver(turn.id, new.results)
        return self._stream(turn, listener, after)

    async def _start(
        self, session: SessionId, words: str, model: str | None, terms: Terms
    ) -> TurnStream:
        began = self._clock.now()
        position = await self._conversations.position(session)
        listener = self._turns.listen(session, position)
        attended = self._options.attended
        turn = await self._turns.start(session, words, attended=attended, model=model, terms=terms)
        # A request that was made before has begun its turn then.
        return self._stream(turn, listener, 0, late=turn.created_at < began)

    def _stream(
        self, turn: Turn, listener: Subscriber, after: int, *, late: bool = False
    ) -> TurnStream:
        assembler = TextAssembler(
            activity=self._options.activity,
            late=late,
            whole=not self._request.stream,
            formed=_formed(turn),
        )
        return TurnStream(self._turns, self._conversations, turn, listener, after, assembler)


def _formed(turn: Turn) -> bool:
    """Whether a program reads the answer: then it hears nothing else."""
    form = brought(turn.client_tools).form
    return form is not None and form.json


class ModelObject(BaseModel):
    """One name that can be asked."""

    id: str
    object: str = "model"
    created: int
    owned_by: str = "long-running-agents"


class ModelObjects(BaseModel):
    """All of them."""

    object: str = "list"
    data: list[ModelObject]


class OpenAIRoutes(Routes, tag="openai", responses=OPENAI_ERRORS):
    """Conversations with the agent, the chores of front ends, and the names that can be asked."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        clock = self._clock
        self._created = int(clock.now().timestamp())
        self._line = SseWriter(clock)

    @route("GET /v1/models")
    async def models(self, caller: Chatting) -> ModelObjects:
        """List what can be asked: the agent first, then its models, then published agents."""
        return ModelObjects(data=await self._cards(caller))

    @route("GET /v1/models/{name:path}")
    async def model(self, name: str, caller: Chatting) -> ModelObject:
        """Look one up."""
        for card in await self._cards(caller):
            if card.id == name:
                return card
        raise NotFound(f"There is no model {name!r}.", hint="/v1/models lists them.")

    async def _cards(self, caller: Caller) -> list[ModelObject]:
        ours = [ModelObject(id=name, created=self._created) for name in listed(self._app.loaded)]
        every = await self._app.registry.of(caller.owner).every()
        return ours + [
            ModelObject(id=f"{_AGENT}{each.name}", created=int(each.created_at.timestamp()))
            for each in every
            if each.stage is AgentStage.PUBLISHED
        ]

    @route("POST /v1/chat/completions", response_model=None)
    async def complete(
        self, body: CompletionRequest, http: Request, caller: Chatting, manner: Mannered
    ) -> Response:
        """Answer a conversation. The model is the agent, with its tools and the client's."""
        asked = body.request(manner.session)
        metadata = body.metadata.model_dump() if body.metadata else {}
        work = bool(asked.tools) or asked.form is not None
        if history.is_chore(asked.said, metadata, tools=work, stream=asked.stream):
            return await self._chore(body, asked, caller)
        conversation = OpenAIConversation(self._app, self._clock, caller, asked, manner)
        following = await conversation.begin()
        turn, before = following.turn, following.before
        completion = _renderer(body, f"{turn.id}-{before.steps}", turn.created_at, before)
        client = conversation.client(http, following)
        return await self._line.answered(client, following, completion, stream=asked.stream)

    async def _chore(
        self, body: CompletionRequest, asked: ConversationRequest, caller: Caller
    ) -> Response:
        agent = await agent_for(body.model, self._app, caller)
        model = None if agent else model_for(body.model, self._app.loaded, caller)
        done = await self._app.side_requests.run(
            caller.owner,
            SideRequest(
                instructions=asked.instructions,
                words=history.words(asked.said),
                model=model,
                most=body.max_completion_tokens or body.max_tokens,
            ),
        )
        now, spent = self._clock.now(), Spent().after_step(done.usage, tool_calls=0, seconds=0)
        completion = _renderer(body, new_id("chore", now), now, Spent())
        if asked.stream:
            chunks = completion.spoken(done.text, spent)
            return StreamingResponse(chunks, media_type="text/event-stream")
        return JSONResponse(completion.message({"content": done.text}, "stop", spent))

    @route("POST /v1/responses", response_model=None)
    async def respond(
        self, body: ResponsesRequest, http: Request, caller: Chatting, manner: Mannered
    ) -> Response:
        """Answer. What was said before is found by the response it goes on from."""
        asked = body.request(manner.session)
        conversation = OpenAIConversation(self._app, self._clock, caller, asked, manner)
        following = await conversation.begin()
        answer = ResponseRenderer(
            id=f"resp_{following.turn.id}_{following.before.steps}",
            created=int(following.turn.created_at.timestamp()),
            model=body.model,
            before=following.before,
            previous=body.previous_response_id,
            form=asked.form,
        )
        client = conversation.client(http, following)
        return await self._line.answered(client, following, answer, stream=asked.stream)

    @route("GET /v1/responses/{name}", response_model=None)
    async def response(self, name: str, caller: Chatting) -> Response:
        """Look a response up. What it used is not known any more."""
        rest = await OpenAIAgentApi(self._app, self._clock, caller).now(name)
        answer = ResponseRenderer(
            id=name,
            created=int(rest.turn.created_at.timestamp()),
            model=rest.turn.model or ALWAYS,
            before=rest.turn.spent,
            form=brought(rest.turn.client_tools).form,
        )
        return JSONResponse(answer.standing(rest))


def _renderer(
    body: CompletionRequest, key: str, moment: datetime, before: Spent
) -> CompletionRenderer:
    created = int(moment.timestamp())
    completion = Completion(model=body.model, created=created, id=f"chatcmpl-{key}")
    usage = bool(body.stream_options and body.stream_options.include_usage)
    return CompletionRenderer(completion=completion, before=before, usage=usage)
