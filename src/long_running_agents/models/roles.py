"""Conversations in the order of roles that a server accepts."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

from long_running_agents.models.ability import Ability

Json = dict[str, Any]

_NOT_RUN = "Not run: the conversation went on without it."
_GO_ON = "Go on."
_DONE = "Done."


def fitted(messages: list[Json], ability: Ability) -> list[Json]:
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
