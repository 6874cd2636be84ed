"""What the agent sees: the next request by its parts, each with what it takes of the window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.agent import prompt, recall, saying, transcript, view
from long_running_agents.agent.fitting import FRAME, Fitted, Fitter
from long_running_agents.agent.prompt import Section
from long_running_agents.agent.recall import Recollection
from long_running_agents.domain import fitting
from long_running_agents.domain.fitting import Manner, Role
from long_running_agents.domain.memory import Kind, Memory, Trust
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.memory.telling import line
from long_running_agents.tools import selection
from long_running_agents.tools.candidates import Candidate, ToolKind

ToolState = Literal["offered", "short", "left_out"]
"""Offered as it is, offered with no more than a sentence, or not offered."""

_SHORT = 200
"""Characters of a message that are shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What a request would be made of, before it is fitted to its model."""

    model: str
    sections: Sequence[Section]
    recollection: Recollection
    messages: Sequence[ModelMessage]
    """The conversation, up to the newest message."""
    fresh: bool
    """Whether the newest message is not in the log yet."""
    tools: Sequence[Candidate]
    hidden: Sequence[Candidate]
    """Skills that are in use and were not chosen."""
    fitter: Fitter
    settings: ModelSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A part of the instructions."""

    source: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollected:
    """A memory that comes to mind."""

    id: int
    kind: Kind
    trust: Trust
    source: str
    session_id: str | None
    at: datetime
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the session's log."""

    role: saying.Role
    text: str
    tokens: int
    """What it takes as it is shown; of one that is left out, what it would take."""
    shown: Manner
    reason: Literal["", "bounds", "window"] = ""
    """Why it is not shown whole: sessions.max_history_tokens, or the model's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is offered, or could be."""

    name: str
    kind: ToolKind
    tokens: int
    """What it takes as it is offered; of one that is left out, what it would take."""
    state: ToolState


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What each part of a request takes, in tokens as they are estimated."""

    instructions: int
    memories: int
    history: int
    prompt: int
    tools: int
    protocol: int
    """For what comes to a request on its way."""

    @property
    def total(self) -> int:
        """All of it."""
        parts = (self.instructions, self.memories, self.history, self.prompt, self.tools)
        return sum(parts) + self.protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The next request as it would be made."""

    model: str
    window: int | None
    """How many tokens the model holds, if that is known."""
    prompt: str
    instructions: list[Instruction]
    memories: list[Recollected]
    degraded: str
    """Why only a part of the memory could be searched; empty when all of it was."""
    history: list[Message]
    tools: list[Tool]
    shares: Shares
    problem: str = ""
    """Why the request could not be made; then all of it is shown as if it fitted."""


def measured(ahead: Ahead, bounded: Sequence[ModelMessage] = (), asked: str = "") -> Context:
    """Fit a request as it would be fitted, and say what became of each part.

    Args:
        ahead: What it would be made of.
        bounded: Older messages that the bounds of history leave out.
        asked: The newest message, if it is not in the log yet.
    """
    window = ahead.fitter.gauge.holds
    noted = ahead.recollection.beside(ahead.messages)
    parameters = ModelRequestParameters(
        function_tools=[each.definition for each in ahead.tools],
        instruction_parts=[InstructionPart(content=prompt.instructions(ahead.sections))],
    )
    fitted, problem = _fitted(ahead, window, noted, parameters)
    shares = _shares(ahead, noted, fitted)
    recalled = ahead.recollection.recalled
    return Context(
        model=ahead.model,
        window=window,
        prompt=asked,
        instructions=[
            Instruction(source=part.source, text=part.text, tokens=_tokens(part.text))
            for part in ahead.sections
        ],
        memories=[_recollected(memory) for memory in recalled.memories],
        degraded=recalled.degraded,
        history=[
            *(_message(each, Manner.LEFT_OUT, _size(each), "bounds") for each in bounded),
            *_history(ahead, fitted),
        ],
        tools=_tools(ahead, fitted),
        shares=shares,
        problem=problem,
    )


def _fitted(
    ahead: Ahead,
    window: int | None,
    messages: list[ModelMessage],
    parameters: ModelRequestParameters,
) -> tuple[Fitted, str]:
    problem = ""
    if window is not None:
        try:
            return ahead.fitter.fit(window, messages, parameters, ahead.settings), ""
        except (ConfigError, UsageError) as error:
            problem = str(error)
    whole = ahead.fitter.whole(messages, parameters)
    tokens = ahead.fitter.measure(whole.messages, whole.parameters)
    return replace(whole, tokens=tokens), problem


def _shares(ahead: Ahead, noted: Sequence[ModelMessage], fitted: Fitted) -> Shares:
    tools = selection.takes(fitted.parameters.function_tools)
    instructions = _tokens(prompt.instructions(ahead.sections))
    memories = sum(map(_size, noted)) - sum(map(_size, ahead.messages))
    asked = _size(ahead.messages[-1]) if ahead.fresh else 0
    rest = fitted.tokens - tools - instructions - FRAME - memories - asked
    return Shares(
        instructions=instructions,
        memories=memories,
        history=max(rest, 0),
        prompt=asked,
        tools=tools,
        protocol=FRAME,
    )


def _history(ahead: Ahead, fitted: Fitted) -> list[Message]:
    """The messages of the log that were chosen from, as they are shown."""
    logged = ahead.messages[:-1] if ahead.fresh else ahead.messages
    # Those who hold everything are given no choice.
    shown = fitting.manners(fitted.items, fitted.cut) or [(Manner.WHOLE, 0)] * len(logged)
    return [
        _message(message, *_seen(message, *manner))
        for message, manner in zip(logged, shown, strict=False)
    ]


def _seen(
    message: ModelMessage, manner: Manner, takes: int
) -> tuple[Manner, int, Literal["", "window"]]:
    size = _size(message)
    if manner is Manner.LEFT_OUT:
        return manner, size, "window"
    if manner is Manner.WHOLE and (takes == 0 or takes >= size):
        # What came to mind stands beside it and is counted for itself.
        return manner, size, ""
    return (Manner.SHORT if manner is Manner.WHOLE else manner), takes, "window"


def _message(
    message: ModelMessage, shown: Manner, tokens: int, reason: Literal["", "bounds", "window"]
) -> Message:
    role, text = _said(message)
    short = " ".join(text[: _SHORT * 4].split())
    if len(short) > _SHORT:
        short = f"{short[: _SHORT - 1]}…"
    return Message(role=role, text=short, tokens=tokens, shown=shown, reason=reason)


def _said(message: ModelMessage) -> tuple[saying.Role, str]:
    if isinstance(message, ModelResponse):
        calls = [f"{call.tool_name}(…)" for call in transcript.calls_of(message)]
        return "assistant", " ".join([transcript.text_of(message), *calls])
    said = [saying.words(part) for part in message.parts]
    words = " ".join(text for _, text in said)
    if view.role_of(message) is Role.START:
        return "user", words
    return ("tool" if any(role == "tool" for role, _ in said) else "system"), words


def _tools(ahead: Ahead, fitted: Fitted) -> list[Tool]:
    offered = {tool.name: tool for tool in fitted.parameters.function_tools}
    told = [_tool(each, offered.get(each.definition.name)) for each in ahead.tools]
    return told + [_tool(each, None) for each in ahead.hidden]


def _tool(candidate: Candidate, offered: ToolDefinition | None) -> Tool:
    whole = selection.takes([candidate.definition])
    tokens = whole if offered is None else selection.takes([offered])
    short: ToolState = "short" if tokens < whole else "offered"
    return Tool(
        name=candidate.definition.name,
        kind=candidate.kind,
        tokens=tokens,
        state="left_out" if offered is None else short,
    )


def _recollected(memory: Memory) -> Recollected:
    item = recall.item(memory)
    return Recollected(
        id=item.id,
        kind=memory.kind,
        trust=memory.trust,
        source=item.source,
        session_id=item.session_id,
        at=item.at,
        text=item.text,
        tokens=_tokens(line(memory)),
    )


def _tokens(text: str) -> int:
    return fitting.tokens(fitting.weight(text))


def _size(message: ModelMessage) -> int:
    return fitting.tokens(view.weigh(message))
