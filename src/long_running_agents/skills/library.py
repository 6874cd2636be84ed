"""The library: an owner's skills, and everything that can become of them."""

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.skill import (
    Attempt,
    Brought,
    Draft,
    Examined,
    Example,
    Json,
    Kind,
    Origin,
    Problem,
    Skill,
    Standing,
    Trial,
    Version,
)
from long_running_agents.errors import Busy, LraError, SkillRefused, UsageError
from long_running_agents.skills import changing, differing, shelving
from long_running_agents.skills.calling import Calling, Returned
from long_running_agents.skills.offering import Shelf
from long_running_agents.skills.proposing import Proposing
from long_running_agents.skills.transfer import exporting, importing
from long_running_agents.skills.trial import SAMPLE, Candidate
from long_running_agents.skills.workroom import Workroom
from long_running_agents.store import skill_problems, skills
from long_running_agents.store.database import Transaction

log = logging.getLogger(__name__)

_NOWHERE = Brought(origin=Origin.PERSON)


class Library:
    """Looks after one owner's skills."""

    def __init__(self, room: Workroom, owner: str) -> None:
        self._room = room
        self._owner = owner
        self._proposing = Proposing(room, owner)
        self._calling = Calling(room, owner)

    def of(self, owner: str) -> "Library":
        """The skills of another owner."""
        return self if owner == self._owner else Library(self._room, owner)

    async def shelf(self) -> Shelf:
        """The skills in use."""
        return await self._room.shelves.of(self._owner)

    async def every(self) -> Sequence[Skill]:
        """All skills, by name."""
        return await self._room.database.read(lambda tx: skills.every(tx, self._owner))

    async def get(self, name: str) -> Skill:
        """One skill."""
        return await self._room.database.read(lambda tx: skills.get(tx, self._owner, name))

    async def versions(self, name: str) -> Sequence[Version]:
        """Its versions, the newest first."""

        def work(tx: Transaction) -> list[Version]:
            skills.get(tx, self._owner, name)
            return skills.versions(tx, self._owner, name)

        return await self._room.database.read(work)

    async def version(self, name: str, number: int | None = None) -> Version:
        """One version: a given one, or the one in use, or the newest."""

        def work(tx: Transaction) -> Version:
            skill = skills.get(tx, self._owner, name)
            wanted = number if number is not None else skill.version or skill.newest
            return skills.version(tx, self._owner, name, wanted)

        return await self._room.database.read(work)

    async def diff(self, name: str, old: int, new: int) -> str:
        """How two versions differ."""
        before, after = await self.version(name, old), await self.version(name, new)
        return await asyncio.to_thread(differing.diff, before, after)

    async def problems(self) -> Sequence[Problem]:
        """Files among the skills that cannot be skills, and skills whose name was taken."""
        files, used = await self._room.database.read(
            lambda tx: (skill_problems.every(tx, self._owner), skills.in_use(tx, self._owner))
        )
        taken = [
            Problem(
                owner=self._owner,
                path=each.name,
                digest=each.digest,
                error="A built-in tool has this name now. Make the skill again under another.",
                seen_at=each.created_at,
            )
            for each in used
            if each.name in self._room.reserved
        ]
        return [*files, *taken]

    async def examine(self, draft: Draft) -> tuple[Examined, Trial | None]:
        """Review and try a draft, and keep nothing.

        Returns:
            What the review says, and how the trial went if there was a reason for one.
        """
        examined = await self._proposing.examine(draft)
        if examined.errors:
            return examined, None
        return examined, await self._proposing.trial(draft, examined)

    async def propose(self, draft: Draft) -> Version:
        """Review, try and keep a draft; the same again is the same version."""
        return await self._proposing.propose(draft)

    async def create(self, draft: Draft, *, enable: bool, by: str) -> Version:
        """Propose a draft for somebody who may also say yes to it, at once if they do.

        Raises:
            SkillRefused: The review or the trial found fault with it.
        """
        version = await self.propose(draft)
        if not enable or (await self.get(version.name)).uses(version.number):
            return version
        await self.approve(version.name, version.number, by=by)
        return await self.version(version.name, version.number)

    async def offer(self, draft: Draft) -> Version:
        """Propose a draft, and use it at once where the policy says so and nothing speaks against.

        Raises:
            SkillRefused: The review or the trial found fault with it.
        """
        version = await self.propose(draft)
        automatic = self._room.settings.approval == "auto"
        if automatic and version.standing is Standing.PROPOSED and not version.warnings:
            await self.approve(version.name, version.number, by="policy", where=draft.brought)
            return await self.version(version.name, version.number)
        return version

    async def approve(
        self, name: str, number: int | None = None, *, by: str, where: Brought = _NOWHERE
    ) -> Skill:
        """Let a version be used: a given one, or the newest that waits."""
        now = self._room.clock.now()

        def work(tx: Transaction) -> tuple[Version, list[Recorded]]:
            version = changing.chosen(tx, skills.get(tx, self._owner, name), number)
            changing.approve(tx, version, by, now)
            return version, changing.tell(tx, where, version, "enabled", "", now)

        return await self._used(*await self._room.database.write(work))

    async def reject(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Say no to a version: a given one, or the newest that waits."""
        now = self._room.clock.now()

        def work(tx: Transaction) -> None:
            version = changing.chosen(tx, skills.get(tx, self._owner, name), number)
            changing.reject(tx, version, by, now)

        await self._room.database.write(work)
        return await self.get(name)

    async def roll_back(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Use an approved version again: a given one, or the one before the one in use."""
        now = self._room.clock.now()

        def work(tx: Transaction) -> tuple[Version, list[Recorded]]:
            skill = skills.get(tx, self._owner, name)
            version = skills.version(tx, self._owner, name, number or _before(tx, skill))
            changing.bring_back(tx, version, by, now)
            return version, []

        return await self._used(*await self._room.database.write(work))

    async def enable(self, name: str, *, by: str) -> Skill:
        """Use a skill again that was disabled."""
        skill = await self.get(name)
        if skill.version is None:
            raise Busy(
                f"No version of {name!r} was approved yet.", hint=f"'lra skills approve {name}'."
            )
        return await self.roll_back(name, skill.version, by=by)

    async def disable(self, name: str, note: str = "", *, by: str) -> Skill:
        """Let a skill rest; nothing of it is lost."""
        now = self._room.clock.now()

        def work(tx: Transaction) -> None:
            skill = skills.get(tx, self._owner, name)
            skills.disable(tx, self._owner, name, note, now)
            version = skills.version(tx, self._owner, name, skill.version or skill.newest)
            changing.note(tx, "disable", version, by, now)

        await self._room.database.write(work)
        self._room.shelves.changed(self._owner)
        return await self.get(name)

    async def delete(self, name: str, *, by: str) -> None:
        """Forget a skill with all its versions, and its file."""
        now = self._room.clock.now()
        shown = await self.version(name)
        if shown.kind is Kind.GUIDE and await self._lies_there(name):
            raise Busy(
                f"The folder skills/{name} is still there, and would be proposed again.",
                hint="Remove it first, or disable the skill.",
            )

        def work(tx: Transaction) -> list[Version]:
            versions = skills.versions(tx, self._owner, skills.get(tx, self._owner, name).name)
            skills.remove(tx, self._owner, name)
            changing.note(tx, "delete", versions[0], by, now)
            return versions

        versions = await self._room.database.write(work)
        self._room.shelves.changed(self._owner)
        if versions[0].kind is Kind.FUNCTION:
            digests = {version.digest for version in versions}
            with _unless_it_cannot_be_shown(name):
                workspace = self._room.place(self._owner).workspace
                await asyncio.to_thread(shelving.removed, workspace, name, replacing=digests)

    async def _lies_there(self, guide: str) -> bool:
        workspace = self._room.place(self._owner).workspace
        found = await asyncio.to_thread(shelving.guide_in, workspace, guide)
        return found is not None and found.draft is not None

    def allows(self, name: str) -> bool:
        """Whether a skill of that name can be a tool, once it is in use."""
        return self._room.allows(name)

    async def unchanged(self, version: Version) -> bool:
        """Whether a guide's folder still is what was approved."""
        if version.brought.origin is not Origin.FILE:
            return True
        workspace = self._room.place(self._owner).workspace
        found = await asyncio.to_thread(shelving.guide_in, workspace, version.name)
        return found is not None and found.digest == version.digest

    async def call(
        self, name: str, args: Json, *, where: Brought, context: Json, attended: bool = True
    ) -> Returned:
        """Call a skill in use; see `Calling.call`."""
        return await self._calling.call(name, args, where=where, context=context, attended=attended)

    async def run(self, name: str, args: Json, number: int | None = None) -> Attempt:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        version = await self.version(name, number)
        if version.kind is Kind.GUIDE:
            raise UsageError(f"{name!r} is a guide: there is nothing to call.")
        candidate = Candidate(
            source=version.source,
            interface=version.interface,
            limits=version.limits,
            examples=[Example(args=args)],
        )
        context = {**SAMPLE, "owner": self._owner}
        return (await self._room.trials.of(candidate, context)).attempts[0]

    async def export(self, names: Sequence[str] | None = None) -> str:
        """All functions in use, or some skills, as one plain Python module."""
        if names is None:
            chosen = (await self.shelf()).of(Kind.FUNCTION)
        else:
            chosen = [await self.version(name) for name in names]
        if guide := next((each.name for each in chosen if each.kind is Kind.GUIDE), None):
            raise UsageError(f"{guide!r} is a guide.", hint="Copy its folder instead.")
        now = self._room.clock.now()
        return await asyncio.to_thread(exporting.exported, chosen, now=now)

    async def bring_in(self, text: str) -> Sequence[Version]:
        """Propose all functions of a module, or none of them if a review finds fault with one.

        Raises:
            SkillRefused: A review or a trial found fault; the message says what was proposed.
        """
        drafts = await asyncio.to_thread(importing.imported, text)
        for draft in drafts:
            await self._proposing.check(draft)
        kept: list[Version] = []
        refusals: list[str] = []
        for draft in drafts:
            try:
                kept.append(await self.offer(draft))
            except SkillRefused as refusal:
                refusals.append(refusal.message)
        if refusals:
            names = ", ".join(version.name for version in kept) or "none"
            raise SkillRefused("\n".join(refusals), hint=f"Proposed all the same: {names}.")
        return kept

    async def _used(self, version: Version, news: list[Recorded]) -> Skill:
        self._room.shelves.changed(self._owner)
        self._room.announce(news)
        if version.kind is Kind.FUNCTION:
            versions = await self.versions(version.name)
            with _unless_it_cannot_be_shown(version.name):
                await asyncio.to_thread(
                    shelving.written,
                    self._room.place(self._owner).workspace,
                    version.name,
                    version.source,
                    replacing={each.digest for each in versions},
                )
        return await self.get(version.name)


@contextmanager
def _unless_it_cannot_be_shown(name: str) -> Generator[None]:
    """The folder only shows what the database says: what is decided stays so without it."""
    try:
        yield
    except LraError as error:
        log.warning("the file of the skill %s could not be changed: %s", name, error)


def _before(tx: Transaction, skill: Skill) -> int:
    known = skills.versions(tx, skill.owner, skill.name)
    earlier = [
        version.number
        for version in known
        if version.standing is Standing.APPROVED and version.number < (skill.version or 0)
    ]
    if not earlier:
        raise Busy(f"No version of {skill.name!r} was in use before this one.")
    return max(earlier)
