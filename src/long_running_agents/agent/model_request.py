"""Middlewares of a model request: streaming, limits, pictures, the answer's form; side requests."""

import asyncio
import mimetypes
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tools import RunContext
from typing_extensions import override

from long_running_agents.agent import transcript
from long_running_agents.agent.budgets import BudgetBook, RequestAccount
from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.domain import text as domain_text
from long_running_agents.domain.budget import (
    BudgetNode,
    BudgetScope,
    Limits,
    RequestSize,
    Reservation,
    Spent,
    Usage,
    estimate_tokens,
)
from long_running_agents.domain.events import (
    Event,
    ModelFellBack,
    PromptTruncated,
    RequestRetried,
    StepBegan,
    WordsArrived,
)
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import AnswerForm
from long_running_agents.errors import BadAnswer, CannotSee, UsageError
from long_running_agents.models.factory import ModelSource, PriceList, weigh
from long_running_agents.models.quirks import ability_of
from long_running_agents.models.retry import FallbackChoice, RetryingModel, Truncation, taken
from long_running_agents.skills.trial import complaints
from long_running_agents.store import budgets, usage
from long_running_agents.store.database import Transaction
from long_running_agents.tools.middleware import Ask, Middleware, Run

Choices = Callable[[], Sequence[FallbackChoice]]
"""The models to ask now: looked up at each step, so that a switch is heard at the next one."""


@dataclass
class ModelStreaming(Middleware):
    """Asks the chosen model, or its fallbacks, and passes the words on while they come."""

    recorder: TurnRecorder
    choices: Choices
    retries: int
    limits: Limits
    clock: Clock
    heard: list[str] = field(default_factory=list[str])
    """The words of the step under way: what a stopped turn leaves behind."""

    def __post_init__(self) -> None:
        self.answering = self.choices()[0].name
        """The model that answered last."""
        self._fallback: ModelFellBack | None = None
        self._truncated: PromptTruncated | None = None
        self._known_to_truncate: set[str] = set()

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        self.heard.clear()
        choices = self.choices()
        self.answering = choices[0].name
        self._fallback = self._truncated = None
        spent, limits = self.recorder.allowance(self.limits)
        self.recorder.publish_delta(
            StepBegan(
                iteration=spent.steps + 1,
                max_iterations=limits.steps,
                tokens_used=spent.total_tokens,
                token_budget=limits.tokens,
                task_summary=await self.recorder.task_summary(),
            )
        )
        context.model = RetryingModel(
            choices, retries=self.retries, clock=self.clock, listener=self
        )
        response, truncation = taken(await ask(context))
        self.recorder.heard(cut_off=response.finish_reason == "length")
        if truncation is not None:
            await self._warn(truncation, choices)
        return response

    async def _warn(self, truncation: Truncation, choices: Sequence[FallbackChoice]) -> None:
        """Say that the model does not see all of it, unless this session has heard so."""
        model = self.answering
        if model in self._known_to_truncate:
            return
        self._known_to_truncate.add(model)
        roomier = {choice.name: choice.roomier for choice in choices}[model]
        fitted = f"Or set agent.model.context_window to {truncation.read}: requests then fit."
        news = PromptTruncated(
            model=model,
            sent_tokens=truncation.sent,
            window=truncation.read,
            hint=f"{roomier} {fitted}".lstrip(),
        )
        told = await self.recorder.told(news.type)
        if not any(isinstance(each, PromptTruncated) and each.model == model for each in told):
            self._truncated = news

    def news(self) -> list[Event]:
        """What the step's facts should say about the model."""
        return [event for event in (self._fallback, self._truncated) if event is not None]

    def words(self, text: str) -> None:
        """A few more words arrived."""
        self.heard.append(text)
        self.recorder.publish_delta(
            WordsArrived(text=text, iteration=self.recorder.spent.steps + 1)
        )

    def again(self, model: str, reason: str, wait: float) -> None:
        """A request failed; what was heard of this step is void."""
        self.heard.clear()
        self.recorder.publish_delta(
            RequestRetried(
                model=model,
                reason=reason,
                wait_seconds=wait,
                iteration=self.recorder.spent.steps + 1,
            )
        )

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        """Another model is asked from here on."""
        self.again(answering, reason, 0.0)
        self.answering = answering
        self._fallback = ModelFellBack(asked=asked, answered=answering, reason=reason)


@dataclass(slots=True)
class BudgetGuard(Middleware):
    """Stops a turn at the limits that no request can bring it beyond, and calls beyond them."""

    recorder: TurnRecorder

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        # The models reserve the rest, each attempt for itself.
        self.recorder.account.check()
        return await ask(context)

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        most = self.recorder.account.own().limits.tool_calls
        if most is not None and list(self.recorder.calls).index(call.tool_call_id) >= most:
            raise ToolFailed(f"Not run: all {most} tool calls of this turn are used.")
        return await run()


_TIGHT = "# Budget\nMost of the {resource} for this {scope} is used."
_GO_ON = "Take the shortest way to the goal."
_WRAP_UP = "Finish now: say what is done and what is left, and call no more tools."
_MANY = 1_000
"""Tokens of an answer by which the price of one is found."""


def bounded(
    choices: Sequence[FallbackChoice], account: RequestAccount, prices: PriceList
) -> list[FallbackChoice]:
    """The same models, each of which is asked only for what the budgets cover."""
    return [
        replace(each, model=BudgetedModel(each.model, each.name, account, prices))
        for each in choices
    ]


class BudgetedModel(WrapperModel):
    """A model of which no more is asked than the budgets cover: each attempt is reserved."""

    def __init__(
        self, wrapped: Model, name: str, account: RequestAccount, prices: PriceList
    ) -> None:
        super().__init__(wrapped)
        self._name = name
        self._account = account
        self._prices = prices

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        settings, parameters = model_settings or ModelSettings(), model_request_parameters
        taken = await self._account.reserve(
            lambda most: self._size(messages, settings, parameters, most)
        )
        asked = model_settings
        if taken.output_tokens is not None:
            asked = merge_model_settings(settings, ModelSettings(max_tokens=taken.output_tokens))
        told = _told(parameters, taken)
        answered = 0
        try:
            async with self.wrapped.request_stream(messages, asked, told) as stream:
                try:
                    yield stream
                except Exception:
                    answered = weigh(stream.get()) // 3
                    raise
        except Exception:
            if self._account.held:
                await self._account.give_back(answered)
            raise

    def _size(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
        most: int | None,
    ) -> RequestSize:
        length = sum(weigh(message) for message in messages)
        length += sum(len(part.content) for part in parameters.instruction_parts or ())
        length += sum(
            len(tool.description or "") + len(str(tool.parameters_json_schema))
            for tool in parameters.function_tools
        )
        tokens, prices = estimate_tokens(length), self._prices
        price = prices.of_request(self.wrapped, tokens)
        with_answer = prices.of_request(self.wrapped, tokens, _MANY)
        return RequestSize(
            model=self._name,
            input_tokens=tokens,
            output_tokens=settings.get("max_tokens", most),
            input_cost=price,
            token_cost=((with_answer or price or Decimal(0)) - (price or Decimal(0))) / _MANY,
        )


def _told(parameters: ModelRequestParameters, taken: Reservation) -> ModelRequestParameters:
    """A request that says what is tight, in words that stay the same from step to step."""
    if taken.tight is None:
        return parameters
    said = _TIGHT.format(resource=taken.tight.resource, scope=taken.tight.scope)
    note = InstructionPart(f"{said} {_WRAP_UP if taken.wrap_up else _GO_ON}")
    return replace(parameters, instruction_parts=[*(parameters.instruction_parts or ()), note])


NO_SESSION = SessionId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRequest:
    """What is asked."""

    instructions: str
    words: str
    model: str | None = None
    """Another model than the configured one."""
    most: int | None = None
    """Tokens that the answer may have."""
    session_id: SessionId = NO_SESSION
    """The session it is made for, if it is for one."""
    chore: str = "chore"
    """How its id begins, by which its usage is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideResponse:
    """What came of it."""

    text: str
    usage: Usage


class _NoListener:
    """Nobody listens to the words of a request."""

    def __init__(self, model: str) -> None:
        self.answering = model

    def words(self, text: str) -> None:
        del text

    def again(self, model: str, reason: str, wait: float) -> None:
        del model, reason, wait

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        del asked, reason
        self.answering = answering


@dataclass(frozen=True, slots=True)
class SideRequests:
    """Makes requests beside turns, within the same budgets."""

    book: BudgetBook
    models: ModelSource
    limits: Limits
    """What one may use."""
    retries: int
    prices: PriceList = field(default_factory=PriceList)

    async def run(self, owner: str, request: SideRequest) -> SideResponse:
        """Let the model answer.

        Raises:
            LimitReached: A budget does not cover it.
        """
        book, now = self.book, self.book.clock.now()
        own = BudgetNode(scope=BudgetScope.TURN, key="", limits=self.limits, spent=Spent())
        account = RequestAccount(
            book=book,
            id=new_id(request.chore, now),
            owner=owner,
            session_id=request.session_id,
            own=lambda: own,
        )
        choices = bounded(self.models.choices(request.model), account, self.prices)
        listener = _NoListener(choices[0].name)
        model = RetryingModel(choices, retries=self.retries, clock=book.clock, listener=listener)
        most, messages = request.most, _messages(request)
        settings = ModelSettings() if most is None else ModelSettings(max_tokens=most)
        try:
            response = await model.request(messages, settings, ModelRequestParameters())
        except BaseException:
            # Whoever asked may have gone away: no turn comes to rest that would settle it.
            if account.held:
                await asyncio.shield(account.give_back(None))
            raise
        used, turn_id = self.prices.usage_of(response, messages), TurnId(account.id)

        def work(tx: Transaction) -> None:
            budgets.release(tx, account.id)
            model = listener.answering
            usage.record(tx, request.session_id, turn_id, 1, model, used, now, owner=owner)

        await book.database.write(work)
        account.settled()
        return SideResponse(text=transcript.text_of(response), usage=used)


def _messages(request: SideRequest) -> list[ModelMessage]:
    told = [SystemPromptPart(request.instructions)] if request.instructions else []
    return [ModelRequest(parts=[*told, UserPromptPart(request.words)])]


_SCHEME = "picture:"
_UNSEEN = "[A picture was shown here that cannot be seen now.]"


def picture_prompt(text: str, shown: Collection[str]) -> str | Sequence[UserContent]:
    """A user's message as the log keeps it."""
    return [text, *(ImageUrl(_SCHEME + each) for each in shown)] if shown else text


def must_see(choice: FallbackChoice) -> None:
    """Refuse a model that is known to see no pictures."""
    ability = ability_of(choice.model)
    if ability is not None and not ability.pictures:
        raise CannotSee.of(choice.name)


@dataclass
class Pictures(Middleware):
    """Puts the pictures themselves into a request, where the log only names them."""

    recorder: TurnRecorder
    new: Collection[str]
    """Those of the turn under way: a model that does not see them cannot answer it."""
    choices: Choices

    def __post_init__(self) -> None:
        # The same object each time: whoever measures messages measures each once.
        self._shown: dict[tuple[int, bool], tuple[ModelMessage, ModelMessage]] = {}

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        named = [(each, _names(each)) for each in context.messages]
        sees = self._sees({name for _, names in named for name in names})
        new = [
            (each, names) for each, names in named if names and (id(each), sees) not in self._shown
        ]
        found = dict[str, bytes]()
        if new and sees:
            found = await self.recorder.pictures({name for _, names in new for name in names})
        for each, _ in new:
            self._shown[id(each), sees] = each, _shown(each, found)
        context.messages = [
            self._shown[id(each), sees][1] if names else each for each, names in named
        ]
        return await ask(context)

    def _sees(self, names: Collection[str]) -> bool:
        try:
            if names:
                must_see(self.choices()[0])
        except CannotSee:
            if not set(names).isdisjoint(self.new):
                raise
            return False
        return True


def picture_names(part: object) -> list[str]:
    """What the pictures are called that a part of a message shows."""
    items = part.content if isinstance(part, UserPromptPart) else ""
    if isinstance(items, str):
        return []
    return [each.url.removeprefix(_SCHEME) for each in items if isinstance(each, ImageUrl)]


def _names(message: ModelMessage) -> list[str]:
    return [name for part in message.parts for name in picture_names(part)]


def _shown(message: ModelMessage, found: Mapping[str, bytes]) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[_part(part, found) for part in message.parts])


def _part(part: ModelRequestPart, found: Mapping[str, bytes]) -> ModelRequestPart:
    if not isinstance(part, UserPromptPart) or not (names := picture_names(part)):
        return part
    words = [each for each in part.content if not isinstance(each, ImageUrl)]
    return replace(part, content=[*words, *(_picture(name, found.get(name)) for name in names)])


def _picture(name: str, data: bytes | None) -> UserContent:
    kind = mimetypes.guess_type(name)[0] or "image/png"
    return _UNSEEN if data is None else BinaryContent(data, media_type=kind)


_FENCED = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_ANY = {"type": "object"}


@dataclass
class StructuredOutput(Middleware):
    """Looks after the form of a turn's answer."""

    form: AnswerForm
    recorder: TurnRecorder
    choices: Choices
    again: bool = False
    """Whether it was asked for once more."""

    async def read(self, text: str) -> tuple[str, str]:
        """An answer as it is passed on, and what is wrong with it; empty when nothing is."""
        tool = self.form.tool
        if tool and all(call.tool != tool for call in self.recorder.calls.values()):
            return text, f"the tool {tool} has to be called, and was not"
        if not self.form.json:
            return text, ""
        return await asyncio.to_thread(_json, self.form, text.strip())

    def repair(self, history: Sequence[ModelMessage], wrong: str) -> list[ModelMessage]:
        """What to ask with for another answer.

        Raises:
            BadAnswer: It was asked for once more already.
        """
        if any(isinstance(part, RetryFeedbackPart) for part in history[-2].parts):
            raise BadAnswer(
                f"The model's answer is not in the form that was asked for: {wrong}.",
                hint="It was told so once. Ask for a simpler form, or choose another model.",
            )
        self.again = True
        told = f"Your answer is not in the form that was asked for: {wrong}. Answer again."
        feedback = RetryFeedbackPart(told, retry=RetryInfo("model_retry"))
        return [*history, ModelRequest(parts=[feedback])]

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        if not self.again:
            return await ask(context)
        parameters = context.model_request_parameters
        context.model_request_parameters = self._narrowed(parameters)
        response = await ask(context)
        context.model_request_parameters = parameters
        return response

    def _narrowed(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        """Nothing but the form is left to do: the server may see to that, where it can."""
        form = self.form
        if form.tool and not form.json:
            only = [tool for tool in parameters.function_tools if tool.name == form.tool]
            return replace(parameters, function_tools=only, allow_text_output=False)
        known = [ability_of(choice.model) for choice in self.choices()]
        if not all(ability is not None and ability.structured for ability in known):
            return replace(parameters, function_tools=[])
        schema = _ANY if form.schema is None else dict(form.schema)
        wanted = OutputObjectDefinition(schema, name=form.name)
        return replace(parameters, function_tools=[], output_mode="native", output_object=wanted)


def _json(form: AnswerForm, text: str) -> tuple[str, str]:
    fenced = _FENCED.match(text)
    inner = fenced[1] if fenced else text
    try:
        value: object = domain_text.parse(inner)
    except UsageError as error:
        return "", error.message.rstrip(".")
    return inner, complaints(_ANY if form.schema is None else dict(form.schema), value)
