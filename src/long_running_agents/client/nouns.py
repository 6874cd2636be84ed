"""The domain's types read from JSON, and memories and skills at a running server."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from functools import cache, wraps
from http import HTTPStatus
from string import Formatter
from types import NoneType
from typing import Any, Self, TypeVar, cast, get_args, get_type_hints
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from long_running_agents.api import REQUEST, TRIED, MemoryApi, SkillApi
from long_running_agents.client.link import SECONDS, Link
from long_running_agents.domain.approval import Approval, GrantScope
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.events import DeltaEnvelope, EventEnvelope
from long_running_agents.domain.memory import (
    Forgetting,
    Hit,
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryResults,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
)
from long_running_agents.domain.session import MINE, SessionPreview
from long_running_agents.domain.skill import (
    Attempt,
    Json,
    Skill,
    SkillDraft,
    SkillReview,
    SkillTrial,
    Version,
)
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import NotFound, Unavailable, kind_of

Told = Mapping[str, Any]
Heard = EventEnvelope | DeltaEnvelope
T = TypeVar("T")

_adapter = cache(TypeAdapter[Any])
_PLACE = frozenset({"seq", "session_id", "turn_id", "at"})
_DELTAS = frozenset({"thinking", "text_delta", "retry", "catch_up"})


def heard(text: str | bytes, owner: str) -> Heard | None:
    """An event or a delta; None for what is said to this client alone."""
    told: dict[str, Any] = json.loads(text)
    if "seq" in told:
        return recorded(told, owner)
    if told.get("type") not in _DELTAS or not told.get("turn_id"):
        return None
    return read(DeltaEnvelope, {**told, "delta": _said(told)}, owner)


def recorded(told: Told, owner: str) -> EventEnvelope:
    """An event."""
    return read(EventEnvelope, {**told, "event": _said(told)}, owner)


def _said(told: Told) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in _PLACE}


def _turn(told: Told) -> Told:
    usage: Told = told["usage"]
    spent = Spent(
        steps=told["iterations"],
        tool_calls=told["tool_calls"],
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cost=Decimal(str(usage["cost"] or 0)),
    )
    return {"id": told["turn_id"], "answer": told["text"], "spent": spent, "attended": True}


def _approval(told: Told) -> Told:
    # The wire says in words what a lasting answer would cover, and words are all that is shown.
    offer = GrantScope(tool=told["scope"]) if told["scope"] else None
    args = json.dumps(told["input"], ensure_ascii=False)
    return {"call_id": told["tool_call_id"], "args": args, "offer": offer}


_OTHERWISE: Mapping[type[Any], Callable[[Told], Told]] = {
    Approval: _approval,
    Memory: lambda _: {"agent": None, "previous": None},
    SessionPreview: lambda told: {"session": told, "last_words": told["preview"]},
    Turn: _turn,
}
"""What JSON says otherwise than the domain does, or not at all."""


def read(shape: type[T], told: Any, owner: str = MINE) -> T:
    """Something of the domain, of what JSON says; whose it is is never said there."""
    if is_dataclass(shape):
        told = {"owner": owner, **told}
        if shape in _OTHERWISE:
            told = {**told, **_OTHERWISE[shape](told)}
    try:
        return _adapter(shape).validate_python(told)
    except ValidationError as error:
        raise Unavailable(
            f"The server says something that is not understood here: {error.errors()[0]['msg']}.",
            hint="Use the same version on both sides.",
        ) from error


class NounClient:
    """What is asked of a server, and read as what the domain calls it."""

    def __init__(self, link: Link, owner: str) -> None:
        self.link = link
        self.owner = owner

    @classmethod
    def at(cls, link: Link, owner: str) -> Self:
        """A client of a server."""
        # Called by its name, a class would be taken for abstract: who checks types sees no methods
        # that are made below.
        return cls(link, owner)

    def __init_subclass__(cls) -> None:
        """Make every method that a protocol marks as one request, and nobody wrote otherwise."""
        super().__init_subclass__()
        for name in dir(cls):
            if marked := getattr(getattr(cls, name, None), REQUEST, None):
                asked, part, options = marked
                setattr(cls, name, _call(getattr(cls, name), asked, part, **options))

    def read(self, shape: type[T], told: Any) -> T:
        """Something of the domain that belongs to the owner."""
        return read(shape, told, self.owner)

    async def one(self, shape: type[T], method: str, path: str, **wishes: Any) -> T:
        """What a server answers."""
        return self.read(shape, (await self.link.ask(method, path, **wishes)).body)

    async def pages(self, shape: type[T], noun: str, path: str, size: int = 1000) -> list[T]:
        """All of a list that a server tells in pages."""
        found: list[T] = []
        while len(found) % size == 0:
            page = {"limit": size, "offset": len(found)}
            told = (await self.link.ask("GET", path, query=page)).body[noun]
            if not told:
                break
            found += [self.read(shape, each) for each in told]
        return found


def _plain(value: object) -> object:
    """What a request is given, as JSON can say it."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


_WHO = frozenset({"self", "owner", "viewer", "by"})


def _call(
    declared: Callable[..., Any],
    asked: str,
    part: str,
    *,
    again: bool = False,
    seconds: float = SECONDS,
    **renamed: str,
) -> Callable[..., Any]:
    """What makes the request that a method of a protocol is marked with."""
    method, _, path = asked.partition(" ")
    signature = inspect.signature(declared)
    in_path = {name for _, name, _, _ in Formatter().parse(path) if name}
    fields = {name: field for field, name in renamed.items()}

    @wraps(declared)
    async def method_of(self: NounClient, *args: Any, **named: Any) -> Any:
        # Partial: whoever asks need not say who they are.
        bound = signature.bind_partial(self, *args, **named)
        bound.apply_defaults()
        given = bound.arguments
        where = path.format_map({name: quote(str(given[name]), safe="") for name in in_path})
        # What the protocol leaves open, the server decides.
        wish = {
            fields.get(name, name): _plain(value)
            for name, value in given.items()
            if name not in in_path | _WHO and value is not ...
        }
        wishes: dict[str, Any] = {"body": wish or None}
        if method == "GET":
            wishes = {"query": {name: each for name, each in wish.items() if each is not None}}
        ask = self.link.insist if again else self.link.ask
        told = (await ask(method, where, seconds=seconds, **wishes)).body
        shape = get_type_hints(declared)["return"]
        if shape in (NoneType, object):
            return None
        found = told[part] if part else told
        if isinstance(found, list):
            return [self.read(get_args(shape)[0], each) for each in cast("list[Any]", found)]
        return self.read(shape, found)

    return method_of


_ALIKE, _UNWANTED = HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY


class MemoryClient(NounClient, MemoryApi):
    """Find, write, correct and forget, as the server's own service does.

    Whoever the server takes the caller for is whose memories these are.
    """

    async def find(self, viewer: Viewer, query: Query) -> MemoryResults:
        """The memories that answer a question best."""
        del viewer
        asked = {"q": query.text, "limit": query.limit, "disabled": query.disabled}
        body = (await self.link.ask("GET", "/api/memory", query=asked)).body
        hits = tuple(
            Hit(memory=self.read(Memory, told), score=told["score"] or 0.0, why=told["why"])
            for told in body["memories"]
        )
        return MemoryResults(hits=hits, degraded=body["degraded"])

    async def write(
        self,
        viewer: Viewer,
        draft: MemoryDraft,
        *,
        supersedes: MemoryId | None = None,
        keep_both: bool = False,
    ) -> Written:
        """Remember something, unless it is junk, known, or like something known."""
        del viewer
        said = ("content", "kind", "scope", "session_id", "trust", "source")
        new = {name: getattr(draft, name) for name in said}
        new |= {"supersedes": supersedes, "keep_both": keep_both}
        return await self._written("POST", "/api/memory", new)

    async def correct(self, viewer: Viewer, number: MemoryId, text: str) -> Written:
        """Say what is true instead of a memory; the old wording is kept as history."""
        del viewer
        return await self._written("PATCH", f"/api/memory/{number}", {"content": text})

    async def forget(
        self, owner: str, selection: Selection, *, at_once: bool = False
    ) -> Forgetting:
        """Forget what a selection means, with everything derived from it."""
        del owner
        wanted = {**_adapter(Selection).dump_python(selection, mode="json"), "for_good": at_once}
        body = (await self.link.ask("POST", "/api/memory/forget", body=wanted)).body
        return Forgetting(
            batch=body["batch"],
            memories=tuple(self.read(Memory, told) for told in body["memories"]),
            derived=frozenset(MemoryId(number) for number in body["derived"]),
        )

    async def _written(self, method: str, path: str, body: Mapping[str, object]) -> Written:
        reply = await self.link.ask(method, path, body=body, accepted=(_ALIKE, _UNWANTED))
        told: Any = reply.body
        match told:
            case {"code": "similar", "memories": known}:
                return Similar(tuple(self.read(Memory, each) for each in known))
            case {"code": "refused", "message": message}:
                return Refused(str(message).removeprefix("Not written: ").removesuffix("."))
            case {"code": code, "message": message}:
                raise kind_of(str(code))(str(message), hint=str(told.get("hint", "")))
            case {"status": "merged", "memory": memory}:
                return Merged(self.read(Memory, memory))
            case _:
                old = told["superseded"] and self.read(Memory, told["superseded"])
                return Stored(self.read(Memory, told["memory"]), old)


def wished(draft: SkillDraft) -> Json:
    """A draft, as it is sent; who brings it is for the server to say."""
    limits = draft.limits
    return {
        **_adapter(SkillDraft).dump_python(
            draft, mode="json", exclude={"brought", "limits", "examples"}
        ),
        "examples": [
            {"args": each.args, **({"result": each.result} if each.checked else {})}
            for each in draft.examples
        ],
        "timeout": None if limits is None else limits.timeout,
        "memory": None if limits is None else limits.memory,
    }


_ALL = "/api/skills"
_FIXED = frozenset({"export", "problems"})
"""Paths that mean something else than a skill of that name."""


class SkillClient(NounClient, SkillApi):
    """Look after skills, as the server's own library does.

    Whoever the server takes the caller for is whose skills these are, and who is written down for
    what is done; ``by`` is here only because the library takes it.
    """

    async def every(self) -> Sequence[Skill]:
        """All skills, by name."""
        return await self.pages(Skill, "skills", _ALL)

    async def get(self, name: str) -> Skill:
        """One skill."""
        if name not in _FIXED:
            return await self.one(Skill, "GET", _path(name))
        for each in await self.every():
            if each.name == name:
                return each
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")

    async def versions(self, name: str) -> Sequence[Version]:
        """Its versions, the newest first."""
        return await self.pages(Version, "versions", f"{_path(name)}/versions", 100)

    async def version(self, name: str, number: int | None = None) -> Version:
        """One version: a given one, or the one in use, or the newest."""
        if number is None:
            skill = await self.get(name)
            number = skill.version or skill.newest
        return await self.one(Version, "GET", f"{_path(name)}/versions/{number}")

    async def diff(self, name: str, old: int, new: int) -> str:
        """How two versions differ."""
        reply = await self.link.ask("GET", f"{_path(name)}/diff", query={"old": old, "new": new})
        return str(reply.body["diff"])

    async def examine(self, draft: SkillDraft) -> tuple[SkillReview, SkillTrial | None]:
        """Review a draft, try it if there is a reason to, and keep nothing."""
        body = wished(draft)
        reply = await self.link.ask("POST", f"{_ALL}/review", body=body, seconds=TRIED)
        trial = reply.body["trial"]
        review = self.read(SkillReview, reply.body)
        return review, None if trial is None else self.read(SkillTrial, trial)

    async def create(self, draft: SkillDraft, *, enable: bool, by: str = "") -> Version:
        """Propose a draft, and use it at once if that is wanted."""
        del by
        body = {**wished(draft), "enable": enable}
        return await self.one(Version, "POST", _ALL, body=body, seconds=TRIED)

    async def run(self, name: str, args: Json, number: int | None = None) -> Attempt:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        body = {"args": args, "version": number}
        return await self.one(Attempt, "POST", f"{_path(name)}/run", body=body, seconds=TRIED)

    async def export(self, names: Sequence[str] | None = None) -> str:
        """All functions in use, or some skills, as one plain Python module."""
        chosen = "&".join(f"name={quote(name, safe='')}" for name in names or ())
        return (await self.link.ask("GET", f"{_ALL}/export?{chosen}".rstrip("?"))).text


def _path(name: str) -> str:
    return f"{_ALL}/{quote(name, safe='')}"
