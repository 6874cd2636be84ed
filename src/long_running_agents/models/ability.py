"""What a server and its model can do, and what a refusal teaches about it."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from long_running_agents.domain.card import Card

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
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
    stream_usage: bool = True
    """Can be asked to say at the end of a stream how many tokens it took."""

    @property
    def lacks(self) -> frozenset[str]:
        """The names of what it does not understand."""
        return frozenset(item.name for item in fields(self) if not getattr(self, item.name))

    def without(self, other: "Ability") -> "Ability":
        """What is left when the other's lacks are true of this as well."""
        return replace(self, **dict.fromkeys(other.lacks, False))


ALL = Ability()
"""All of the protocol."""


def lacking(what: Iterable[str]) -> Ability:
    """All of the protocol but this; names that nobody knows any more are passed over."""
    known = {item.name for item in fields(Ability)}
    return Ability(**dict.fromkeys(known.intersection(what), False))


def examined(card: Card) -> Ability:
    """What an examination has shown to be of no use."""
    return Ability(
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


def taught(ability: Ability, status: int, message: str, body: Json) -> Ability | None:
    """What is known after a refusal, or None when it says nothing new.

    Args:
        ability: What was known before.
        status: The HTTP status.
        message: The words of the refusal.
        body: The request that was refused.
    """
    if status not in _TEACHING:
        return None
    for lesson in _LESSONS:
        if (
            getattr(ability, lesson.lacking)
            and lesson.words.search(message)
            and lesson.concerns(body)
        ):
            return replace(ability, **{lesson.lacking: False})
    return None


@dataclass(frozen=True, slots=True)
class _Lesson:
    lacking: str
    words: re.Pattern[str]
    concerns: Callable[[Json], bool]


def _has(key: str) -> Callable[[Json], bool]:
    return lambda body: bool(body.get(key))


def _roles(body: Json) -> Sequence[str]:
    return [message["role"] for message in cast("list[Json]", body["messages"])]


def _has_system(body: Json) -> bool:
    return "system" in _roles(body)


def _has_later_system(body: Json) -> bool:
    return "system" in _roles(body)[1:]


def _has_schema(body: Json) -> bool:
    return bool(body.get("tools") or body.get("response_format"))


def _lesson(lacking: str, words: str, concerns: Callable[[Json], bool]) -> _Lesson:
    return _Lesson(lacking, re.compile(words, re.IGNORECASE), concerns)


# In this order: the mildest remedy for the same words comes first.
_LESSONS = (
    _lesson("stream_usage", r"stream.?options|include.?usage", _has("stream_options")),
    _lesson(
        "streamed_calls",
        r"^(?=.*(?:cannot|unsupported|\bnot\b))"
        r".*(?:(?:tool|function).{0,40}\bstream|\bstream.{0,40}(?:tool|function))",
        lambda body: bool(body.get("stream") and body.get("tools")),
    ),
    _lesson(
        "streaming",
        r"\bstream(?:ing)?\b.{0,40}not (?:supported|enabled|allowed|available)"
        r"|not (?:support|allow) stream",
        _has("stream"),
    ),
    _lesson("tool_choice", r"tool.?choice", _has("tool_choice")),
    _lesson(
        "hard_schemas",
        r"schema.{0,60}(?:fail|unrecogni[sz]ed|unsupported|not supported|invalid)"
        r"|(?:unrecogni[sz]ed|unsupported|invalid).{0,60}schema|\$ref|failed to parse grammar",
        _has_schema,
    ),
    _lesson("structured", r"response.?format|json.?schema|grammar", _has("response_format")),
    _lesson(
        "native_tools",
        r"not support (?:the )?(?:tool|function)|support tool use|--enable-auto-tool-choice"
        r"|(?:tools?|functions?)(?: use| calls?| calling)? (?:is|are) not (?:supported|enabled)"
        r"|tools param requires|tool.?choice",
        _has("tools"),
    ),
    _lesson(
        "later_system",
        r"system messages? must be|multiple system messages|only (?:one|a single) system",
        _has_later_system,
    ),
    _lesson(
        "system_role",
        r"system (?:role|message|prompt|instruction)s?\b.{0,30}not (?:supported|allowed|enabled)"
        r"|not support (?:the )?system",
        _has_system,
    ),
    _lesson(
        "free_roles",
        r"roles? must alternate|alternate user/assistant|last role|unexpected role"
        r"|role.{0,30}after",
        lambda _: True,
    ),
)
