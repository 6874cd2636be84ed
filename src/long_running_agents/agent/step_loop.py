"""The loop of a turn's steps: ask the model, run the calls it asks for, and ask again."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ContentFilterError,
    ModelRetry,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    RetryInfo,
    TextPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tool_manager import ToolManager, ValidatedToolCall
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, ToolsetTool
from pydantic_ai.usage import RunUsage
from typing_extensions import override

from long_running_agents.agent import transcript
from long_running_agents.agent.model_request import Choices
from long_running_agents.observe.observers import Observers, RunObservation
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.middleware import MiddlewareStack

Prompt = str | Sequence[UserContent]
"""What a user says, and shows."""
Tools = dict[str, ToolsetTool[TurnDeps]]
CallResult = tuple[ModelRequestPart, str | Sequence[UserContent] | None]
"""What came of a call, and what its tool shows beside it."""
T = TypeVar("T")

_RETRIES = 1_000_000
"""The step limit bounds repetitions; a model that errs in its calls may err until then."""
_EMPTY_ANSWERS = 3
"""Answers without a word or a call after which the model is asked for one."""

Known = dict[int, tuple[Mapping[str, object], Tools]]
"""By the id of a toolset whose tools are the same at every step: its functions, and the tools."""


@dataclass
class Toolbox(CombinedToolset[TurnDeps]):
    """The toolsets of one run as one; those that do not change are asked once for all runs."""

    known: Known
    _sources: dict[str, AbstractToolset[TurnDeps]] = field(
        init=False, default_factory=dict[str, AbstractToolset[TurnDeps]]
    )

    def __post_init__(self) -> None:
        # One that is made for a run would be kept for ever.
        self._lasting = {id(each) for each in self.toolsets}

    @override
    async def for_run(self, ctx: RunContext[TurnDeps]) -> "Toolbox":
        self.toolsets = [await each.for_run(ctx) for each in self.toolsets]
        return self

    @override
    async def for_run_step(self, ctx: RunContext[TurnDeps]) -> "Toolbox":
        self.toolsets = [await each.for_run_step(ctx) for each in self.toolsets]
        return self

    @override
    async def get_tools(self, ctx: RunContext[TurnDeps]) -> Tools:
        found: Tools = {}
        for toolset in self.toolsets:
            for name, tool in (await self._offered(toolset, ctx)).items():
                if name in found:
                    raise UserError(f"Two tools are called {name!r}.")
                found[name] = tool
                self._sources[name] = toolset
        return found

    async def _offered(
        self, toolset: AbstractToolset[TurnDeps], ctx: RunContext[TurnDeps]
    ) -> Tools:
        plain = type(toolset).get_tools is FunctionToolset.get_tools
        functions = toolset.tools if isinstance(toolset, FunctionToolset) and plain else {}
        # What is prepared for a step may be another at each.
        prepared = any(each.prepare for each in functions.values())
        if not functions or prepared or id(toolset) not in self._lasting:
            return await toolset.get_tools(ctx)
        known = self.known.get(id(toolset))
        if known is None or known[0] != functions:
            tools = {name: _told(tool) for name, tool in (await toolset.get_tools(ctx)).items()}
            known = self.known[id(toolset)] = dict(functions), tools
        return known[1]

    @override
    async def get_instructions(self, ctx: RunContext[TurnDeps]) -> list[InstructionPart]:
        parts: list[InstructionPart] = []
        for toolset in self.toolsets:
            told = await toolset.get_instructions(ctx) or ()
            each = [told] if isinstance(told, str | InstructionPart) else told
            parts += [InstructionPart(one) if isinstance(one, str) else one for one in each]
        return parts

    @override
    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[TurnDeps],
        tool: ToolsetTool[TurnDeps],
    ) -> Any:
        return await self._sources[name].call_tool(name, tool_args, ctx, tool)


def _told(tool: ToolsetTool[TurnDeps]) -> ToolsetTool[TurnDeps]:
    """A tool without what its model would leave out of every request by copying it."""
    told = tool.tool_def
    return (
        tool
        if told.include_return_schema
        else replace(tool, tool_def=replace(told, return_schema=None))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLoop:
    """Asks the model and runs the calls it asks for, step by step, until it answers.

    Models, toolsets, messages and the run context are Pydantic AI's; the loop is ours, with the
    middleware directly around each request and each call.
    """

    choices: Choices
    """The model to ask at this moment, then its fallbacks."""
    toolbox: Toolbox
    """What it offers may change from step to step."""
    deps: TurnDeps
    settings: ModelSettings
    instructions: Callable[[], str]
    """What each request begins with: rules may be pinned while a turn runs."""
    stack: MiddlewareStack
    observers: Observers

    async def run(
        self, prompt: Prompt | None, history: Sequence[ModelMessage]
    ) -> tuple[str | None, list[ModelMessage]]:
        """Go on from where the history ends, if need be with calls that are open there.

        Returns:
            The answer, or None when a call waits for somebody; and the conversation up to there.
        """
        messages = repair_messages(history, repair_last_response=False)
        if prompt is not None:
            messages.append(ModelRequest(parts=[UserPromptPart(prompt)]))
        ctx = RunContext(
            deps=self.deps,
            model=self.choices()[0].model,
            usage=RunUsage(),
            prompt=prompt,
            messages=messages,
            max_retries=_RETRIES,
        )
        seen = RunObservation(self.deps.turn, ctx.model.model_name, messages, ctx.usage)
        tools = ToolManager(await self.toolbox.for_run(ctx), default_max_retries=_RETRIES)
        with self.observers.run(seen):
            async with self.toolbox:
                seen.output = await self._steps(ctx, tools)
        return seen.output, messages

    async def _steps(self, ctx: RunContext[TurnDeps], tools: ToolManager[TurnDeps]) -> str | None:
        messages = ctx.messages
        last, empty = messages[-1], 0
        while True:
            ctx = replace(ctx, run_step=ctx.run_step + 1)
            tools = await tools.for_run_step(ctx)
            if isinstance(last, ModelRequest):
                last = await self._ask(ctx, tools, last)
                messages.append(last)
            if calls := transcript.calls_of(last):
                parts = await self._run_calls(tools, calls)
                if parts is None:
                    return None
            elif text := "".join(part.content for part in last.parts if isinstance(part, TextPart)):
                return text
            else:
                empty += 1
                parts = [_ask_for_words(last, empty, tools=bool(tools.tools))]
            last = ModelRequest(parts=parts)
            messages.append(last)

    async def _ask(
        self, ctx: RunContext[TurnDeps], tools: ToolManager[TurnDeps], request: ModelRequest
    ) -> ModelResponse:
        parts = [InstructionPart(self.instructions()), *await self.toolbox.get_instructions(ctx)]
        request.instructions = InstructionPart.join(parts)
        model = self.choices()[0].model
        context = ModelRequestContext(
            model=model,
            messages=list(ctx.messages),
            model_settings=merge_model_settings(model.settings, self.settings),
            model_request_parameters=ModelRequestParameters(
                function_tools=tools.tool_defs, instruction_parts=parts
            ),
        )
        response = await self.stack.request(context, self._send)
        ctx.usage.requests += 1
        ctx.usage.incr(response.usage)
        return response

    async def _send(self, context: ModelRequestContext) -> ModelResponse:
        parameters = context.model_request_parameters
        # In the form that this model's protocol has for it.
        context.messages = context.model.prepare_messages(context.messages, parameters)
        model = self.observers.model(context.model)
        return await model.request(context.messages, context.model_settings, parameters)

    async def _run_calls(
        self, tools: ToolManager[TurnDeps], calls: Sequence[ToolCallPart]
    ) -> list[ModelRequestPart] | None:
        """What came of the calls; None when one of them waits for somebody."""
        # All are looked at before the first one runs.
        checked = [await tools.validate_tool_call(call) for call in calls]
        done: list[CallResult | None] = []
        for together in _segments(checked):
            work = [self._call(tools, each) for each in together]
            done += [await work[0]] if len(work) == 1 else await _all(work)
        results = [result for result in done if result is not None]
        if len(results) < len(done):
            return None
        beside = [UserPromptPart(content) for _, content in results if content]
        return [*(part for part, _ in results), *beside]

    async def _call(
        self, tools: ToolManager[TurnDeps], checked: ValidatedToolCall[TurnDeps]
    ) -> CallResult | None:
        call = checked.call
        told = partial(ToolReturnPart, call.tool_name, tool_call_id=call.tool_call_id)
        try:
            result = await self._through(tools, checked)
        except (CallDeferred, ApprovalRequired):
            return None
        except ToolRetryError as refusal:
            # An unknown tool, or arguments that make no sense: the library found the words.
            return refusal.tool_retry, None
        except ModelRetry as retry:
            tools.failed_tools.add(call.tool_name)
            return told(retry.message, outcome="retried", retry=RetryInfo("model_retry")), None
        except (ToolFailed, ToolFailedError) as failure:
            return told(str(failure), outcome="failed"), None
        tools.succeeded_tools.add(call.tool_name)
        if isinstance(result, ToolReturn):
            returned = cast("ToolReturn[Any]", result)
            return told(returned.return_value, metadata=returned.metadata), returned.content
        return told(result), None

    async def _through(
        self, tools: ToolManager[TurnDeps], checked: ValidatedToolCall[TurnDeps]
    ) -> Any:
        if checked.tool is None or not checked.args_valid:
            run = partial(tools.execute_tool_call, checked)
            return await self.observers.call(checked.call, run)
        if checked.tool.tool_def.defer:
            # Nobody hears the library's own questions; the gate asks about all other calls.
            raise ToolFailed("Not run: nobody here can give the approval that the tool asks for.")
        run = partial(tools.execute_tool_call, checked, wrap_validation_errors=False)
        return await self.stack.call(checked.call, checked.tool.tool_def, run)


def _segments(
    checked: Sequence[ValidatedToolCall[TurnDeps]],
) -> list[list[ValidatedToolCall[TurnDeps]]]:
    """Calls that may run at the same time; one of a sequential tool runs alone."""
    segments: list[list[ValidatedToolCall[TurnDeps]]] = []
    before = True
    for each in checked:
        alone = each.tool is not None and each.tool.tool_def.sequential
        if alone or before:
            segments.append([])
        segments[-1].append(each)
        before = alone
    return segments


async def _all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Do all of it at once; what one of them cannot go on from ends the others."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _ask_for_words(response: ModelResponse, attempt: int, *, tools: bool) -> RetryFeedbackPart:
    """What a model is told whose answer is empty.

    Raises:
        UnexpectedModelBehavior: Another request would bring no other answer.
    """
    if response.finish_reason == "length":
        raise UnexpectedModelBehavior(
            "the model's token limit was reached before it said anything; raise max_tokens, or"
            " ask for less at once"
        )
    if response.finish_reason == "content_filter":
        raise ContentFilterError("the provider's content filter withheld it")
    if attempt > _EMPTY_ANSWERS:
        raise UnexpectedModelBehavior(f"it was empty {attempt} times")
    told = "Please return text or call a tool." if tools else "Please return text."
    retry = RetryInfo[Literal["no_output"]](
        "no_output", attempt=attempt, max_retries=_EMPTY_ANSWERS
    )
    return RetryFeedbackPart(told, retry=retry)
