"""The ledger as a middleware: steps and tool calls are on disk before anyone acts on them."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from typing_extensions import override

from long_running_agents.agent import transcript
from long_running_agents.agent.model_request import ModelStreaming, picture_prompt
from long_running_agents.agent.recorder import Step, TurnRecorder
from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.events import ClientCalled, Event, TextWritten, ToolCalled
from long_running_agents.domain.policy import Allow, Decision
from long_running_agents.domain.redaction import MARK
from long_running_agents.domain.tool import (
    UNCERTAIN_MESSAGE,
    CallState,
    Effect,
    Replay,
    ToolCallRecord,
)
from long_running_agents.domain.turn import Turn, brought
from long_running_agents.models.factory import PriceList
from long_running_agents.tools.deps import effect_of
from long_running_agents.tools.gate import Gate
from long_running_agents.tools.middleware import (
    Ask,
    CodeFailed,
    Delegated,
    GivenUp,
    Middleware,
    Run,
)

_NOBODY_ASKED = "Not run: it asks for an approval that nobody here can give."
_NOT_KEPT = (
    f"Not run: there was a secret in its arguments, and where it was, only {MARK} was kept while "
    "the call waited. Let the user put the secret where it belongs."
)


@dataclass(frozen=True, slots=True)
class Ledger(Middleware):
    """Writes each step when it is complete, and each tool call before and after it runs."""

    recorder: TurnRecorder
    words: ModelStreaming
    """Knows which model answered."""
    prices: PriceList
    gate: Gate
    client: Collection[str] = frozenset()
    """The tools that the client runs itself."""

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        # Taken before it is sent: on its way the library dresses it up for one model and one place.
        request = context.messages[-1]
        assert isinstance(request, ModelRequest), "the loop always asks with a request"  # noqa: S101
        steers = self.recorder.steers
        # In place, so that the steps to come see them as well.
        request.parts = [*request.parts, *(UserPromptPart(_words(turn)) for turn in steers)]
        response = transcript.with_own_ids(await ask(context), self.recorder.calls)
        for tool in context.model_request_parameters.function_tools:
            self.gate.meet(tool)
        decisions = [await self.gate.judge(part) for part in transcript.calls_of(response)]
        facts = self._facts(request, response, context, decisions)
        await self.recorder.step(replace(facts, steers=steers))
        return response

    def _facts(
        self,
        request: ModelRequest,
        response: ModelResponse,
        context: ModelRequestContext,
        decisions: Sequence[Decision],
    ) -> Step:
        recorder = self.recorder
        now = recorder.now()
        number = recorder.spent.steps + 1
        tools = {tool.name: tool for tool in context.model_request_parameters.function_tools}
        calls = [
            ToolCallRecord(
                turn_id=recorder.turn.id,
                session_id=recorder.turn.session_id,
                call_id=part.tool_call_id,
                step=number,
                position=place,
                tool=part.tool_name,
                args=part.args_as_json_str(),
                effect=effect_of(
                    tools.get(part.tool_name), part.args_as_dict(raise_if_invalid=False)
                ),
                state=self._beginning(part, decision),
                started_at=now,
            )
            for place, (part, decision) in enumerate(
                zip(transcript.calls_of(response), decisions, strict=True)
            )
        ]
        outcomes = list(self._never_ran(request))
        return Step(
            messages=[transcript.stored(request, number), transcript.stored(response, number)],
            usage=self.prices.usage_of(response, context.messages),
            model=self.words.answering,
            calls=calls,
            outcomes=outcomes,
            decisions=decisions,
            events=[
                *(recorder.returned(call, state, told) for call, state, told in outcomes),
                *self.words.news(),
                *_said(response, calls),
            ],
        )

    def _beginning(self, part: ToolCallPart, decision: Decision) -> CallState:
        if part.tool_name in self.client:
            # One that makes no sense is refused before anybody is asked to run it.
            return CallState.WAITING if transcript.makes_sense(part) else CallState.REQUESTED
        # A call nobody has to agree to starts as soon as it is written down, so its intent needs
        # no write of its own.
        return CallState.STARTED if isinstance(decision, Allow) else CallState.REQUESTED

    def _never_ran(self, request: ModelRequest) -> Iterator[tuple[str, CallState, str]]:
        """Calls that were turned down before they ran: unknown tools and bad arguments."""
        for part in request.parts:
            if isinstance(part, ToolReturnPart):
                call = self.recorder.calls.get(part.tool_call_id)
                if call is not None and not call.state.resolved:
                    told = transcript.result_text(part.model_response_str(wrap_if_error=False))
                    yield part.tool_call_id, CallState.FAILED, told

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        record = self.recorder.calls[call.tool_call_id]
        if call.tool_name in self.client and not record.state.resolved:
            # It is on disk that the client has it: nothing runs here.
            raise CallDeferred
        match self.recorder.replay(call.tool_call_id):
            case Replay.RETURN_RESULT:
                return _again(self.recorder.calls[call.tool_call_id])
            case Replay.REPORT_UNCERTAIN:
                told = UNCERTAIN_MESSAGE.format(tool=call.tool_name)
                await self._resolve(call, CallState.UNCERTAIN, told)
                raise ToolFailed(told)
            case Replay.RUN:
                if self.recorder.lost_a_secret(call.tool_call_id):
                    await self._resolve(call, CallState.FAILED, _NOT_KEPT)
                    raise ToolFailed(_NOT_KEPT)
                return await self._run(call, run)

    async def _run(self, call: ToolCallPart, run: Run) -> Any:
        await self.recorder.start(call.tool_call_id)
        try:
            result = await run()
        except GivenUp as failure:
            once = self.recorder.calls[call.tool_call_id].effect is Effect.ONCE
            state = CallState.UNCERTAIN if once else CallState.FAILED
            await self._resolve(call, state, failure.message)
            raise
        except (ToolFailed, ModelRetry) as failure:
            heard = isinstance(failure, CodeFailed)
            await self._resolve(call, CallState.FAILED, failure.message, heard=heard)
            raise
        except Delegated:
            # The delegate is on disk, and its end writes the outcome.
            raise
        except (ApprovalRequired, CallDeferred):
            asked = self.recorder.approval(call.tool_call_id)
            if asked is not None and asked.state is ApprovalState.OPEN:
                raise
            # Nobody was asked, so nobody would ever answer.
            await self._resolve(call, CallState.FAILED, _NOBODY_ASKED)
            raise ToolFailed(_NOBODY_ASKED) from None
        await self._resolve(call, CallState.DONE, result)
        return result

    async def _resolve(
        self, call: ToolCallPart, state: CallState, result: object, *, heard: bool = False
    ) -> None:
        text = transcript.result_text(result)
        shown = result if isinstance(result, str) else text
        heard = heard or state is CallState.DONE
        source = self.gate.source(call.tool_call_id) if heard else None
        await self.recorder.resolve(call.tool_call_id, state, text, shown, source)


def _words(turn: Turn) -> str | Sequence[UserContent]:
    return picture_prompt(turn.prompt, brought(turn.client_tools).pictures)


def _again(record: ToolCallRecord) -> object:
    value = transcript.result_value(record.result)
    if record.state is CallState.DONE:
        return value
    raise ToolFailed(str(value))


def _said(response: ModelResponse, calls: Sequence[ToolCallRecord]) -> Iterator[Event]:
    if text := transcript.text_of(response):
        yield TextWritten(text=text)
    for part, call in zip(transcript.calls_of(response), calls, strict=True):
        yield ToolCalled(
            tool=part.tool_name,
            input=part.args_as_dict(raise_if_invalid=False),
            tool_call_id=part.tool_call_id,
            effect=call.effect,
        )
        if call.state is CallState.WAITING:
            yield ClientCalled(
                tool=part.tool_name,
                input=part.args_as_dict(raise_if_invalid=False),
                tool_call_id=part.tool_call_id,
            )
