"""Tool calls for models that were never taught them: an example-led prompt, and JSON to fill in.

The model chooses among the tools and a plain answer by writing ``{"tool": …, "args": …}``, and a
schema leaves it no other choice. Nothing here knows an engine: text and schemas in, decisions out.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import dropwhile, takewhile
from typing import Any, cast
from uuid import uuid4

from long_running_agents.domain.json_schema import References, mapped
from long_running_agents.models.chat_protocol import ChatCall, ChatMessage, ChatRequest, ChatTool
from long_running_agents.models.local.engine import (
    Finished,
    Json,
    LocalPrompt,
    Piece,
    PlainMessage,
    Sampling,
    TextEngine,
    TextPiece,
)


@dataclass(frozen=True, slots=True)
class ToolExample:
    """Something said, and the call it should lead to."""

    said: str
    arguments: Json = field(default_factory=dict[str, object])


EXAMPLES: dict[str, tuple[ToolExample, ...]] = {
    "list_files": (
        ToolExample("What's inside the reports folder?", {"path": "reports"}),
        ToolExample("I no longer know what is in my music directory.", {"path": "music"}),
    ),
    "read_file": (
        ToolExample("Open notes.txt and tell me what it says.", {"path": "notes.txt"}),
        ToolExample("what does setup.cfg contain?", {"path": "setup.cfg"}),
    ),
    "write_file": (
        ToolExample(
            "Save 'call the bank' in a file named todo.txt.",
            {"path": "todo.txt", "content": "call the bank"},
        ),
    ),
    "write_memory": (
        ToolExample(
            "Remember: my sister lives in Oslo.", {"content": "The user's sister lives in Oslo."}
        ),
        ToolExample("Keep in mind that I hate olives.", {"content": "The user hates olives."}),
    ),
    "search_memory": (
        ToolExample("What did I tell you about my car?", {"query": "the user's car"}),
        ToolExample("where does my sister live?", {"query": "the user's sister"}),
    ),
    "create_task": (
        ToolExample("Add a task to water the plants.", {"title": "Water the plants"}),
        ToolExample(
            "I need to renew my passport, note it as a to-do.", {"title": "Renew my passport"}
        ),
    ),
    "list_tasks": (
        ToolExample("Which tasks are open?"),
        ToolExample("What do I still have to do?"),
    ),
    "manage_tasks": (ToolExample("Task #4 is done.", {"action": "complete", "task_id": 4}),),
    "execute_code": (
        ToolExample("How many hours are 10,000 minutes?", {"code": "print(10_000 / 60)"}),
        ToolExample(
            "Run a script that prints the even numbers below 20.",
            {"code": "print([n for n in range(20) if n % 2 == 0])"},
        ),
    ),
    "shell": (ToolExample("Run uname -a for me.", {"command": "uname -a"}),),
    "web_search": (
        ToolExample("Look up how to descale a kettle.", {"query": "how to descale a kettle"}),
        ToolExample("I'd like to know who won the election.", {"query": "election winner"}),
    ),
    "web_fetch": (ToolExample("Open https://example.net/a.", {"url": "https://example.net/a"}),),
}

SMALL_TALK = ("Hello!", "What is a haiku?", "Thank you, that helped a lot.")
"""Things said that need no tool."""


LONGEST_TEXT = 2000
"""Characters of a text without a bound of its own: small models do not find its end alone."""

_KEPT = frozenset(
    {
        "type", "enum", "const", "required", "minimum", "maximum", "minLength", "maxLength",
        "minItems", "maxItems",
    }
)  # fmt: skip
_INSIDE = ("properties", "items", "additionalProperties")
_DEEPEST = 8
_ANYTHING: Json = {"type": "string", "maxLength": LONGEST_TEXT}


def arguments_schema(parameters: Json) -> Json:
    """The schema of a tool's arguments: references put in place, unknown keywords left out.

    A grammar that meets a keyword it does not know lets go of the whole schema without a word.
    """
    reduced = _reduced(parameters, References.of(parameters), 0)
    properties: Json = reduced.get("properties") or {}
    named: list[str] = reduced.get("required") or []
    return _closed(properties, [name for name in named if name in properties])


def _closed(properties: Json, required: Sequence[str]) -> Json:
    """The schema of an object with these properties and no others."""
    shape: Json = {"type": "object", "properties": properties, "required": required}
    return {**shape, "additionalProperties": False}


def _reduced(given: Json, known: References, depth: int) -> Json:
    if depth > _DEEPEST:
        return dict(_ANYTHING)
    # A type that holds itself is put in place again, down to where everything ends.
    schema, followed = known.resolved(given)

    def inner(part: Json) -> Json:
        return _reduced(part, known, depth + len(followed) + 1)

    if options := schema.get("anyOf") or schema.get("oneOf"):
        return {"anyOf": [inner(option) for option in options]}
    if len(parts := schema.get("allOf") or ()) == 1:
        return inner(parts[0])
    kept: Json = {name: value for name, value in schema.items() if name in _KEPT}
    if kept.get("type") == "string" and "enum" not in kept:
        kept["maxLength"] = min(int(kept.get("maxLength", LONGEST_TEXT)), LONGEST_TEXT)
    inside = {key: schema[key] for key in _INSIDE if isinstance(schema.get(key), dict)}
    reduced = {**kept, **mapped(inside, inner)}
    if reduced.get("properties"):
        reduced.setdefault("additionalProperties", False)
    # What is referred to and not there has to end all the same.
    return reduced if reduced or "$ref" not in given else dict(_ANYTHING)


_EXAMPLES_EACH = 2
_DESCRIPTION = 160
_INSTRUCTION = (
    'Choose the tool for the user\'s message. Reply with JSON {"tool": ..., "args": {...}}. Tools:'
)
_PLAIN_WORDS = "Tell me that result in plain words."
_BACKGROUND = "The examples end here. About the conversation that follows:"


class NoCall(Enum):
    """What a model chose instead of a tool."""

    ANSWER = auto()
    """To answer in words."""
    BROKEN = auto()
    """Nothing: the envelope is not whole."""


def answer_name(tools: Sequence[ChatTool]) -> str:
    """What the choice of no tool is called, whatever the tools are called."""
    names = {tool.name for tool in tools}
    return next(name for name in ("answer", "reply", "no_tool", "just_talk") if name not in names)


def envelope_schema(request: ChatRequest) -> Json:
    """The schema of the choices a request leaves."""
    choices = {tool.name: arguments_schema(tool.parameters) for tool in request.tools}
    if request.choice == "auto":
        choices[answer_name(request.tools)] = _closed({}, [])
    branches = [
        _closed({"tool": {"const": name}, "args": args}, ["tool", "args"])
        for name, args in choices.items()
    ]
    return {"anyOf": branches}


def choosing(request: ChatRequest) -> tuple[PlainMessage, ...]:
    """The conversation as it is shown to a model that has to choose.

    What never changes comes first: engines keep what they have read of it.
    """
    no_tool = answer_name(request.tools)
    return (
        PlainMessage("system", "\n".join([_INSTRUCTION, *_tool_lines(request.tools, no_tool)])),
        *_examples(request.tools, no_tool),
        *_background(request.messages),
        *_turns(request.messages, no_tool),
    )


def talking(request: ChatRequest) -> tuple[PlainMessage, ...]:
    """The conversation as it is shown to a model that is to answer in words."""
    return tuple(_merged(_plain(request.messages)))


def read(text: str, tools: Sequence[ChatTool]) -> ChatCall | NoCall:
    """What a model has written into the envelope; a call has no id yet."""
    try:
        found: Any = json.loads(text, strict=False)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return NoCall.BROKEN
    envelope = cast("Json", found)
    name, arguments = envelope.get("tool"), envelope.get("args", {})
    if name == answer_name(tools):
        return NoCall.ANSWER
    if not isinstance(arguments, dict) or name not in {tool.name for tool in tools}:
        return NoCall.BROKEN
    return ChatCall("", str(name), cast("Json", arguments))


def repeats(chosen: ChatCall, messages: Sequence[ChatMessage]) -> bool:
    """Whether exactly this call was made since the user last spoke: its result is there."""
    for message in reversed(messages):
        if message.role == "user":
            return False
        if any((c.name, c.arguments) == (chosen.name, chosen.arguments) for c in message.calls):
            return True
    return False


def _tool_lines(tools: Sequence[ChatTool], no_tool: str) -> Iterator[str]:
    for tool in tools:
        names = ", ".join(cast("Json", tool.parameters.get("properties") or {}))
        first = tool.description.strip().partition("\n")[0][:_DESCRIPTION]
        yield f"- {tool.name}({names}): {first}"
    yield f"- {no_tool}(): just reply with text, no tool needed"


def _examples(tools: Sequence[ChatTool], no_tool: str) -> Iterator[PlainMessage]:
    shown = [(tool, examples_of(tool)) for tool in tools]
    # Round by round, so that the last examples are not all of one tool.
    for turn in range(_EXAMPLES_EACH):
        for tool, examples in shown:
            for example in examples[turn : turn + 1]:
                yield PlainMessage("user", example.said)
                yield PlainMessage("assistant", _written(tool.name, example.arguments))
        for said in SMALL_TALK[turn::_EXAMPLES_EACH]:
            yield PlainMessage("user", said)
            yield PlainMessage("assistant", _written(no_tool, {}))


def examples_of(tool: ChatTool) -> tuple[ToolExample, ...]:
    """Examples that fit a tool as it is: one of the same name may take other arguments."""
    properties: Json = tool.parameters.get("properties") or {}
    needed: list[str] = tool.parameters.get("required") or []
    fitting = tuple(
        example
        for example in EXAMPLES.get(tool.name, ())
        if set(needed) <= set(example.arguments) <= set(properties)
    )
    return fitting or tuple(_made_up(tool, properties, needed))


def _made_up(tool: ChatTool, properties: Json, needed: Sequence[str]) -> Iterator[ToolExample]:
    what = tool.description.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    if not what or any(properties.get(name, {}).get("type") != "string" for name in needed):
        return
    values = {
        name: next(iter(properties[name].get("enum") or ()), f"my {name.replace('_', ' ')}")
        for name in needed
    }
    said = f"{what}: {', '.join(values.values())}" if values else what
    yield ToolExample(f"Please {said[0].lower()}{said[1:]}.", dict(values))


def _background(messages: Sequence[ChatMessage]) -> Iterator[PlainMessage]:
    leading = takewhile(lambda message: message.role == "system", messages)
    if texts := [message.text for message in leading if message.text]:
        yield PlainMessage("system", "\n\n".join([_BACKGROUND, *texts]))


def _turns(messages: Sequence[ChatMessage], no_tool: str) -> Iterator[PlainMessage]:
    names = {call.id: call.name for message in messages for call in message.calls}
    for message in dropwhile(lambda message: message.role == "system", messages):
        match message.role:
            case "user":
                yield PlainMessage("user", message.text)
            case "tool":
                yield PlainMessage(
                    "user", _result(names.get(message.call_id, "tool"), message.text)
                )
            case "assistant":
                if message.text:
                    yield PlainMessage("assistant", f"{_written(no_tool, {})}\n{message.text}")
                for call in message.calls:
                    yield PlainMessage("assistant", _written(call.name, call.arguments))
            case "system":
                yield PlainMessage("system", message.text)


def _plain(messages: Sequence[ChatMessage]) -> Iterator[PlainMessage]:
    # Calls are left out: a model that sees its own envelopes answers with one more.
    names = {call.id: call.name for message in messages for call in message.calls}
    spoke = max((n for n, message in enumerate(messages) if message.role == "user"), default=-1)
    for place, message in enumerate(messages):
        name = names.get(message.call_id, "a tool")
        if message.role != "tool":
            if message.text:
                yield PlainMessage(message.role, message.text)
        elif place < spoke:
            # As a note: what the model seems to have said itself it says again, true or not.
            yield PlainMessage("user", f"[{name} gave: {message.text}]")
        else:
            yield PlainMessage("assistant", f"I used {name}. It gave this result:\n{message.text}")
    if [message.role for message in messages if message.role != "system"][-1:] == ["tool"]:
        yield PlainMessage("user", _PLAIN_WORDS)


def _merged(messages: Iterator[PlainMessage]) -> Iterator[PlainMessage]:
    # Templates differ in what they make of a second system message, and some insist that user
    # and assistant take turns.
    listed = list(messages)
    system = "\n\n".join(message.text for message in listed if message.role == "system")
    if system:
        yield PlainMessage("system", system)
    group: list[PlainMessage] = []
    for message in listed:
        if message.role == "system":
            continue
        if group and group[-1].role == message.role:
            group[-1] = PlainMessage(message.role, f"{group[-1].text}\n\n{message.text}")
        else:
            group.append(message)
    yield from group


def _written(name: str, arguments: Json) -> str:
    return json.dumps({"tool": name, "args": arguments}, ensure_ascii=False)


def _result(name: str, text: str) -> str:
    return f"Result of {name}:\n{text}\nIf that is what I asked for, answer me now."


LONGEST_ANSWER = 2048
"""Tokens of an answer whose length nobody has bounded: a small model may never end by itself."""

_TEMPERATURE = 0.2


async def answer(
    engine: TextEngine, request: ChatRequest
) -> AsyncGenerator[Piece | ChatCall, None]:
    """Words or a call, then how it ended. Closing the generator stops the work."""
    spent: Finished | None = None
    if request.tools and request.choice != "none":
        text, spent = await _choose(engine, request)
        chosen = read(text, request.tools)
        if chosen is NoCall.BROKEN:
            # Cut off by the bound on tokens. Half a call is no call.
            yield replace(spent, reason="length")
            return
        if isinstance(chosen, ChatCall) and not _settled(chosen, request):
            yield replace(chosen, id=f"call_{uuid4().hex[:24]}")
            yield replace(spent, reason="tool_calls")
            return
    async with aclosing(_talk(engine, request)) as talk:
        async for piece in talk:
            yield _together(spent, piece) if spent and isinstance(piece, Finished) else piece


def _settled(chosen: ChatCall, request: ChatRequest) -> bool:
    # A small model that has its result tends to ask for it again, for ever.
    return request.choice == "auto" and repeats(chosen, request.messages)


async def _choose(engine: TextEngine, request: ChatRequest) -> tuple[str, Finished]:
    prompt = LocalPrompt(
        messages=choosing(request),
        sampling=Sampling(
            max_tokens=request.sampling.max_tokens or LONGEST_ANSWER,
            # A choice is not the place for imagination.
            temperature=0.0,
            seed=request.sampling.seed,
        ),
        schema=envelope_schema(request),
    )
    words: list[str] = []
    ended = Finished(reason="length", prompt_tokens=0, completion_tokens=0)
    async with aclosing(engine.stream(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextPiece):
                words.append(piece.text)
            else:
                ended = piece
    return "".join(words), ended


async def _talk(engine: TextEngine, request: ChatRequest) -> AsyncGenerator[Piece, None]:
    chosen = request.sampling
    sampling = replace(
        chosen,
        max_tokens=chosen.max_tokens or LONGEST_ANSWER,
        temperature=_TEMPERATURE if chosen.temperature is None else chosen.temperature,
    )
    prompt = LocalPrompt(messages=talking(request), sampling=sampling, schema=request.schema)
    async with aclosing(engine.stream(prompt)) as pieces:
        async for piece in pieces:
            yield piece


def _together(first: Finished, second: Finished) -> Finished:
    # One prompt in two dresses: whoever sent it wants to know how much of the window it takes.
    longer = max(first, second, key=lambda ended: ended.prompt_tokens)
    return Finished(
        reason=second.reason,
        prompt_tokens=longer.prompt_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        cached_tokens=longer.cached_tokens,
    )
