"""Skills at a desk: looked after the same way by an open home and by a joined server."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.skill import Draft, Problem, Skill, Version


class SkillDesk(Protocol):
    """Skills: `skills.library.Library` here, `client.skills.Skills` there."""

    async def every(self) -> "Sequence[Skill]":
        """All skills, by name."""
        ...

    async def get(self, name: str) -> "Skill":
        """One skill."""
        ...

    async def version(self, name: str, number: int | None = None) -> "Version":
        """One version: a given one, or the one in use, or the newest."""
        ...

    async def problems(self) -> "Sequence[Problem]":
        """Files among the skills that cannot be skills."""
        ...

    async def create(self, draft: "Draft", *, enable: bool, by: str) -> "Version":
        """Review, try and keep a draft, and use it from now on if that is wished."""
        ...

    async def approve(self, name: str, number: int | None = None, *, by: str) -> "Skill":
        """Let a version be used: a given one, or the newest that waits."""
        ...

    async def reject(self, name: str, number: int | None = None, *, by: str) -> "Skill":
        """Say no to a version: a given one, or the newest that waits."""
        ...

    async def roll_back(self, name: str, number: int | None = None, *, by: str) -> "Skill":
        """Use an approved version again: a given one, or the one before the one in use."""
        ...

    async def enable(self, name: str, *, by: str) -> "Skill":
        """Use a skill again that was disabled."""
        ...

    async def disable(self, name: str, note: str = "", *, by: str) -> "Skill":
        """Let a skill rest; nothing of it is lost."""
        ...

    async def delete(self, name: str, *, by: str) -> None:
        """Forget a skill with all its versions, and its file."""
        ...

    async def bring_in(self, text: str) -> "Sequence[Version]":
        """Propose all functions of a module."""
        ...
