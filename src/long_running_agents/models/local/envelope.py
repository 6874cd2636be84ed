"""Tool calls for models that were never taught them: an example-led prompt, and JSON to fill in.

The model chooses among the tools and a plain answer by writing ``{"tool": …, "args": …}``, and a
schema leaves it no other choice. Nothing here knows an engine: text and schemas in, decisions out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from long_running_agents.models.local.engine import Json, Said
from long_running_agents.models.local.examples import EXAMPLES, SMALL_TALK, Example
from long_running_agents.models.local.request import Call, ChatRequest, Message, Tool
from long_running_agents.models.local.schema import arguments_schema

_EXAMPLES_EACH = 2
_DESCRIPTION = 160
_INSTRUCTION = (
    'Choose the tool for the user\'s message. Reply with JSON {"tool": ..., "args": {...}}. Tools:'
)
_PLAIN_WORDS = "Tell me that result in plain words."
_BACKGROUND = "The examples end here. About the conversation that follows:"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tool a model wants to call."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Answer:
    """The model wants to answer in words."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The envelope is not whole."""

    text: str


Choice = Chosen | Answer | Unreadable


def answer_name(tools: Sequence[Tool]) -> str:
    """What the choice of no tool is called, whatever the tools are called."""
    names = {tool.name for tool in tools}
    return next(name for name in ("answer", "reply", "no_tool", "just_talk") if name not in names)


def envelope_schema(request: ChatRequest) -> Json:
    """The schema of the choices a request leaves."""
    branches = [
        _branch(tool.name, args=arguments_schema(tool.parameters)) for tool in request.tools
    ]
    if request.choice == "auto":
        branches.append(_branch(answer_name(request.tools), args=_EMPTY))
    return {"anyOf": branches}


_EMPTY: Json = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _branch(name: str, *, args: Json) -> Json:
    return {
        "type": "object",
        "properties": {"tool": {"const": name}, "args": args},
        "required": ["tool", "args"],
        "additionalProperties": False,
    }


def choosing(request: ChatRequest) -> tuple[Said, ...]:
    """The conversation as it is shown to a model that has to choose.

    What never changes comes first: engines keep what they have read of it.
    """
    no_tool = answer_name(request.tools)
    return (
        Said("system", "\n".join([_INSTRUCTION, *_tool_lines(request.tools, no_tool)])),
        *_examples(request.tools, no_tool),
        *_background(request.messages),
        *_turns(request.messages, no_tool),
    )


def talking(request: ChatRequest) -> tuple[Said, ...]:
    """The conversation as it is shown to a model that is to answer in words."""
    return tuple(_merged(_plain(request.messages)))


def read(text: str, tools: Sequence[Tool]) -> Choice:
    """What a model has written into the envelope."""
    try:
        found: Any = json.loads(text, strict=False)
    except ValueError:
        return Unreadable(text)
    if not isinstance(found, dict):
        return Unreadable(text)
    envelope = cast("Json", found)
    name, arguments = envelope.get("tool"), envelope.get("args", {})
    if name == answer_name(tools):
        return Answer()
    if not isinstance(arguments, dict) or name not in {tool.name for tool in tools}:
        return Unreadable(text)
    return Chosen(str(name), cast("Json", arguments))


def repeats(chosen: Chosen, messages: Sequence[Message]) -> bool:
    """Whether exactly this call was made since the user last spoke: its result is there."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if any((c.name, c.arguments) == (chosen.name, chosen.arguments) for c in message.calls):
            return True
    return False


def _tool_lines(tools: Sequence[Tool], no_tool: str) -> Iterator[str]:
    for tool in tools:
        names = ", ".join(cast("Json", tool.parameters.get("properties") or {}))
        first = tool.description.strip().partition("\n")[0][:_DESCRIPTION]
        yield f"- {tool.name}({names}): {first}"
    yield f"- {no_tool}(): just reply with text, no tool needed"


def _examples(tools: Sequence[Tool], no_tool: str) -> Iterator[Said]:
    shown = [(tool, examples_of(tool)) for tool in tools]
    # Round by round, so that the last examples are not all of one tool.
    for turn in range(_EXAMPLES_EACH):
        for tool, examples in shown:
            for example in examples[turn : turn + 1]:
                yield Said("user", example.said)
                yield Said("assistant", _written(tool.name, example.arguments))
        for said, _ in SMALL_TALK[turn::_EXAMPLES_EACH]:
            yield Said("user", said)
            yield Said("assistant", _written(no_tool, {}))


def examples_of(tool: Tool) -> tuple[Example, ...]:
    """Examples that fit a tool as it is: one of the same name may take other arguments."""
    properties: Json = tool.parameters.get("properties") or {}
    needed: list[str] = tool.parameters.get("required") or []
    fitting = tuple(
        example
        for example in EXAMPLES.get(tool.name, ())
        if set(needed) <= set(example.arguments) <= set(properties)
    )
    return fitting or tuple(_made_up(tool, properties, needed))


def _made_up(tool: Tool, properties: Json, needed: Sequence[str]) -> Iterator[Example]:
    what = tool.description.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    if not what or any(properties.get(name, {}).get("type") != "string" for name in needed):
        return
    values = {name: f"my {name.replace('_', ' ')}" for name in needed}
    said = f"{what}: {', '.join(values.values())}" if values else what
    yield Example(f"Please {said[0].lower()}{said[1:]}.", dict(values))


def _background(messages: Sequence[Message]) -> Iterator[Said]:
    texts = [message.text for message in messages if message.role == "system" and message.text]
    if texts:
        yield Said("system", "\n\n".join([_BACKGROUND, *texts]))


def _turns(messages: Sequence[Message], no_tool: str) -> Iterator[Said]:
    names = {call.id: call.name for message in messages for call in message.calls}
    for message in messages:
        match message.role:
            case "user":
                yield Said("user", message.text)
            case "tool":
                yield Said("user", _result(names.get(message.call_id, "tool"), message.text))
            case "assistant":
                if message.text:
                    yield Said("assistant", f"{_written(no_tool, {})}\n{message.text}")
                for call in message.calls:
                    yield Said("assistant", _written(call.name, call.arguments))
            case "system":
                pass


def _plain(messages: Sequence[Message]) -> Iterator[Said]:
    # Calls are left out: a model that sees its own envelopes answers with one more.
    names = {call.id: call.name for message in messages for call in message.calls}
    spoke = max((n for n, message in enumerate(messages) if message.role == "user"), default=-1)
    for place, message in enumerate(messages):
        name = names.get(message.call_id, "a tool")
        if message.role != "tool":
            if message.text:
                yield Said(message.role, message.text)
        elif place < spoke:
            # As a note: what the model seems to have said itself it says again, true or not.
            yield Said("user", f"[{name} gave: {message.text}]")
        else:
            yield Said("assistant", f"I used {name}. It gave this result:\n{message.text}")
    if messages[-1].role == "tool":
        yield Said("user", _PLAIN_WORDS)


def _merged(messages: Iterator[Said]) -> Iterator[Said]:
    # Templates differ in what they make of a second system message, and some insist that user
    # and assistant take turns.
    listed = list(messages)
    system = "\n\n".join(message.text for message in listed if message.role == "system")
    if system:
        yield Said("system", system)
    group: list[Said] = []
    for message in listed:
        if message.role == "system":
            continue
        if group and group[-1].role == message.role:
            group[-1] = Said(message.role, f"{group[-1].text}\n\n{message.text}")
        else:
            group.append(message)
    yield from group


def _written(name: str, arguments: Json) -> str:
    return json.dumps({"tool": name, "args": arguments}, ensure_ascii=False)


def _result(name: str, text: str) -> str:
    return f"Result of {name}:\n{text}\nIf that is what I asked for, answer me now."


def as_call(chosen: Chosen, call_id: str) -> Call:
    """A choice as a call that can be answered."""
    return Call(call_id, chosen.name, chosen.arguments)
