"""Proposing: a draft is reviewed and tried, and then waits for a person, or for the policy."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.skill import (
    Draft,
    Examined,
    Example,
    Finding,
    Kind,
    Limits,
    Origin,
    Severity,
    Standing,
    Trial,
    Version,
    digest_of,
    same,
)
from long_running_agents.errors import Denied, SkillRefused
from long_running_agents.skills import changing, likeness, lookalikes
from long_running_agents.skills.guides import read_guide
from long_running_agents.skills.reviewing.review import review
from long_running_agents.skills.trial import SAMPLE, Candidate
from long_running_agents.skills.workroom import Workroom
from long_running_agents.store import skills
from long_running_agents.store.database import Transaction

_TOLD = 12
"""Findings that an error tells."""
_TRUSTED = frozenset({Origin.PERSON, Origin.LIBRARY})
"""Whose word weighs more than an earlier no."""


class Proposing:
    """Takes drafts for one owner."""

    def __init__(self, room: Workroom, owner: str) -> None:
        self._room = room
        self._owner = owner

    async def examine(self, draft: Draft) -> Examined:
        """Review a draft; nothing is run, nothing is kept."""
        look = self._guide if draft.kind is Kind.GUIDE else self._function
        found = await asyncio.to_thread(look, draft)
        if not found.name or found.errors:
            return found
        known = await self._room.database.read(lambda tx: skills.every(tx, self._owner))
        findings = [*found.findings]
        others = {each.name for each in known if each.name != found.name}
        if any(each.name == found.name and each.kind is not draft.kind for each in known):
            findings.append(
                Finding(
                    message=f"{found.name!r} is a skill of another kind already.",
                    repair="Choose another name.",
                )
            )
        if twin := lookalikes.confusable(found.name, others | self._room.reserved):
            findings.append(
                _warning(f"{found.name!r} looks like {twin!r}.", "Choose another name.")
            )
        if draft.kind is Kind.FUNCTION:
            findings += await self._alike(draft, found.name)
        if not draft.safe_mode:
            message = "Its safe mode is off: it may import whatever the sandbox has."
            findings.append(_warning(message, "Look at its imports."))
        return replace(found, findings=tuple(findings))

    async def check(self, draft: Draft) -> Examined:
        """Review a draft.

        Raises:
            SkillRefused: The review found fault with it.
        """
        examined = await self.examine(draft)
        if examined.errors or examined.interface is None:
            raise _refused(examined)
        return examined

    async def trial(self, draft: Draft, examined: Examined) -> Trial:
        """Try a draft that passed its review.

        Raises:
            SandboxUnavailable: Nothing can be tried here.
        """
        if examined.interface is None or draft.kind is Kind.GUIDE:
            return Trial(at=self._room.clock.now(), passed=not examined.errors)
        candidate = Candidate(
            source=draft.source,
            interface=examined.interface,
            limits=self._limits(draft),
            examples=_told(examined.examples) or examined.examples,
        )
        return await self._room.trials.of(candidate, SAMPLE)

    async def propose(self, draft: Draft) -> Version:
        """Review, try and keep a draft; the same again is the same version.

        Raises:
            SkillRefused: The review or the trial found fault with it.
            Denied: A person has said no to this very version.
            SandboxUnavailable: Nothing can be tried here.
        """
        examined = await self.check(draft)
        known = await self._known(draft, examined.name)
        if known is not None:
            return known
        trial = await self.trial(draft, examined)
        if not trial.passed:
            raise SkillRefused(
                f"{examined.name} did not pass its trial: {trial.reason}.",
                hint="Mend the code, or give examples of calls that work.",
            )
        version, news = await self._room.database.write(
            lambda tx: self._keep(tx, draft, examined, trial, self._room.clock.now())
        )
        self._room.announce(news)
        return version

    def _function(self, draft: Draft) -> Examined:
        room = self._room
        found = review(
            draft,
            allowed_imports=self._imports(draft),
            reserved=room.reserved,
            redact=room.redact,
        )
        if not found.name.startswith(room.prefixes):
            return found
        finding = Finding(
            message=f"{found.name!r} begins like the tools of a foreign server.",
            repair="Choose another name.",
        )
        return replace(found, findings=(*found.findings, finding))

    def _guide(self, draft: Draft) -> Examined:
        return read_guide(draft.source, draft.name, draft.files, redact=self._room.redact)

    def _limits(self, draft: Draft) -> Limits:
        usual = self._room.settings
        return draft.limits or Limits(timeout=usual.timeout, memory=usual.memory)

    def _imports(self, draft: Draft) -> Sequence[str]:
        # Whoever writes a draft may wish for less than the settings allow, and never for more,
        # unless a person wrote it.
        usual = self._room.settings.allowed_imports
        wished = draft.allowed_imports
        if wished is None:
            return usual
        if draft.brought.origin in _TRUSTED:
            return wished
        return [name for name in wished if name in usual]

    async def _alike(self, draft: Draft, name: str) -> list[Finding]:
        """Skills in use that do the same under another name."""
        shelf = await self._room.shelves.of(self._owner)
        others = [each for each in shelf.of(Kind.FUNCTION) if each.name != name]
        close = await asyncio.to_thread(self._close, draft.source, others)
        return [
            _warning(
                f"It is nearly the same as the skill {other!r}.",
                f"Use {other}, or make this its next version.",
            )
            for other in close
        ]

    def _close(self, source: str, others: Sequence[Version]) -> list[str]:
        mine = likeness.fingerprint(source)
        known = self._room.fingerprints
        for other in others:
            if other.digest not in known:
                known[other.digest] = likeness.fingerprint(other.source)
        return [
            other.name
            for other in others
            if likeness.alike(mine, known[other.digest]) >= likeness.ALIKE
        ]

    def _same(self, draft: Draft, versions: Sequence[Version]) -> Version | None:
        imports, limits = self._imports(draft), self._limits(draft)
        return next((each for each in versions if same(each, draft, limits, imports)), None)

    async def _known(self, draft: Draft, name: str) -> Version | None:
        found = await self._room.database.read(lambda tx: skills.versions(tx, self._owner, name))
        known = self._same(draft, found)
        if known is None or known.standing is not Standing.REJECTED:
            return known
        if draft.brought.origin not in _TRUSTED:
            raise Denied(
                f"{name} was rejected as it is (version {known.number}).",
                hint="Change it, or do without.",
            )
        now = self._room.clock.now()
        await self._room.database.write(
            lambda tx: skills.decide(tx, known, Standing.PROPOSED, by="", now=now)
        )
        return replace(known, standing=Standing.PROPOSED, decided_by="", decided_at=now)

    def _keep(
        self, tx: Transaction, draft: Draft, examined: Examined, trial: Trial, now: datetime
    ) -> tuple[Version, list[Recorded]]:
        assert examined.interface is not None, "looked at before"  # noqa: S101 - for the type checker
        before = skills.versions(tx, self._owner, examined.name)
        if (known := self._same(draft, before)) is not None:
            # Somebody else has proposed the same while this was tried.
            return known, []
        version = Version(
            owner=self._owner,
            name=examined.name,
            number=before[0].number + 1 if before else 1,
            kind=draft.kind,
            digest=digest_of(draft.source, draft.files),
            source=draft.source,
            interface=examined.interface,
            limits=self._limits(draft),
            safe_mode=draft.safe_mode,
            allowed_imports=tuple(self._imports(draft)) if draft.safe_mode else (),
            examples=_told(examined.examples),
            files=draft.files,
            label=draft.label,
            brought=draft.brought,
            created_at=now,
            warnings=examined.warnings,
            trial=trial,
            standing=Standing.PROPOSED,
        )
        skills.put(tx, version)
        changing.note(tx, "propose", version, draft.brought.origin, now)
        return version, changing.tell(tx, draft.brought, version, "proposed", "", now)


def _told(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Those that somebody gave, who knows better than the signature what makes sense."""
    return tuple(each for each in examples if not each.derived)


def _warning(message: str, repair: str) -> Finding:
    return Finding(message=message, repair=repair, severity=Severity.WARNING)


def _refused(examined: Examined) -> SkillRefused:
    told = "\n".join(f"- {finding}" for finding in examined.errors[:_TOLD])
    more = len(examined.errors) - _TOLD
    rest = f"\n- and {more} more" if more > 0 else ""
    name = examined.name or "This"
    return SkillRefused(f"{name} cannot be a skill:\n{told}{rest}")
