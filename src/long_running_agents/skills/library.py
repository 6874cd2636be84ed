"""The library of an owner's skills: propose, approve, call, export, and the files in the folder."""

import asyncio
import json
import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.skill import (
    Attempt,
    Json,
    Problem,
    Skill,
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillKind,
    SkillOrigin,
    SkillReview,
    SkillTrial,
    Version,
)
from long_running_agents.errors import (
    Busy,
    LraError,
    NotFound,
    SkillFailed,
    SkillRefused,
    StorageFailed,
    UsageError,
)
from long_running_agents.sandbox.base import ExecResult
from long_running_agents.skills import files as skill_files
from long_running_agents.skills import versions as skill_versions
from long_running_agents.skills.context import SkillContext, SkillIndex
from long_running_agents.skills.files import FoundSkill
from long_running_agents.skills.trial import SAMPLE, complaints, run
from long_running_agents.store import skills
from long_running_agents.store.database import Transaction

if TYPE_CHECKING:
    from long_running_agents.skills.proposals import SkillProposals

log = logging.getLogger(__name__)

_NOWHERE = SkillOrigin(origin=SkillCreator.PERSON)
_PRINTED = 4000
_TRACED = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillResult:
    """What a call gave."""

    value: object
    printed: str = ""
    duration_ms: float = 0.0

    def __str__(self) -> str:
        given = self.value
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        return f"{text}\n[printed]\n{self.printed}" if self.printed else text


class SkillLibrary:
    """Looks after one owner's skills."""

    def __init__(self, context: SkillContext, owner: str) -> None:
        self._context = context
        self._owner = owner

    @cached_property
    def _proposing(self) -> "SkillProposals":
        from long_running_agents.skills.proposals import SkillProposals  # noqa: PLC0415 - for who makes one

        return SkillProposals(self._context, self._owner)

    def of(self, owner: str) -> "SkillLibrary":
        """The skills of another owner."""
        return self if owner == self._owner else SkillLibrary(self._context, owner)

    async def index(self) -> SkillIndex:
        """The skills in use."""
        return await self._context.indexes.of(self._owner)

    async def every(self) -> Sequence[Skill]:
        """All skills, by name."""
        return await self._context.database.read(lambda tx: skills.every(tx, self._owner))

    async def get(self, name: str) -> Skill:
        """One skill."""
        return await self._context.database.read(lambda tx: skills.get(tx, self._owner, name))

    async def versions(self, name: str) -> Sequence[Version]:
        """Its versions, the newest first."""

        def work(tx: Transaction) -> list[Version]:
            skills.get(tx, self._owner, name)
            return skills.versions(tx, self._owner, name)

        return await self._context.database.read(work)

    async def version(self, name: str, number: int | None = None) -> Version:
        """One version: a given one, or the one in use, or the newest."""

        def work(tx: Transaction) -> Version:
            skill = skills.get(tx, self._owner, name)
            wanted = number if number is not None else skill.version or skill.newest
            return skills.version(tx, self._owner, name, wanted)

        return await self._context.database.read(work)

    async def diff(self, name: str, old: int, new: int) -> str:
        """How two versions differ."""
        before, after = await self.version(name, old), await self.version(name, new)
        return await asyncio.to_thread(skill_versions.diff, before, after)

    async def problems(self) -> Sequence[Problem]:
        """Files among the skills that cannot be skills, and skills whose name was taken."""
        files, used = await self._context.database.read(
            lambda tx: (skills.every_problem(tx, self._owner), skills.in_use(tx, self._owner))
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
            if each.name in self._context.reserved
        ]
        return [*files, *taken]

    async def examine(self, draft: SkillDraft) -> tuple[SkillReview, SkillTrial | None]:
        """Review and try a draft, and keep nothing.

        Returns:
            What the review says, and how the trial went if there was a reason for one.
        """
        examined = await self._proposing.examine(draft)
        if examined.errors:
            return examined, None
        return examined, await self._proposing.trial(draft, examined)

    async def propose(self, draft: SkillDraft) -> Version:
        """Review, try and keep a draft; the same again is the same version."""
        return await self._proposing.propose(draft)

    async def create(self, draft: SkillDraft, *, enable: bool, by: str) -> Version:
        """Propose a draft for somebody who may also say yes to it, at once if they do."""
        version = await self.propose(draft)
        if not enable or (await self.get(version.name)).uses(version.number):
            return version
        await self.approve(version.name, version.number, by=by)
        return await self.version(version.name, version.number)

    async def offer(self, draft: SkillDraft) -> Version:
        """Propose a draft, and use it at once where the policy says so and it has no warnings."""
        version = await self.propose(draft)
        automatic = self._context.settings.approval == "auto"
        if automatic and version.standing is SkillApproval.PROPOSED and not version.warnings:
            await self.approve(version.name, version.number, by="policy", where=draft.brought)
            return await self.version(version.name, version.number)
        return version

    async def approve(
        self, name: str, number: int | None = None, *, by: str, where: SkillOrigin = _NOWHERE
    ) -> Skill:
        """Let a version be used: a given one, or the newest that waits."""
        now = self._context.clock.now()

        def work(tx: Transaction) -> tuple[Version, list[EventEnvelope]]:
            version = skill_versions.chosen(tx, skills.get(tx, self._owner, name), number)
            skill_versions.approve(tx, version, by, now)
            return version, skill_versions.tell(tx, where, version, "enabled", "", now)

        return await self._used(*await self._context.database.write(work))

    async def reject(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Say no to a version: a given one, or the newest that waits."""
        now = self._context.clock.now()

        def work(tx: Transaction) -> None:
            version = skill_versions.chosen(tx, skills.get(tx, self._owner, name), number)
            skill_versions.reject(tx, version, by, now)

        await self._context.database.write(work)
        return await self.get(name)

    async def roll_back(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Use an approved version again: a given one, or the one before the one in use."""
        now = self._context.clock.now()

        def work(tx: Transaction) -> tuple[Version, list[EventEnvelope]]:
            skill = skills.get(tx, self._owner, name)
            version = skills.version(tx, self._owner, name, number or _before(tx, skill))
            skill_versions.bring_back(tx, version, by, now)
            return version, []

        return await self._used(*await self._context.database.write(work))

    async def enable(self, name: str, *, by: str) -> Skill:
        """Use a skill again that was disabled."""
        skill = await self.get(name)
        if skill.version is None:
            hint = f"'lra skills approve {name}'."
            raise Busy(f"No version of {name!r} was approved yet.", hint=hint)
        return await self.roll_back(name, skill.version, by=by)

    async def disable(self, name: str, note: str = "", *, by: str) -> Skill:
        """Disable a skill; nothing of it is lost."""
        return await self.disable_with(name, note, by=by, also=lambda _: None)

    async def disable_with(
        self, name: str, note: str, *, by: str, also: Callable[[Transaction], object]
    ) -> Skill:
        """Disable a skill, and write something else in the same transaction."""
        now = self._context.clock.now()

        def work(tx: Transaction) -> None:
            skill = skills.get(tx, self._owner, name)
            skills.disable(tx, self._owner, name, note, now)
            version = skills.version(tx, self._owner, name, skill.version or skill.newest)
            skill_versions.noted(tx, "disable", version, by, now)
            also(tx)

        await self._context.database.write(work)
        self._context.indexes.changed(self._owner)
        return await self.get(name)

    async def delete(self, name: str, *, by: str) -> None:
        """Forget a skill with all its versions, and its file."""
        now = self._context.clock.now()
        shown = await self.version(name)
        there = await self._guide_in_folder(name) if shown.kind is SkillKind.GUIDE else None
        if there is not None and there.draft is not None:
            raise Busy(
                f"The folder skills/{name} is still there, and would be proposed again.",
                hint="Remove it first, or disable the skill.",
            )

        def work(tx: Transaction) -> list[Version]:
            versions = skills.versions(tx, self._owner, skills.get(tx, self._owner, name).name)
            skills.remove(tx, self._owner, name)
            skill_versions.noted(tx, "delete", versions[0], by, now)
            return versions

        versions = await self._context.database.write(work)
        self._context.indexes.changed(self._owner)
        if versions[0].kind is SkillKind.FUNCTION:
            digests = {version.digest for version in versions}
            with _unless_it_cannot_be_shown(name):
                workspace = self._context.place(self._owner).folder
                await asyncio.to_thread(skill_files.removed, workspace, name, replacing=digests)

    async def _guide_in_folder(self, guide: str) -> FoundSkill | None:
        workspace = self._context.place(self._owner).folder
        return await asyncio.to_thread(skill_files.guide_in, workspace, guide)

    def allows(self, name: str) -> bool:
        """Whether a skill of that name can be a tool, once it is in use."""
        return self._context.allows(name)

    async def unchanged(self, version: Version) -> bool:
        """Whether a guide's folder still is what was approved."""
        if version.brought.origin is not SkillCreator.FILE:
            return True
        found = await self._guide_in_folder(version.name)
        return found is not None and found.digest == version.digest

    async def call(
        self, name: str, args: Json, *, where: SkillOrigin, context: Json, attended: bool = True
    ) -> SkillResult:
        """Call a skill in use; unattended, not where code would run outside a sandbox.

        Raises:
            NotFound: No such skill is in use.
            UsageError: The arguments are not what it takes; nothing has run.
            SkillFailed: It broke, or returned something else than it said.
            SandboxUnavailable: No code can be run here.
        """
        version = (await self._context.indexes.of(self._owner)).get(name)
        if version is None or not version.interface.function:
            raise NotFound(f"No function {name!r} is in use.", hint="See 'lra skills list'.")
        if wrong := complaints(version.interface.parameters, args):
            raise UsageError(f"{name} cannot be called like this: {wrong}.")
        session = where.session_id or "skills"
        sandboxes = self._context.place(self._owner).sandboxes
        async with sandboxes.entered(session, attended=attended) as entered:
            result = await run(entered.sandbox, version, args, context)
        failure = _failure(version, result)
        await self._count(version, where, failure)
        if failure:
            raise SkillFailed(failure)
        return SkillResult(
            value=result.value,
            printed=result.stdout[:_PRINTED].rstrip(),
            duration_ms=result.duration_ms,
        )

    async def _count(self, version: Version, where: SkillOrigin, failure: str) -> None:
        now = self._context.clock.now()
        most = self._context.settings.failures

        def work(tx: Transaction) -> list[EventEnvelope] | None:
            there = skills.count(tx, version.owner, version.name, failed=bool(failure), now=now)
            if not there or not failure or not most:
                return None
            skill = skills.get(tx, version.owner, version.name)
            if not skill.uses(version.number) or skill.failures_in_a_row < most:
                return None
            last = failure.splitlines()[0]
            why = f"it failed {skill.failures_in_a_row} times in a row; the last time: {last}"
            skills.disable(tx, version.owner, version.name, why, now)
            skill_versions.noted(tx, "disable", version, "policy", now)
            return skill_versions.tell(tx, where, version, "disabled", why, now)

        news = await self._context.database.write(work)
        if news is not None:
            # Only then: to read a thousand skills anew after each failure would slow every step.
            self._context.indexes.changed(self._owner)
            self._context.announce(news)

    async def run(self, name: str, args: Json, number: int | None = None) -> Attempt:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        version = await self.version(name, number)
        if version.kind is SkillKind.GUIDE:
            raise UsageError(f"{name!r} is a guide: there is nothing to call.")
        tried = replace(version, examples=(SkillExample(args=args),))
        context = {**SAMPLE, "owner": self._owner}
        return (await self._context.trials.of(tried, context)).attempts[0]

    async def export(self, names: Sequence[str] | None = None) -> str:
        """All functions in use, or some skills, as one plain Python module."""
        if names is None:
            chosen = (await self.index()).of(SkillKind.FUNCTION)
        else:
            chosen = [await self.version(name) for name in names]
        if guide := next((each.name for each in chosen if each.kind is SkillKind.GUIDE), None):
            raise UsageError(f"{guide!r} is a guide.", hint="Copy its folder instead.")
        from long_running_agents.skills.export import exported  # noqa: PLC0415 - as rarely

        now = self._context.clock.now()
        return await asyncio.to_thread(exported, chosen, now=now)

    async def bring_in(self, text: str) -> Sequence[Version]:
        """Propose all functions of a module, or none of them if a review finds fault with one."""
        from long_running_agents.skills.export import imported  # noqa: PLC0415 - as rarely

        drafts = await asyncio.to_thread(imported, text)
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

    async def _used(self, version: Version, news: list[EventEnvelope]) -> Skill:
        self._context.indexes.changed(self._owner)
        self._context.announce(news)
        if version.kind is SkillKind.FUNCTION:
            versions = await self.versions(version.name)
            with _unless_it_cannot_be_shown(version.name):
                await asyncio.to_thread(
                    skill_files.written,
                    self._context.place(self._owner).folder,
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


def _failure(version: Version, result: ExecResult) -> str:
    """Why a call failed; empty when it did not."""
    if result.error is not None:
        told = f"{version.name} failed: {result.error.name}: {result.error.message}"
        trace = result.error.traceback[-_TRACED:].strip()
        return f"{told}\n{trace}" if trace else told
    if wrong := complaints(version.interface.returns, result.value):
        return f"{version.name} returned something else than it says: {wrong}."
    return ""


def _before(tx: Transaction, skill: Skill) -> int:
    for version in skills.versions(tx, skill.owner, skill.name):
        if version.standing is SkillApproval.APPROVED and version.number < (skill.version or 0):
            return version.number
    raise Busy(f"No version of {skill.name!r} was in use before this one.")


_REST = 5.0
"""Seconds between two looks at one folder."""


class SkillFileSync:
    """Looks into the folders of owners, now and then, and in nobody's way."""

    def __init__(self, context: SkillContext, library: SkillLibrary) -> None:
        self._context = context
        self._library = library
        self._looked: dict[str, float] = {}
        self._seen: dict[str, tuple[str | None, set[str], list[Problem]]] = {}
        """What the last look began with: the stamp of the folder, and what was known."""
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def nudge(self, owner: str) -> None:
        """Look into an owner's folder soon, unless somebody just did."""
        now = self._context.clock.monotonic()
        running = self._tasks.get(owner)
        if (running is None or running.done()) and now - self._looked.get(owner, -_REST) >= _REST:
            self._looked[owner] = now
            self._tasks[owner] = asyncio.create_task(self._guarded(owner))

    async def settled(self) -> None:
        """Wait for the looks that were begun."""
        await asyncio.gather(*self._tasks.values())

    async def close(self) -> None:
        """Look no more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def look(self, owner: str) -> list[Problem]:
        """Propose what is new in an owner's folder; what is wrong with the rest.

        A folder that has not changed is not read again, unless what is known of skills has.
        """
        workspace = self._context.place(owner).folder
        # Before anything is read: what changes meanwhile is another stamp the next time.
        stamp = await asyncio.to_thread(skill_files.folder_stamp, workspace)
        known, before = await self._context.database.read(
            lambda tx: (skills.digests(tx, owner), skills.every_problem(tx, owner))
        )
        seen = stamp, known, before
        if stamp is not None and self._seen.get(owner) == seen:
            return before
        found = await asyncio.to_thread(skill_files.found_files, workspace)
        old = {(problem.path, problem.digest): problem for problem in before}
        library = self._library.of(owner)
        problems: list[Problem] = []
        for each in found:
            if each.digest in known:
                continue
            problem = old.get((each.path, each.digest)) or await self._file(library, owner, each)
            if problem is not None:
                problems.append(problem)
        if problems != before:
            await self._context.database.write(lambda tx: skills.put_problem(tx, owner, problems))
        self._seen[owner] = seen
        return problems

    async def _file(self, library: SkillLibrary, owner: str, found: FoundSkill) -> Problem | None:
        error = found.error
        if found.draft is not None:
            try:
                await library.offer(found.draft)
            except StorageFailed:
                raise
            except LraError as refusal:
                error = str(refusal)
            else:
                return None
        return Problem(
            owner=owner,
            path=found.path,
            digest=found.digest,
            error=error,
            seen_at=self._context.clock.now(),
        )

    async def _guarded(self, owner: str) -> None:
        try:
            await self.look(owner)
        except Exception:  # Whatever lies in a folder, the agent goes on.
            log.exception("the skills of %s could not be looked at", owner)
