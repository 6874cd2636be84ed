"""Which reply a scripted model gives to which message."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeAlias, TypeVar, cast

from long_running_agents.testing.reply import (
    CutStream,
    Failure,
    Hang,
    MalformedJson,
    Reply,
    Status,
    ToolCall,
    call,
    calls,
    cut,
    fail,
    garbage,
    hang,
    say,
)

__all__ = [
    "CutStream",
    "Failure",
    "Hang",
    "MalformedJson",
    "Message",
    "Reply",
    "Rule",
    "Script",
    "ServedFailures",
    "Status",
    "ToolCall",
    "call",
    "calls",
    "cut",
    "fail",
    "garbage",
    "hang",
    "say",
]

Message: TypeAlias = Mapping[str, Any]
"""One chat message in OpenAI's shape."""

_UNSCRIPTED = say("I have no script for this.")
_FAILURES: dict[str, type[Failure]] = {
    "status": Status,
    "cut_stream": CutStream,
    "malformed_json": MalformedJson,
    "hang": Hang,
}
_FAILURE_KINDS = {kind: name for name, kind in _FAILURES.items()}
_NUMBER = (int, float)
_ABSENT = type(None)
_FORMS: dict[str, tuple[type, ...]] = {
    "tool": (str,),
    "args": (dict,),
    "id": (str, _ABSENT),
    "code": (int,),
    "message": (str,),
    "retry_after": (*_NUMBER, _ABSENT),
    "after_chunks": (int,),
    "text": (str,),
    "calls": (list,),
    "thinking": (str,),
    "delay": _NUMBER,
    "chunk_delay": _NUMBER,
    "chunks": (int, _ABSENT),
    "failure": (dict, _ABSENT),
    "times": (int, _ABSENT),
    "input_tokens": (int, _ABSENT),
    "output_tokens": (int, _ABSENT),
    "when": (str,),
    "replies": (list,),
    "rules": (list,),
}
_Made = TypeVar("_Made", bound="Script | Rule | Reply | ToolCall | Failure")


class ServedFailures:
    """How often each failure of a script was served, so that it can end."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int, str], int] = {}

    def spent(self, key: tuple[int, int, str], reply: Reply) -> bool:
        """Whether the failure has been served as often as it asks for."""
        return reply.times is not None and self._counts.get(key, 0) >= reply.times

    def count(self, key: tuple[int, int, str]) -> None:
        """Note one serving."""
        self._counts[key] = self._counts.get(key, 0) + 1


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
                return _next(rule, steps, (number, text), served or ServedFailures())
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
            data = json.loads(text)
        except ValueError as error:
            raise ValueError(f"The script is not JSON: {error}.") from error
        script = _checked(data, _names(cls), "The script")
        _collect(script, "rules", "rules", _rule)
        return _made(cls, script, "The script")


def _position(messages: Sequence[Message]) -> tuple[str, int]:
    steps = 0
    for message in reversed(messages):
        if message.get("role") == "user":
            return _text(message.get("content")), steps
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
        if steps == 0 and not served.spent(key, reply):
            served.count(key)
            return reply
    return rule.replies[-1]


def _plain(value: Reply | ToolCall | Failure) -> dict[str, object]:
    plain: dict[str, object] = {}
    for item in fields(value):
        content = getattr(value, item.name)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if content == default:
            continue
        if item.name == "calls":
            content = [_plain(one) for one in content]
        elif item.name == "failure":
            content = {"kind": _FAILURE_KINDS[type(content)], **_plain(content)}
        plain[item.name] = content
    return plain


def _rule(data: object, where: str) -> Rule:
    rule = _checked(data, _names(Rule), where)
    _collect(rule, "replies", f"{where}.replies", _reply)
    return _made(Rule, rule, where)


def _reply(data: object, where: str) -> Reply:
    reply = _checked(data, _names(Reply), where)
    _collect(reply, "calls", f"{where}.calls", _tool_call)
    if reply.get("failure") is not None:
        reply["failure"] = _failure(reply["failure"], f"{where}.failure")
    return _made(Reply, reply, where)


def _tool_call(data: object, where: str) -> ToolCall:
    return _made(ToolCall, _checked(data, _names(ToolCall), where), where)


def _collect(
    owner: dict[str, Any], name: str, where: str, read: Callable[[object, str], object]
) -> None:
    if name in owner:
        items = enumerate(owner[name])
        owner[name] = tuple(read(item, f"{where}[{number}]") for number, item in items)


def _failure(data: dict[str, Any], where: str) -> Failure:
    kind = _FAILURES.get(str(data.get("kind")))
    if kind is None:
        raise ValueError(
            f"{where} has the kind {data.get('kind')!r}: expected {', '.join(_FAILURES)}."
        )
    rest = {name: value for name, value in data.items() if name != "kind"}
    return _made(kind, _checked(rest, _names(kind), where), where)


def _names(kind: type[_Made]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _required(kind: type[_Made]) -> tuple[str, ...]:
    given = [item for item in fields(kind) if item.default is MISSING]
    return tuple(item.name for item in given if item.default_factory is MISSING)


def _checked(data: object, names: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        # The text is wrong, not the caller: a ValueError, as for all that it can hold.
        raise ValueError(  # noqa: TRY004
            f"{where} is {data!r}: expected an object with {', '.join(names)}."
        )
    checked = cast("dict[str, Any]", data)
    for name, value in checked.items():
        if name not in names:
            raise ValueError(
                f"{where} has the unknown field {name!r}: expected {', '.join(names)}."
            )
        # True is an int to Python, never to the person who wrote it.
        if not isinstance(value, _FORMS[name]) or isinstance(value, bool):
            forms = " or ".join(
                "null" if form is _ABSENT else form.__name__ for form in _FORMS[name]
            )
            raise ValueError(  # noqa: TRY004 - as above
                f"{where}.{name} is {value!r}: expected {forms}."
            )
    return dict(checked)


def _made(kind: type[_Made], values: Mapping[str, Any], where: str) -> _Made:
    missing = [name for name in _required(kind) if name not in values]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}.")
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
