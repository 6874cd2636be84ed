"""Skills, from what goes over the wire and to it."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from long_running_agents.client.shapes import read
from long_running_agents.domain.skill import (
    Attempt,
    Draft,
    Examined,
    Example,
    Json,
    Problem,
    Skill,
    Trial,
    Version,
)

Told = Mapping[str, Any]

_SKILL = TypeAdapter(Skill)
_VERSION = TypeAdapter(Version)
_PROBLEM = TypeAdapter(Problem)
_ATTEMPT = TypeAdapter(Attempt)
_EXAMINED = TypeAdapter(Examined)
_TRIAL: TypeAdapter[Trial | None] = TypeAdapter(Trial | None)


def skill(told: Told, owner: str) -> Skill:
    """A skill."""
    return read(_SKILL, {**told, "owner": owner})


def version(told: Told, owner: str) -> Version:
    """A version of a skill."""
    return read(_VERSION, {**told, "owner": owner})


def problem(told: Told, owner: str) -> Problem:
    """A file that cannot be a skill."""
    return read(_PROBLEM, {**told, "owner": owner})


def attempt(told: Told) -> Attempt:
    """A call that was tried."""
    return read(_ATTEMPT, told)


def review(told: Told) -> tuple[Examined, Trial | None]:
    """What a review and a trial say."""
    return read(_EXAMINED, told), read(_TRIAL, told["trial"])


def wished(draft: Draft) -> Json:
    """A draft, as it is sent; who brings it is for the server to say."""
    limits = draft.limits
    return {
        "source": draft.source,
        "kind": draft.kind,
        "name": draft.name,
        "function": draft.function,
        "description": draft.description,
        "examples": [_wished(each) for each in draft.examples],
        "timeout": None if limits is None else limits.timeout,
        "memory": None if limits is None else limits.memory,
        "safe_mode": draft.safe_mode,
        "allowed_imports": None if draft.allowed_imports is None else list(draft.allowed_imports),
        "input_schema": draft.input_schema,
        "output_schema": draft.output_schema,
        "is_async": draft.is_async,
        "requires_context": draft.requires_context,
        "label": draft.label,
        "files": [{"path": each.path, "content": each.content} for each in draft.files],
    }


def _wished(example: Example) -> Json:
    return {"args": example.args, **({"result": example.result} if example.checked else {})}
