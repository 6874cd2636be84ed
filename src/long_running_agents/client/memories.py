"""Memories at a running server."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from long_running_agents.client import shapes
from long_running_agents.client.link import Link
from long_running_agents.domain.memory import (
    Draft,
    Forgetting,
    Found,
    Hit,
    Memory,
    MemoryId,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
)
from long_running_agents.errors import kind_of

_ALIKE, _UNWANTED = HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY


class Memories:
    """Find, write, correct and forget, as the server's own service does.

    Whoever the server takes the caller for is whose memories these are.
    """

    def __init__(self, link: Link, owner: str) -> None:
        self._link = link
        self._owner = owner

    async def find(self, viewer: Viewer, query: Query) -> Found:
        """The memories that answer a question best."""
        del viewer
        asked = {"q": query.text, "limit": query.limit, "disabled": query.disabled}
        body = (await self._link.ask("GET", "/api/memory", query=asked)).body
        hits = tuple(
            Hit(memory=self._memory(told), score=told["score"] or 0.0, why=told["why"])
            for told in body["memories"]
        )
        return Found(hits=hits, degraded=body["degraded"])

    async def write(
        self,
        viewer: Viewer,
        draft: Draft,
        *,
        supersedes: MemoryId | None = None,
        keep_both: bool = False,
    ) -> Written:
        """Remember something, unless it is junk, known, or like something known."""
        del viewer
        new = {
            "content": draft.content,
            "kind": draft.kind,
            "scope": draft.scope,
            "session_id": draft.session_id,
            "supersedes": supersedes,
            "keep_both": keep_both,
            "trust": draft.trust,
            "source": draft.source,
        }
        return await self._written("POST", "/api/memory", new)

    async def correct(self, viewer: Viewer, number: MemoryId, text: str) -> Written:
        """Say what is true instead of a memory; the old wording is kept as history."""
        del viewer
        return await self._written("PATCH", f"/api/memory/{number}", {"content": text})

    async def switch(self, viewer: Viewer, number: MemoryId, *, enabled: bool) -> Memory:
        """Switch a memory off, so that nothing brings it to mind, or on again."""
        del viewer
        reply = await self._link.ask("PATCH", f"/api/memory/{number}", body={"enabled": enabled})
        return self._memory(reply.body["memory"])

    async def forget(
        self, owner: str, selection: Selection, *, at_once: bool = False
    ) -> Forgetting:
        """Forget what a selection means, with everything derived from it."""
        del owner
        wanted = {
            "ids": None if selection.ids is None else sorted(selection.ids),
            "session_id": selection.session_id,
            "source": selection.source,
            "kind": selection.kind,
            "before": None if selection.before is None else selection.before.isoformat(),
            "for_good": at_once,
        }
        body = (await self._link.ask("POST", "/api/memory/forget", body=wanted)).body
        return Forgetting(
            batch=body["batch"],
            memories=tuple(self._memory(told) for told in body["memories"]),
            derived=frozenset(MemoryId(number) for number in body["derived"]),
        )

    async def undo(self, owner: str, batch: str) -> list[Memory]:
        """Bring back what was forgotten together."""
        del owner
        body = (await self._link.ask("POST", f"/api/memory/undo/{quote(batch)}")).body
        return [self._memory(told) for told in body["memories"]]

    async def _written(self, method: str, path: str, body: Mapping[str, object]) -> Written:
        reply = await self._link.ask(method, path, body=body, accepted=(_ALIKE, _UNWANTED))
        told: Any = reply.body
        match told:
            case {"code": "similar", "memories": known}:
                return Similar(tuple(self._memory(each) for each in known))
            case {"code": "refused", "message": message}:
                return Refused(str(message).removeprefix("Not written: ").removesuffix("."))
            case {"code": code, "message": message}:
                raise kind_of(str(code))(str(message), hint=str(told.get("hint", "")))
            case {"status": "merged", "memory": memory}:
                return Merged(self._memory(memory))
            case _:
                old = told["superseded"]
                return Stored(
                    self._memory(told["memory"]), None if old is None else self._memory(old)
                )

    def _memory(self, told: Any) -> Memory:
        return shapes.memory(told, self._owner)
