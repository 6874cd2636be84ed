"""The curator: puts aside what is of no use any more, without a model; all of it can be undone.

What is put aside is switched off, never forgotten. What was superseded or has expired is at rest
already: only a question about the past finds it.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from long_running_agents.agent.driver import Alarm
from long_running_agents.domain.memory import Memory, MemoryKind, Selection, Trust, normalised
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.reflection import Learned, LearnedKind, LearnedState
from long_running_agents.domain.skill import MOST_RECENT, Skill
from long_running_agents.errors import LraError, UsageError
from long_running_agents.memory import words
from long_running_agents.memory.service import MemoryService
from long_running_agents.skills.library import SkillLibrary
from long_running_agents.store import learned, memories
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.learned import MemoryUse

log = logging.getLogger(__name__)

_WEEK = timedelta(days=7)
_UNDONE = timedelta(days=30)
"""How long something can be taken back."""
_KINDS = {
    MemoryKind.FACT: LearnedKind.FACT,
    MemoryKind.NOTE: LearnedKind.FACT,
    MemoryKind.LESSON: LearnedKind.LESSON,
}
_SHOWN, _UNUSED = 20, timedelta(days=60)
_HARMED = 3
_FAILING = 0.4
_ALIKE = 0.8
"""Two memories that share so many of all their telling words say the same, where none differs."""
_TURNING = frozenset("not no never none nor without except only longer t".split())  # noqa: SIM905 - as in words.py
"""Words that turn what is said into something else."""


def by_hand(memory: Memory) -> bool:
    """Whether a person wrote a memory themselves."""
    written = memory.source == "user" or memory.source.startswith("file:")
    return memory.trust is Trust.USER and written and memory.turn_id is None


def useless(each: MemoryUse, now: datetime) -> str:
    """Why a memory is put aside; empty when it is not."""
    if each.harmed >= _HARMED and each.harmed > each.used:
        return (
            f"it was recalled in {each.harmed} turns whose evidence was refuted, "
            f"and used in {each.used}"
        )
    idle = now - (each.used_at or each.memory.recorded_at)
    if each.shown >= _SHOWN and idle >= _UNUSED and not by_hand(each.memory):
        return f"it was recalled {each.shown} times and not used for {idle.days} days"
    return ""


def duplicates(found: Iterable[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Memories that say the same as another one, each with the one that is kept.

    Better trusted goes before newer. One says all that the other does, and nothing else: where
    each has a word of its own, they may contradict each other, and a person decides.
    """
    telling = {each.id: frozenset(words.asked(normalised(each.content))) for each in found}
    often = Counter(word for some in telling.values() for word in some)
    kept: dict[str, list[Memory]] = defaultdict(list)
    for each in sorted(found, key=lambda memory: (-memory.trust.rank, -memory.id)):
        mine = telling[each.id]
        # Of those that share so many words, one of the rarest is shared.
        rarest = sorted(mine, key=lambda word: (often[word], word))
        rarest = rarest[: len(mine) - int(len(mine) * _ALIKE) + 1]
        near = (other for word in rarest for other in kept[word])
        same = next((other for other in near if _same(each, other, mine, telling[other.id])), None)
        if same is not None:
            yield each, same
            continue
        for word in rarest:
            kept[word].append(each)


def _same(one: Memory, other: Memory, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    apart = mine ^ theirs
    seen = (one.scope, one.agent, one.session_id) == (other.scope, other.agent, other.session_id)
    return (
        seen
        # Of a long text only the first words were looked at.
        and len(mine | theirs) < words.MOST_WORDS
        and (mine <= theirs or theirs <= mine)
        and len(mine & theirs) >= _ALIKE * len(mine | theirs)
        and not any(word in _TURNING or not word.isalpha() for word in apart)
    )


def failing(skill: Skill) -> str:
    """Why a skill is disabled; empty when it is not."""
    failed = skill.recent.count("x")
    if not skill.enabled or len(skill.recent) < MOST_RECENT or failed <= _FAILING * MOST_RECENT:
        return ""
    return f"it failed in {failed} of its last {MOST_RECENT} calls"


def put_aside(found: Sequence[MemoryUse], now: datetime) -> list[tuple[Memory, str]]:
    """The memories of an owner that are put aside, and why."""
    aside: list[tuple[Memory, str]] = []
    rest: list[Memory] = []
    for each in found:
        reason = useless(each, now)
        if each.memory.expires_at is not None and each.memory.expires_at <= now:
            reason = f"it expired on {each.memory.expires_at:%d %B %Y}"
        if reason:
            aside.append((each.memory, reason))
        else:
            rest.append(each.memory)
    return aside + [(each, f"#{same.id} says the same") for each, same in duplicates(rest)]


@dataclass(slots=True)
class Curator:
    """Looks through the memories and skills of all owners once a week, as long as it is open."""

    database: Database
    clock: Clock
    memories: MemoryService | None
    """None when nothing is remembered."""
    skills: SkillLibrary | None
    """None when skills are switched off."""
    _alarm: Alarm | None = field(default=None, init=False)

    async def open(self) -> None:
        """Begin: whoever's week has passed meanwhile comes first."""
        self._alarm = Alarm(self.clock, self._ring)
        await self._ring()

    def close(self) -> None:
        """Look through nothing more by itself."""
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None

    async def _ring(self) -> None:
        now = self.clock.now()
        try:
            owners, _ = await self.database.read(lambda tx: learned.uncurated(tx, now - _WEEK))
            for owner in owners:
                await self.curate(owner)
        except LraError as error:
            # A full disk or the like: nothing is lost by another week.
            log.warning("nothing could be put aside: %s", error)
        _, last = await self.database.read(lambda tx: learned.uncurated(tx, now - _WEEK))
        if self._alarm is not None:
            self._alarm.set((last or now) + _WEEK)

    async def curate(self, owner: str) -> list[Learned]:
        """Put aside what is of no use any more; what was, with the reasons."""
        now = self.clock.now()
        aside: list[Learned] = []
        if self.memories is not None:
            found = await self.database.read(lambda tx: learned.in_use(tx, owner, _KINDS))
            for memory, reason in put_aside(found, now):
                rested = await self.database.write(
                    lambda tx, memory=memory, reason=reason: _rest(tx, memory, reason, now)
                )
                aside += [] if rested is None else [rested]
        if self.skills is not None:
            aside += await self._disable_failing(self.skills.of(owner), owner, now)
        await self.database.write(lambda tx: learned.curated(tx, owner, now))
        return aside

    @staticmethod
    async def _disable_failing(library: SkillLibrary, owner: str, now: datetime) -> list[Learned]:
        aside: list[Learned] = []
        for skill in await library.every():
            if reason := failing(skill):
                row = _resting(LearnedKind.SKILL, skill.name, reason, owner, now)
                await library.disable_with(
                    skill.name,
                    reason,
                    by="curator",
                    also=lambda tx, row=row: aside.append(learned.add(tx, row)),
                )
        return aside

    async def undo(self, owner: str, number: int) -> Learned:
        """Take back what was done with one thing; it is told as it was.

        Raises:
            NotFound: There is none of this number.
            UsageError: It cannot be taken back, or not any more.
        """
        found = await self.database.read(lambda tx: learned.get(tx, owner, number))
        if found.state is LearnedState.RESTING:
            self._in_time(found)
            return await self._wake(found)
        if found.state is LearnedState.NEW and found.memory_id is not None:
            self._in_time(found)
            return await self._forget(found)
        raise UsageError(
            f"{number} is {found.state}: there is nothing to take back.",
            hint="What is resting can be woken, and a new memory forgotten.",
        )

    def _in_time(self, found: Learned) -> None:
        if self.clock.now() - found.at > _UNDONE:
            raise UsageError(
                f"{found.number} is of {found.at:%d %B %Y}; after {_UNDONE.days} days it stays.",
                hint="'lra memory' and 'lra skills' enable, disable and forget at any time.",
            )

    async def _wake(self, found: Learned) -> Learned:
        if found.kind is LearnedKind.SKILL:
            if self.skills is None:
                raise UsageError("Skills are switched off.", hint="Switch them on first.")
            await self.skills.of(found.owner).enable(found.text, by="person")

        def work(tx: Transaction) -> Learned:
            if found.memory_id is not None:
                memory = memories.get(tx, found.owner, found.memory_id)
                memories.switch(tx, memory, enabled=True)
                learned.keep(tx, memory.id)
            learned.remove(tx, found)
            return found

        return await self.database.write(work)

    async def _forget(self, found: Learned) -> Learned:
        if self.memories is None or found.memory_id is None:
            raise UsageError("Nothing is remembered.", hint="Set memory.enabled to true.")
        # The row goes with the memory.
        meant = Selection(ids=frozenset([found.memory_id]))
        gone = await self.memories.forget(found.owner, meant)
        back = f"it is forgotten; 'lra memory undo {gone.batch}' brings it back"
        return replace(found, reason=back)


def _rest(tx: Transaction, memory: Memory, reason: str, now: datetime) -> Learned | None:
    """Put a memory aside that is as it was when this was decided."""
    if memories.selected(tx, memory.owner, Selection(ids=frozenset([memory.id]))) != [memory]:
        return None
    memories.switch(tx, memory, enabled=False)
    row = _resting(_KINDS[memory.kind], memory.content, reason, memory.owner, now)
    about = {"session_id": memory.session_id, "turn_id": memory.turn_id, "memory_id": memory.id}
    return learned.add(tx, replace(row, **about))


def _resting(kind: LearnedKind, text: str, reason: str, owner: str, now: datetime) -> Learned:
    return Learned(
        number=0,
        kind=kind,
        state=LearnedState.RESTING,
        text=text,
        reason=reason,
        owner=owner,
        at=now,
    )
