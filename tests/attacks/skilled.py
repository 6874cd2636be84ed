"""Takes a case the way of a skill: proposed, approved, called, and answered to a model."""

import asyncio
import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.attacks.cases import Case, filled, load
from tests.attacks.sandboxed import LEAD, MARK
from tests.attacks.stage import CANARY, Stage

from long_running_agents.app import App
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.skill import (
    Interface,
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillTrial,
    Version,
    digest_of,
)
from long_running_agents.errors import Denied, LraError
from long_running_agents.sandbox.base import printable
from long_running_agents.skills.library import SkillLibrary
from long_running_agents.store import ledger, skills

TALK = SessionId("talk")
NOWHERE = SkillOrigin(origin=SkillCreator.MODEL)
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
TOLD = ("SOUL.md", "USER.md", "AGENTS.md", "cron.json")
_SHELL = '''
import subprocess

def run_commands() -> str:
    """Run commands."""
    done = subprocess.run(["bash", "-c", {command!r}], capture_output=True, text=True)
    return done.stdout
'''
_CENSUS = '''
from pathlib import Path

def census() -> int:
    """How many processes there are."""
    return len(list(Path("/proc").glob("[0-9]*")))
'''
_LONGEST = 200_000
"""Characters of an answer that a model may have to read."""


def cases() -> list[Case]:
    """The cases that are about skills."""
    return [case for case in load() if case.kind == "skill"]


def named(code: dict) -> str:
    """What a case is called once somebody has approved it."""
    return f"approved_{code['function']}"


@dataclass(frozen=True)
class Skilled:
    """A home under attack by its own skills."""

    app: App
    stage: Stage
    home: Path

    @property
    def library(self) -> SkillLibrary:
        return self.app.workshop.library

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    async def run(self, case: Case) -> list[str]:
        """Run a case; what came of it that must not have."""
        self.stage.reset()
        (self.home / ".env").write_text(f"KEY={CANARY}\n")
        hits = self.stage.hits
        code = filled(case.code, self.stage.places)
        if case.lang == "guide":
            found = await self._offered(
                SkillDraft(
                    source=code["text"], name=code["name"], kind=SkillKind.GUIDE, brought=NOWHERE
                )
            )
            return found + self.stage.damage(hits)
        if case.lang == "shell":
            code = {"source": _SHELL.format(command=code), "function": "run_commands", "kwargs": {}}
        found = await self._offered(SkillDraft(source=code["source"], brought=NOWHERE), case.check)
        found += await self._approved(case, code)
        return found + self.stage.damage(hits)

    async def _offered(self, draft: SkillDraft, check: str = "unused") -> list[str]:
        """What the policy alone makes of it: a review and a trial, and nobody who looks."""
        try:
            version = await self.library.offer(draft)
        except LraError:
            return []
        used = version.standing is SkillApproval.APPROVED
        return ["it is used, and nobody has seen it"] if used and check == "unused" else []

    async def _approved(self, case: Case, code: dict) -> list[str]:
        """What it does when a person has approved it, whatever the review had said."""
        await self._use("census", "census", _CENSUS)
        name = named(code)
        await self._use(name, code["function"], code["source"], case.timeout)
        before, told = await self._census(), self._instructions(name)
        begun = asyncio.get_running_loop().time()
        text = await self._called(name, code["kwargs"])
        seconds = asyncio.get_running_loop().time() - begun
        found = ["it says so"] if MARK in text else []
        if seconds > case.timeout + LEAD:
            found.append(f"no answer in {seconds:.1f} s")
        after = await self._census()
        if after > before:
            found.append(f"processes: {before} before, {after} after")
        if self._instructions(name) != told:
            found.append("what the agent is told has changed")
        check = getattr(self, f"_check_{case.check}", None)
        return found + (await check(name, code) if check else [])

    async def _use(self, name: str, function: str, source: str, seconds: float = 6) -> None:
        version = Version(
            owner=self.app.settings.owner,
            name=name,
            number=1,
            kind=SkillKind.FUNCTION,
            digest=digest_of(source),
            source=source,
            interface=Interface(
                function=function, description="A skill.", parameters={"type": "object"}
            ),
            limits=SkillLimits(timeout=seconds, memory=512),
            safe_mode=False,
            allowed_imports=(),
            examples=(),
            files=(),
            label="",
            brought=NOWHERE,
            created_at=NOON,
            warnings=(),
            trial=SkillTrial(at=NOON, passed=True),
            standing=SkillApproval.PROPOSED,
        )
        if name not in {each.name for each in await self.library.every()}:
            await self.app.database.write(lambda tx: skills.put(tx, version))
            await self.library.approve(name, by="person")

    async def _called(self, name: str, args: dict) -> str:
        where = SkillOrigin(origin=SkillCreator.MODEL, session_id=TALK)
        try:
            return str(await self.library.call(name, args, where=where, context={}))
        except LraError as error:
            return str(error)

    async def _census(self) -> int:
        # The next cell's fork may still be under way.
        return int(await self._called("census", {}))

    def _instructions(self, name: str) -> dict[str, str]:
        """What a skill must not change: what the agent is told, and what it shows of skills."""
        paths = [self.workspace / each for each in TOLD]
        paths += [self.workspace / "skills", self.workspace / "memory"]
        shown = self.workspace / "skills" / f"{name}.py"
        return {str(path): _content(path) for path in [*paths, shown]}

    async def _check_changed(self, name: str, code: dict) -> list[str]:
        shown = self.workspace / "skills" / f"{name}.py"
        before = await self._called(name, code["kwargs"])
        hostile = 'def f() -> str:\n    """No harm."""\n    return "ESC" + "APE"\n'
        shown.write_text(hostile.replace("f()", f"{code['function']}(number: int)"))
        await self.app.workshop.filing.look(self.app.settings.owner)
        after = await self._called(name, code["kwargs"])
        return [] if before == after == "2" else [f"{before!r} became {after!r}"]

    async def _check_answer(self, name: str, code: dict) -> list[str]:
        """A model hears the answer in a turn, and the turn goes on."""
        turn = await self.app.turns.start(TALK, f"call {name}")
        ended = await self.app.turns.settled(turn.id)
        calls = await self.app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        found = [] if ended.answer == "done" else [f"the turn is {ended.status}"]
        if len(calls) != 1 or calls[0].tool != name:
            return [*found, "nobody called it"]
        told = json.loads(calls[0].result)
        if len(told) > _LONGEST:
            found.append(f"{len(told)} characters for a model")
        return [*found, "it commands the terminal"] if "\x1b" in printable(told) else found

    async def _check_git(self, name: str, code: dict) -> list[str]:
        words = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false"]
        words += ["-c", "core.hooksPath=/dev/null", "status"]
        await asyncio.to_thread(
            subprocess.run, words, cwd=self.workspace, capture_output=True, check=False
        )
        return []

    async def _check_alive(self, name: str, code: dict) -> list[str]:
        return [] if (await self._called("census", {})).isdigit() else ["nothing works any more"]

    async def _check_unused(self, name: str, code: dict) -> list[str]:
        # Whoever reads the list of tools finds the one that was there first.
        try:
            await self.library.call(code["function"], {}, where=NOWHERE, context={})
        except (Denied, LraError):
            return []
        return ["it can be called"]


def _content(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    if path.is_dir():
        return ",".join(sorted(each.name for each in path.iterdir()))
    return path.read_text() if path.exists() else "nothing"
