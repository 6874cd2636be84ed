"""Skills at a running server."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from long_running_agents.client import skill_shapes
from long_running_agents.client.link import Link
from long_running_agents.domain.skill import (
    Attempt,
    Draft,
    Examined,
    Json,
    Problem,
    Skill,
    Trial,
    Version,
)
from long_running_agents.errors import NotFound

_ALL = "/api/skills"
_PAGE, _PAGE_OF_VERSIONS = 1000, 100
_SECONDS = 1800.0
"""How long what is tried in a sandbox may take: a call has its own limit, and there are some."""
_FIXED = frozenset({"export", "problems"})
"""Paths that mean something else than a skill of that name."""


class Skills:
    """Look after skills, as the server's own library does.

    Whoever the server takes the caller for is whose skills these are, and who is written down for
    what is done; ``by`` is here only because the library takes it.
    """

    def __init__(self, link: Link, owner: str) -> None:
        self._link = link
        self._owner = owner

    async def every(self) -> Sequence[Skill]:
        """All skills, by name."""
        told = await self._pages(_ALL, "skills", _PAGE)
        return [skill_shapes.skill(each, self._owner) for each in told]

    async def get(self, name: str) -> Skill:
        """One skill."""
        if name in _FIXED:
            return await self._among_all(name)
        return self._skill((await self._link.ask("GET", _path(name))).body)

    async def versions(self, name: str) -> Sequence[Version]:
        """Its versions, the newest first."""
        told = await self._pages(f"{_path(name)}/versions", "versions", _PAGE_OF_VERSIONS)
        return [self._version(each) for each in told]

    async def version(self, name: str, number: int | None = None) -> Version:
        """One version: a given one, or the one in use, or the newest."""
        if number is None:
            skill = await self.get(name)
            number = skill.version or skill.newest
        return self._version((await self._link.ask("GET", f"{_path(name)}/versions/{number}")).body)

    async def diff(self, name: str, old: int, new: int) -> str:
        """How two versions differ."""
        reply = await self._link.ask("GET", f"{_path(name)}/diff", query={"old": old, "new": new})
        return str(reply.body["diff"])

    async def problems(self) -> Sequence[Problem]:
        """Files among the skills that cannot be skills."""
        told = (await self._link.ask("GET", f"{_ALL}/problems")).body
        return [skill_shapes.problem(each, self._owner) for each in told["problems"]]

    async def examine(self, draft: Draft) -> tuple[Examined, Trial | None]:
        """Review and try a draft, and keep nothing.

        Returns:
            What the review says, and how the trial went if there was a reason for one.
        """
        body = skill_shapes.wished(draft)
        reply = await self._link.ask("POST", f"{_ALL}/review", body=body, seconds=_SECONDS)
        return skill_shapes.review(reply.body)

    async def create(self, draft: Draft, *, enable: bool, by: str = "") -> Version:
        """Propose a draft, and use it at once if that is wanted.

        Raises:
            SkillRefused: The review or the trial found fault with it.
        """
        del by
        body = {**skill_shapes.wished(draft), "enable": enable}
        return self._version((await self._link.ask("POST", _ALL, body=body, seconds=_SECONDS)).body)

    async def approve(self, name: str, number: int | None = None, *, by: str = "") -> Skill:
        """Let a version be used: a given one, or the newest that waits."""
        del by
        return await self._decide(name, "approve", {"version": number})

    async def reject(self, name: str, number: int | None = None, *, by: str = "") -> Skill:
        """Say no to a version: a given one, or the newest that waits."""
        del by
        return await self._decide(name, "reject", {"version": number})

    async def roll_back(self, name: str, number: int | None = None, *, by: str = "") -> Skill:
        """Use an approved version again: a given one, or the one before the one in use."""
        del by
        return await self._decide(name, "rollback", {"version": number})

    async def enable(self, name: str, *, by: str = "") -> Skill:
        """Use a skill again that was disabled."""
        del by
        return await self._decide(name, "enable")

    async def disable(self, name: str, note: str = "", *, by: str = "") -> Skill:
        """Let a skill rest; nothing of it is lost."""
        del by
        return await self._decide(name, "disable", {"note": note})

    async def delete(self, name: str, *, by: str = "") -> None:
        """Forget a skill with all its versions, and its file."""
        del by
        await self._link.ask("DELETE", _path(name))

    async def run(self, name: str, args: Json, number: int | None = None) -> Attempt:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        reply = await self._link.ask(
            "POST", f"{_path(name)}/run", body={"args": args, "version": number}, seconds=_SECONDS
        )
        return skill_shapes.attempt(reply.body)

    async def export(self, names: Sequence[str] | None = None) -> str:
        """All functions in use, or some skills, as one plain Python module."""
        chosen = "&".join(f"name={quote(name, safe='')}" for name in names or ())
        return (await self._link.ask("GET", f"{_ALL}/export?{chosen}".rstrip("?"))).text

    async def bring_in(self, text: str) -> Sequence[Version]:
        """Propose all functions of a module."""
        reply = await self._link.ask(
            "POST", f"{_ALL}/import", body={"source": text}, seconds=_SECONDS
        )
        return [self._version(each) for each in reply.body["versions"]]

    async def _decide(self, name: str, what: str, body: Json | None = None) -> Skill:
        return self._skill((await self._link.ask("POST", f"{_path(name)}/{what}", body=body)).body)

    async def _pages(self, path: str, noun: str, size: int) -> list[Any]:
        found: list[Any] = []
        offset: int | None = 0
        while offset is not None:
            reply = await self._link.ask("GET", path, query={"limit": size, "offset": offset})
            found += reply.body[noun]
            offset = reply.body["next"]
        return found

    async def _among_all(self, name: str) -> Skill:
        for each in await self.every():
            if each.name == name:
                return each
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")

    def _skill(self, told: Any) -> Skill:
        return skill_shapes.skill(told, self._owner)

    def _version(self, told: Any) -> Version:
        return skill_shapes.version(told, self._owner)


def _path(name: str) -> str:
    return f"{_ALL}/{quote(name, safe='')}"
