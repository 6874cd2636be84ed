"""What a scripted model answers, or how it fails to, as plain data."""

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypedDict, Unpack

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

    def __post_init__(self) -> None:
        if not 400 <= self.code <= 599:  # noqa: PLR2004 - the range of HTTP errors
            raise ValueError(f"Status {self.code} is not an HTTP error: expected 400 to 599.")


@dataclass(frozen=True, slots=True)
class CutStream:
    """The connection dies after some chunks, or in mid-body when nothing is streamed."""

    after_chunks: int
    """How many chunks of thinking, text and calls arrive whole."""

    def __post_init__(self) -> None:
        if self.after_chunks < 0:
            raise ValueError(
                f"A stream cannot be cut after {self.after_chunks} chunks: expected 0 or more."
            )


@dataclass(frozen=True, slots=True)
class MalformedJson:
    """The server answers with JSON that does not parse."""


@dataclass(frozen=True, slots=True)
class Hang:
    """The server says nothing until the client goes away."""


Failure: TypeAlias = Status | CutStream | MalformedJson | Hang


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
    failure: Failure | None = None
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
