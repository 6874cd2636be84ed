"""The oddities of real model servers, each of them a switch."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import Any, TypeAlias, cast

from long_running_agents.testing.reply import Reply, ToolCall, estimate_tokens
from long_running_agents.testing.script import Message

CONTEXT_TOKENS = 4096
"""What a server with `SILENT_TRUNCATION` can hold."""

Body: TypeAlias = dict[str, Any]


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
    NO_USAGE = auto()
    """Usage is never reported, not even when it is asked for."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The HTTP error that a quirk answers a request with."""

    status: int
    message: str


def refusal(body: Body, quirks: frozenset[Quirk]) -> Refusal | None:
    """Why a server with these quirks refuses the request, if it does."""
    for quirk in quirks & _CHECKS.keys():
        if (found := _CHECKS[quirk](body)) is not None:
            return found
    return None


def bent(reply: Reply, quirks: frozenset[Quirk], *, streamed: bool, structured: bool) -> Reply:
    """The reply as a server with these quirks sorts it into text, thinking and calls."""
    if Quirk.NO_STREAMED_CALLS in quirks and streamed and reply.calls:
        return replace(reply, text="", thinking="", calls=())
    if Quirk.SCHEMA_NOT_ENFORCED in quirks and structured and reply.text:
        reply = replace(
            reply, text=f"Here is the JSON you asked for:\n```json\n{reply.text}\n```\n"
        )
    for quirk, write in _WRITERS.items():
        if quirk in quirks and reply.calls:
            lines = [reply.text, *(write(call) for call in reply.calls)]
            reply = replace(reply, text="\n".join(filter(None, lines)), calls=())
    if Quirk.THINK_IN_CONTENT in quirks and reply.thinking:
        text = f"<think>\n{reply.thinking}\n</think>\n\n{reply.text}"
        reply = replace(reply, text=text, thinking="")
    if Quirk.ANSWER_IN_REASONING in quirks and reply.text and not reply.calls:
        reply = replace(reply, text="", thinking=f"{reply.thinking}{reply.text}")
    return reply


def remaining(messages: Sequence[Message], quirks: frozenset[Quirk]) -> Sequence[Message]:
    """The part of the history that reaches the model."""
    if Quirk.SILENT_TRUNCATION not in quirks:
        return messages
    room = CONTEXT_TOKENS
    kept: list[Message] = []
    for message in reversed(messages):
        room -= estimate_tokens(len(json.dumps(message)))
        # The newest message is answered even when it alone is too long.
        if room < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def _json_call(call: ToolCall) -> str:
    return json.dumps({"name": call.tool, "arguments": call.args}, ensure_ascii=False)


def _function_call(call: ToolCall) -> str:
    return f"<function={call.tool}>{json.dumps(call.args, ensure_ascii=False)}</function>"


_WRITERS: dict[Quirk, Callable[[ToolCall], str]] = {
    Quirk.CALLS_AS_TEXT_FENCE: lambda call: f"```json\n{_json_call(call)}\n```",
    Quirk.CALLS_AS_TEXT_TAG: lambda call: f"<tool_call>\n{_json_call(call)}\n</tool_call>",
    Quirk.CALLS_AS_TEXT_FUNCTION: _function_call,
}


def _messages(body: Body) -> list[Body]:
    return cast("list[Body]", body["messages"])


def _calls(message: Body) -> list[Body]:
    return cast("list[Body]", message.get("tool_calls") or [])


def _empty_ids(body: Body) -> Refusal | None:
    for message in _messages(body):
        nameless = any(not call.get("id") for call in _calls(message))
        if nameless or (message.get("role") == "tool" and not message.get("tool_call_id")):
            return Refusal(500, "type must be string, but is null")
    return None


def _content_and_thinking(body: Body) -> Refusal | None:
    for message in _messages(body):
        if _calls(message) and message.get("content") and message.get("reasoning_content"):
            return Refusal(
                500,
                "Cannot pass both content and thinking in an assistant message with tool calls! "
                "Put the analysis message in one or the other, but not both.",
            )
    return None


def _null_content(body: Body) -> Refusal | None:
    if any(message.get("content") is None for message in _messages(body)):
        return Refusal(400, "invalid message content type: <nil>")
    return None


def _strict_roles(body: Body) -> Refusal | None:
    before = "system"
    for message in _messages(body):
        role = str(message.get("role"))
        if role not in _MAY_FOLLOW.get(before, ()):
            return Refusal(
                400,
                f"Conversation roles must alternate user/assistant/user/assistant/...: "
                f"{role!r} came after {before!r}.",
            )
        before = "calling assistant" if _calls(message) else role
    if before not in {"user", "tool"}:
        return Refusal(400, f"Expected last role User or Tool for serving but got {before}.")
    return None


_MAY_FOLLOW: dict[str, tuple[str, ...]] = {
    "system": ("system", "user"),
    "user": ("assistant",),
    "assistant": ("user",),
    "calling assistant": ("tool",),
    "tool": ("tool", "assistant"),
}


def _no_system(body: Body) -> Refusal | None:
    if any(message.get("role") in {"system", "developer"} for message in _messages(body)):
        return Refusal(400, "System role not supported")
    return None


def _one_system(body: Body) -> Refusal | None:
    if any(message.get("role") == "system" for message in _messages(body)[1:]):
        return Refusal(400, "System message must be at the beginning.")
    return None


def _unanswered(body: Body) -> Refusal | None:
    waiting: set[str] = set()
    for message in [*_messages(body), Body()]:
        if message.get("role") == "tool":
            waiting.discard(str(message.get("tool_call_id")))
            continue
        if waiting:
            missing = ", ".join(sorted(waiting))
            return Refusal(400, f"These tool_call_ids did not have response messages: {missing}")
        waiting = {str(call.get("id")) for call in _calls(message)}
    return None


def _empty_assistant(body: Body) -> Refusal | None:
    last = _messages(body)[-1] if _messages(body) else Body()
    if last.get("role") == "assistant" and not last.get("content") and not _calls(last):
        return Refusal(400, "Assistant response prefill is incompatible with enable_thinking.")
    return None


def _tools(body: Body) -> Refusal | None:
    if body.get("tools"):
        return Refusal(400, f"{body.get('model', 'this model')} does not support tools")
    return None


_NO_AUTO = Refusal(
    400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'
)


def _auto_choice(body: Body) -> Refusal | None:
    return _NO_AUTO if body.get("tool_choice") == "auto" else None


def _implied_choice(body: Body) -> Refusal | None:
    implied = body.get("tools") and body.get("tool_choice", "auto") == "auto"
    return _NO_AUTO if implied else None


def _required_choice(body: Body) -> Refusal | None:
    if body.get("tool_choice") == "required":
        return Refusal(400, 'Invalid value for `tool_choice`: "required" is not supported')
    return None


def _schema_keywords(body: Body) -> Refusal | None:
    if _hard_schema([body.get("tools"), body.get("response_format")]):
        return Refusal(400, "JSON schema conversion failed: unrecognized schema")
    return None


def _hard_schema(node: object) -> bool:
    if isinstance(node, list):
        return any(_hard_schema(item) for item in cast("list[object]", node))
    if not isinstance(node, dict):
        return False
    schema = cast("Body", node)
    if "$ref" in schema:
        return True
    for keyword in ("anyOf", "oneOf"):
        options: list[Body] = schema.get(keyword) or []
        if any(set(option) == {"required"} for option in options):
            return True
    return any(_hard_schema(value) for value in schema.values())


_CHECKS: dict[Quirk, Callable[[Body], Refusal | None]] = {
    Quirk.EMPTY_CALL_ID: _empty_ids,
    Quirk.MISSING_CALL_ID: _empty_ids,
    Quirk.CONTENT_AND_THINKING_REFUSED: _content_and_thinking,
    Quirk.CONTENT_NULL_REFUSED: _null_content,
    Quirk.STRICT_ROLES: _strict_roles,
    Quirk.NO_SYSTEM_ROLE: _no_system,
    Quirk.ONE_SYSTEM_MESSAGE: _one_system,
    Quirk.UNANSWERED_CALL_REFUSED: _unanswered,
    Quirk.EMPTY_ASSISTANT_REFUSED: _empty_assistant,
    Quirk.TOOLS_REFUSED: _tools,
    Quirk.TOOL_CHOICE_REFUSED: _auto_choice,
    Quirk.AUTO_CHOICE_IMPLIED: _implied_choice,
    Quirk.REQUIRED_CHOICE_REFUSED: _required_choice,
    Quirk.SCHEMA_KEYWORDS_REFUSED: _schema_keywords,
}
