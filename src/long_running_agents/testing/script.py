"""What a scripted model replies to which message, and how its server departs from the protocol."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum, auto
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, Unpack, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

_WORD = re.compile(r"\S+\s*|\s+")
_CHARACTERS_PER_TOKEN = 4
_ARGUMENT_PIECES = 2
_FAILED = "The scripted model was told to fail."


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool the model asks for."""

    tool: str
    """The tool's name."""
    args: dict[str, object] = field(default_factory=dict[str, object])
    """Its arguments."""
    id: str | None = None
    """The call's id; a fresh one is minted for every serving when it is missing."""

    def argument_pieces(self) -> list[str]:
        """The arguments as JSON text, in the pieces they are streamed in."""
        return split(json.dumps(self.args), _ARGUMENT_PIECES)


@dataclass(frozen=True, slots=True)
class Status:
    """The server answers with an HTTP error."""

    code: int
    """The HTTP status, 400 to 599."""
    message: str = _FAILED
    """What the error says."""
    retry_after: float | None = None
    """The seconds that the server asks the client to wait."""
    kind: Literal["status"] = field(default="status", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not 400 <= self.code <= 599:  # noqa: PLR2004 - the range of HTTP errors
            raise ValueError(f"Status {self.code} is not an HTTP error: expected 400 to 599.")


@dataclass(frozen=True, slots=True)
class CutStream:
    """The connection dies after some chunks, or in mid-body when nothing is streamed."""

    after_chunks: int
    """How many chunks of thinking, text and calls arrive whole."""
    kind: Literal["cut_stream"] = field(default="cut_stream", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.after_chunks < 0:
            raise ValueError(
                f"A stream cannot be cut after {self.after_chunks} chunks: expected 0 or more."
            )


@dataclass(frozen=True, slots=True)
class MalformedJson:
    """The server answers with JSON that does not parse."""

    kind: Literal["malformed_json"] = field(default="malformed_json", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Hang:
    """The server says nothing until the client goes away."""

    kind: Literal["hang"] = field(default="hang", kw_only=True, repr=False)


Failure: TypeAlias = Status | CutStream | MalformedJson | Hang
_AnyFailure: TypeAlias = Annotated[Failure, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model: thinking, text and calls, with its timing or its failure."""

    text: str = ""
    """What the model says."""
    calls: tuple[ToolCall, ...] = ()
    """The tools it asks for, all at once."""
    thinking: str = ""
    """What it thinks before that."""
    delay: float = 0.0
    """Seconds before the first byte."""
    chunk_delay: float = 0.0
    """Seconds between two chunks of a stream."""
    chunks: int | None = None
    """How many chunks the text is streamed in; one per word when missing."""
    failure: _AnyFailure | None = None
    """How the reply fails, if it does."""
    times: int | None = 1
    """How often a failure is served before the next reply takes its place; None is for ever."""
    input_tokens: int | None = None
    """The tokens reported for the request; estimated when missing."""
    output_tokens: int | None = None
    """The tokens reported for the reply; estimated when missing."""

    def __post_init__(self) -> None:
        for name in ("delay", "chunk_delay"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"A reply's {name} is {getattr(self, name)}: expected 0 or more seconds."
                )
        for name in ("chunks", "times"):
            value: int | None = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"A reply's {name} is {value}: expected 1 or more, or none.")

    def text_chunks(self) -> list[str]:
        """The text in the pieces it is streamed in."""
        return split(self.text, self.chunks)

    def estimated_tokens(self) -> int:
        """The tokens of the reply: those given, or a guess from its length."""
        if self.output_tokens is not None:
            return self.output_tokens
        calls = sum(len(call.tool) + len(str(call.args)) for call in self.calls)
        return estimate_tokens(len(self.text) + len(self.thinking) + calls)


class ReplyOptions(TypedDict, total=False):
    """What `say` accepts beside the text."""

    calls: tuple[ToolCall, ...]
    thinking: str
    delay: float
    chunk_delay: float
    chunks: int | None
    input_tokens: int | None
    output_tokens: int | None


def say(text: str, /, **options: Unpack[ReplyOptions]) -> Reply:
    """A reply with a text."""
    return Reply(text=text, **options)


def call(tool: str, /, **args: object) -> Reply:
    """A reply that asks for one tool."""
    return Reply(calls=(ToolCall(tool, args),))


def calls(*items: Reply | ToolCall) -> Reply:
    """A reply that asks for several tools at once.

    Raises:
        ValueError: An item is a reply with more to it than calls.
    """
    merged: list[ToolCall] = []
    for item in items:
        if isinstance(item, ToolCall):
            merged.append(item)
        elif item.calls and item == Reply(calls=item.calls):
            merged.extend(item.calls)
        else:
            raise ValueError(
                f"{item!r} cannot join parallel calls: expected ToolCall(…) or call(…)."
            )
    if not merged:
        raise ValueError("calls() was given no call: expected calls(call('a'), call('b'), …).")
    return Reply(calls=tuple(merged))


def fail(
    status: int,
    retry_after: float | None = None,
    message: str = _FAILED,
    *,
    times: int | None = 1,
) -> Reply:
    """A reply that is an HTTP error."""
    return Reply(failure=Status(status, message, retry_after), times=times)


def cut(
    after_chunks: int,
    text: str = "This answer breaks off before its end.",
    *,
    times: int | None = 1,
) -> Reply:
    """A reply whose connection dies in the middle."""
    return Reply(text=text, failure=CutStream(after_chunks), times=times)


def garbage(*, times: int | None = 1) -> Reply:
    """A reply that is not JSON."""
    return Reply(failure=MalformedJson(), times=times)


def hang(*, times: int | None = 1) -> Reply:
    """A reply that never comes."""
    return Reply(failure=Hang(), times=times)


def split(text: str, pieces: int | None = None) -> list[str]:
    """The text in that many nearly equal pieces, or in words, losing no character."""
    if not text:
        return []
    if pieces is None:
        return _WORD.findall(text)
    count = min(pieces, len(text))
    bounds = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in pairwise(bounds)]


def estimate_tokens(characters: int) -> int:
    """A guess at the tokens in that many characters."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


Message: TypeAlias = Mapping[str, Any]
"""One chat message in OpenAI's shape."""

_UNSCRIPTED = say("I have no script for this.")


ServedFailures: TypeAlias = Counter[tuple[int, int, str]]
"""How often each failure of a script was served, so that it can end."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The replies to a user message that matches a pattern."""

    when: str
    """A regular expression, searched in the last user message."""
    replies: tuple[Reply, ...]
    """The replies in order: one for each step of the turn."""

    def __post_init__(self) -> None:
        try:
            re.compile(self.when)
        except re.error as error:
            raise ValueError(
                f"A rule's pattern {self.when!r} is not a regular expression: {error}."
            ) from error
        if not self.replies:
            raise ValueError(f"The rule for {self.when!r} has no replies: expected at least one.")


@dataclass(frozen=True, slots=True)
class Script:
    """Rules that choose a reply from the history alone.

    A client that restarts and resends its history is therefore given the same reply again.
    """

    # Written by hand: what is misspelt or of another type is refused.
    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    rules: tuple[Rule, ...]
    """The rules; the first that matches the last user message is used."""

    def reply_for(self, messages: Sequence[Message], served: ServedFailures | None = None) -> Reply:
        """The reply to a history of chat messages.

        Each assistant message after the last user message stands for one reply that arrived, so
        the next one follows. Failures leave no message behind: they are served until `served`
        says that they are spent. After the end, the rule's last reply is given again.

        Args:
            messages: The history in OpenAI's shape.
            served: The failures served so far; without it, each failure is the first.
        """
        text, steps = _position(messages)
        for number, rule in enumerate(self.rules):
            if re.search(rule.when, text):
                return _next(
                    rule, steps, (number, text), ServedFailures() if served is None else served
                )
        return _UNSCRIPTED

    def to_json(self) -> str:
        """The script as JSON text, without the values that are defaults."""
        rules = [
            {"when": rule.when, "replies": [_plain(reply) for reply in rule.replies]}
            for rule in self.rules
        ]
        return json.dumps({"rules": rules}, ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Script":
        """Read what `to_json` writes.

        Raises:
            ValueError: The text is not a script; the message says where and what is expected.
        """
        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            steps = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]]
            raise ValueError(
                f"The script{''.join(steps)} is not understood: {first['msg']}."
            ) from error


def _position(messages: Sequence[Message]) -> tuple[str, int]:
    steps = 0
    for message in reversed(messages):
        text = _text(message.get("content"))
        # What the program says in between is no one's message.
        if message.get("role") == "user" and not text.startswith("<system>"):
            return text, steps
        steps += message.get("role") == "assistant"
    return "", steps


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        cast("dict[str, Any]", part)
        for part in cast("list[object]", content)
        if isinstance(part, dict)
    ]
    return "\n".join(str(part["text"]) for part in parts if "text" in part)


def _next(rule: Rule, steps: int, place: tuple[int, str], served: ServedFailures) -> Reply:
    for index, reply in enumerate(rule.replies):
        if reply.failure is None:
            if steps == 0:
                return reply
            steps -= 1
            continue
        key = (place[0], index, place[1])
        if steps == 0 and (reply.times is None or served[key] < reply.times):
            served[key] += 1
            return reply
    return rule.replies[-1]


def _plain(value: Reply | ToolCall | Failure) -> dict[str, object]:
    plain: dict[str, object] = {}
    for item in fields(value):
        content = getattr(value, item.name)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if content == default and item.name != "kind":
            continue
        if item.name == "calls":
            content = [_plain(one) for one in content]
        elif item.name == "failure":
            content = _plain(content)
        plain[item.name] = content
    return plain


class Quirk(StrEnum):
    """One way in which a server that calls itself OpenAI-compatible is not."""

    EMPTY_CALL_ID = auto()
    """Every call has the id ""; a history that sends an empty id back is refused with 500."""
    MISSING_CALL_ID = auto()
    """No call has an id; a history that sends an empty id back is refused with 500."""
    EMPTY_TOOL_CALLS_LIST = auto()
    """Messages and deltas without calls carry `tool_calls: []`."""
    BLANK_LATER_NAMES = auto()
    """Streamed argument deltas carry the name "" again."""
    NAME_IN_PARTS = auto()
    """A streamed tool name arrives in two deltas."""
    NO_CALL_INDEX = auto()
    """Streamed calls have no index; each comes whole in one delta."""
    SAME_CALL_INDEX = auto()
    """Streamed parallel calls all have the index 0."""
    ARGUMENTS_AS_OBJECT = auto()
    """Arguments are a JSON object, not JSON text."""
    ARGUMENTS_NULL = auto()
    """A call without arguments has `arguments: null`."""
    ARGUMENTS_ABSENT = auto()
    """A call without arguments has no `arguments` at all."""
    STOP_WITH_CALLS = auto()
    """The finish reason is "stop" although there are calls."""
    CHANGING_CHUNK_IDS = auto()
    """Every chunk of a stream has another id."""
    CALLS_AS_TEXT_FENCE = auto()
    """Calls are written into the content as fenced JSON."""
    CALLS_AS_TEXT_TAG = auto()
    """Calls are written into the content inside `<tool_call>` tags."""
    CALLS_AS_TEXT_FUNCTION = auto()
    """Calls are written into the content as `<function=name>`."""
    THINK_IN_CONTENT = auto()
    """Thinking is written into the content inside `<think>` tags."""
    ANSWER_IN_REASONING = auto()
    """The answer is misfiled in `reasoning_content`; the content is empty."""
    CONTENT_AND_THINKING_REFUSED = auto()
    """An assistant message with calls, content and thinking is refused with 500."""
    CONTENT_NULL_REFUSED = auto()
    """A message with `content: null`, or without content, is refused with 400."""
    STRICT_ROLES = auto()
    """A history whose roles do not alternate is refused with 400."""
    NO_SYSTEM_ROLE = auto()
    """A system message is refused with 400."""
    ONE_SYSTEM_MESSAGE = auto()
    """A second system message, or one that does not come first, is refused with 400."""
    UNANSWERED_CALL_REFUSED = auto()
    """A call in the history without its tool result is refused with 400."""
    EMPTY_ASSISTANT_REFUSED = auto()
    """A history that ends with an empty assistant message is refused with 400."""
    TOOLS_REFUSED = auto()
    """A request with tools is refused with 400."""
    TOOL_CHOICE_REFUSED = auto()
    """A request with `tool_choice: "auto"` is refused with 400."""
    AUTO_CHOICE_IMPLIED = auto()
    """Tools without a `tool_choice` are refused with 400: the server was started without them."""
    REQUIRED_CHOICE_REFUSED = auto()
    """A request with `tool_choice: "required"` is refused with 400."""
    SCHEMA_NOT_ENFORCED = auto()
    """A demanded JSON answer comes inside prose and a fence."""
    SCHEMA_KEYWORDS_REFUSED = auto()
    """A schema with references, or alternatives that are only `required`, is refused with 400."""
    SILENT_TRUNCATION = auto()
    """The start of a long history is cut off to fit 4096 tokens, without a word."""
    NO_STREAMED_CALLS = auto()
    """A streamed reply with calls is empty; the same request without streaming has them."""
    STREAM_IGNORED = auto()
    """A request for a stream is answered in one piece."""
    NO_USAGE = auto()
    """Usage is never reported, not even when it is asked for."""
