"""What a server and its model can do, and what a refusal teaches about it."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import cast

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

from long_running_agents.domain.json_schema import References, mapped
from long_running_agents.domain.model_card import ModelCard
from long_running_agents.models.chat_protocol import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one model at one server understands. All of the protocol, until it refuses something."""

    native_tools: bool = True
    """Takes tools in the request; otherwise they are described in words and called in text."""
    text_calls: bool = True
    """Writes calls into its text at times, so that they are looked for there."""
    tool_choice: bool = True
    """Can be told that it must call a tool."""
    structured: bool = True
    """Takes a schema for its answer."""
    hard_schemas: bool = True
    """Takes schemas with references and unusual keywords."""
    system_role: bool = True
    """Takes a system message."""
    later_system: bool = True
    """Takes system messages after the first."""
    free_roles: bool = True
    """Takes messages in any order of roles."""
    streaming: bool = True
    """Streams its answers; otherwise they are asked for as a whole."""
    streamed_calls: bool = True
    """Streams its calls; otherwise requests with tools are not streamed."""
    pictures: bool = True
    """Sees pictures."""
    stream_usage: bool = True
    """Can be asked to say at the end of a stream how many tokens it took."""

    @property
    def lacks(self) -> frozenset[str]:
        """The names of what it does not understand."""
        return frozenset(item.name for item in fields(self) if not getattr(self, item.name))

    def without(self, other: "Capabilities") -> "Capabilities":
        """What is left when the other's lacks are true of this as well."""
        return replace(self, **dict.fromkeys(other.lacks, False))


ALL = Capabilities()
"""All of the protocol."""


def ability_of(model: Model) -> Capabilities | None:
    """What is known of a model, whatever is wrapped around it; None where we keep no account."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return getattr(model, "ability", None)


def lacking(what: Iterable[str]) -> Capabilities:
    """All of the protocol but this; names that nobody knows any more are passed over."""
    known = {item.name for item in fields(Capabilities)}
    return Capabilities(**dict.fromkeys(known.intersection(what), False))


def examined(card: ModelCard) -> Capabilities:
    """What an examination has shown to be of no use."""
    return Capabilities(
        # Where neither way works, the protocol's own is as good as the other.
        native_tools=card.native_tools or not card.text_tools,
        streaming=card.streaming,
        streamed_calls=card.streamed_calls or not card.native_tools,
        stream_usage=card.usage,
    )


Learned = Callable[[frozenset[str]], None]
"""Hears that a model can do less than was known: the names of what it lacks besides."""


_TEACHING = frozenset({400, 404, 422, 500, 501})
"""Statuses that servers refuse a request with which they do not understand."""


def taught(ability: Capabilities, status: int, message: str, body: Json) -> Capabilities | None:
    """What is known after the refusal of a request's body, or None when it says nothing new."""
    if status not in _TEACHING:
        return None
    for lesson in _LESSONS:
        known = getattr(ability, lesson.lacking)
        if known and re.search(lesson.words, message, re.IGNORECASE) and lesson.concerns(body):
            return replace(ability, **{lesson.lacking: False})
    return None


@dataclass(frozen=True, slots=True)
class _Lesson:
    lacking: str
    words: str
    concerns: Callable[[Json], bool]


def _has(key: str) -> Callable[[Json], bool]:
    return lambda body: bool(body.get(key))


def _roles(body: Json) -> Sequence[str]:
    return [message["role"] for message in cast("list[Json]", body["messages"])]


# In this order: the mildest remedy for the same words comes first.
_LESSONS = (
    _Lesson(
        "pictures",
        r"(?:image|vision|multi.?modal).{0,60}(?:not support|only supported|not enabled)"
        r"|not support.{0,40}(?:image|vision)|not a multi.?modal|mmproj"
        r"|missing data required for image|found that support image|content.{0,40}must be a string",
        lambda body: any(isinstance(each["content"], list) for each in body["messages"]),
    ),
    _Lesson("stream_usage", r"stream.?options|include.?usage", _has("stream_options")),
    _Lesson(
        "streamed_calls",
        r"^(?=.*(?:cannot|unsupported|\bnot\b))"
        r".*(?:(?:tool|function).{0,40}\bstream|\bstream.{0,40}(?:tool|function))",
        lambda body: bool(body.get("stream") and body.get("tools")),
    ),
    _Lesson(
        "streaming",
        r"\bstream(?:ing)?\b.{0,40}not (?:supported|enabled|allowed|available)"
        r"|not (?:support|allow) stream",
        _has("stream"),
    ),
    _Lesson("tool_choice", r"tool.?choice", _has("tool_choice")),
    _Lesson(
        "hard_schemas",
        r"schema.{0,60}(?:fail|unrecogni[sz]ed|unsupported|not supported|invalid)"
        r"|(?:unrecogni[sz]ed|unsupported|invalid).{0,60}schema|\$ref|failed to parse grammar",
        lambda body: bool(body.get("tools") or body.get("response_format")),
    ),
    _Lesson("structured", r"response.?format|json.?schema|grammar", _has("response_format")),
    _Lesson(
        "native_tools",
        r"not support (?:the )?(?:tool|function)|support tool use|--enable-auto-tool-choice"
        r"|(?:tools?|functions?)(?: use| calls?| calling)? (?:is|are) not (?:supported|enabled)"
        r"|tools param requires|tool.?choice",
        _has("tools"),
    ),
    _Lesson(
        "later_system",
        r"system messages? must be|multiple system messages|only (?:one|a single) system",
        lambda body: "system" in _roles(body)[1:],
    ),
    _Lesson(
        "system_role",
        r"system (?:role|message|prompt|instruction)s?\b.{0,30}not (?:supported|allowed|enabled)"
        r"|not support (?:the )?system",
        lambda body: "system" in _roles(body),
    ),
    _Lesson(
        "free_roles",
        r"roles? must alternate|alternate user/assistant|last role|unexpected role"
        r"|role.{0,30}after",
        lambda _: True,
    ),
)


_NOT_RUN = "Not run: the conversation went on without it."
_GO_ON = "Go on."
_DONE = "Done."


def fitted(messages: list[Json], ability: Capabilities) -> list[Json]:
    """The conversation as a server of this ability takes it."""
    if not (ability.later_system and ability.system_role and ability.free_roles):
        messages = with_one_system(messages)
    if not ability.system_role:
        messages = without_system(messages)
    if not ability.free_roles:
        messages = alternating(messages)
    return messages


def answered(messages: list[Json]) -> list[Json]:
    """Give every call a result: after a stop or a refusal one may be missing."""
    complete: list[Json] = []
    waiting: dict[str, None] = {}
    for message in messages:
        if message["role"] == "tool":
            waiting.pop(message["tool_call_id"], None)
        else:
            if waiting:
                complete.extend(map(_missing, waiting))
                waiting = {}
            for call in message.get("tool_calls") or ():
                waiting[call["id"]] = None
        complete.append(message)
    complete.extend(map(_missing, waiting))
    return complete


def _missing(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": _NOT_RUN}


def with_one_system(messages: Sequence[Json]) -> list[Json]:
    """Leave only a first system message; later ones become words in their place."""
    return [
        {**message, "role": "user"} if place and message["role"] == "system" else message
        for place, message in enumerate(messages)
    ]


def without_system(messages: list[Json]) -> list[Json]:
    """Put a leading system message in front of the first words of the user."""
    if not messages or messages[0]["role"] != "system":
        return messages
    first, *rest = messages
    return joined([{**first, "role": "user"}, *rest[:1]]) + rest[1:]


def alternating(messages: Sequence[Json]) -> list[Json]:
    """Let user and assistant take turns: neighbours are joined and gaps are filled."""
    ordered: list[Json] = []
    for message in joined(messages):
        before = ordered[-1]["role"] if ordered else "system"
        if message["role"] == "assistant" and before == "system":
            ordered.append({"role": "user", "content": _GO_ON})
        elif message["role"] == "user" and before == "tool":
            ordered.append({"role": "assistant", "content": _DONE})
        ordered.append(message)
    if ordered and ordered[-1]["role"] == "assistant":
        ordered.append({"role": "user", "content": _GO_ON})
    return ordered


def joined(messages: Sequence[Json]) -> list[Json]:
    """Make one message of neighbours of one role; results of tools stay apart."""
    whole: list[Json] = []
    for message in messages:
        if whole and message["role"] != "tool" and whole[-1]["role"] == message["role"]:
            whole[-1] = _both(whole[-1], message)
        else:
            whole.append(message)
    return whole


def _both(first: Json, second: Json) -> Json:
    both = {**first, **second, "content": _content(first["content"], second["content"])}
    if calls := [*_calls(first), *_calls(second)]:
        both["tool_calls"] = calls
    return both


def _content(first: str | list[Json], second: str | list[Json]) -> str | list[Json]:
    if isinstance(first, str) and isinstance(second, str):
        return "\n\n".join(filter(None, (first, second)))
    return list(chain(_items(first), _items(second)))


def _items(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _calls(message: Json) -> list[Json]:
    return cast("list[Json]", message.get("tool_calls") or [])


_DROPPED = frozenset(
    {
        "$defs", "definitions", "$schema", "$id", "$comment", "title", "examples", "default",
        "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties",
        "discriminator", "if", "then", "else", "not", "dependentRequired",
        "dependentSchemas", "contentMediaType", "contentEncoding", "readOnly", "writeOnly",
    }
)  # fmt: skip
"""Keywords that some server refuses, and that no model needs to call a tool."""


def simple(schema: Json) -> Json:
    """The same schema without references and without keywords that servers refuse."""
    return _simple(schema, References.of(schema))


def _simple(schema: Json, known: References, followed: tuple[str, ...] = ()) -> Json:
    found, inside = known.resolved(schema, followed)
    kept = {key: value for key, value in found.items() if key not in _DROPPED}
    plain: Json = {}
    for key, value in mapped(kept, lambda inner: _simple(inner, known, inside)).items():
        if key in ("anyOf", "oneOf", "allOf"):
            # An alternative that only says what is required says nothing about a value.
            if options := [option for option in value if set(option) - {"required"}]:
                plain["anyOf" if key == "oneOf" else key] = options
        elif key == "const":
            plain["enum"] = [value]
        else:
            plain[key] = value
    return plain
