"""Skills: what they are, what was found in them, and what they gave when they were tried."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict

from long_running_agents.domain.skill import (
    Attempt,
    Examined,
    Kind,
    Origin,
    Problem,
    Severity,
    Skill,
    Standing,
    Trial,
    Version,
)
from long_running_agents.server.wire.shapes import Told

State = Literal["enabled", "disabled", "proposed"]


class SkillTold(Told):
    """A skill with what has become of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "celsius",
                "kind": "function",
                "state": "enabled",
                "enabled": True,
                "version": 2,
                "newest": 3,
                "proposed": 3,
                "description": "Turn degrees of Fahrenheit into degrees of Celsius.",
                "created_at": "2026-11-16T09:00:00Z",
                "updated_at": "2026-11-16T09:30:00Z",
                "calls": 12,
                "failures": 1,
                "failures_in_a_row": 0,
                "used_at": "2026-11-16T10:00:00Z",
                "note": "",
            }
        }
    )

    name: str
    kind: Kind
    state: State
    enabled: bool
    version: int | None
    """The version in use; null while none was approved."""
    newest: int
    proposed: int | None
    """The newest version that waits for an answer."""
    description: str
    created_at: datetime
    updated_at: datetime
    calls: int
    failures: int
    failures_in_a_row: int
    used_at: datetime | None
    note: str
    """Why it is disabled."""

    @classmethod
    def of(cls, skill: Skill) -> "SkillTold":
        """A skill, told."""
        return cls.model_validate(skill, from_attributes=True)


class SkillList(Told):
    """Skills, by name."""

    skills: list[SkillTold]
    total: int
    """How many there are like this."""
    waiting: int
    """How many of all skills have a version that waits for an answer."""
    next: int | None = None
    """The offset of the next page; null on the last one."""


class FindingTold(Told):
    """Something that a review has found."""

    message: str
    repair: str
    """What to do about it."""
    line: int
    """The line of the source; 0 when it is about the whole."""
    severity: Severity
    """An error keeps it from being a skill; a warning is let pass by a person alone."""


class ExampleTold(Told):
    """A call to try a function with."""

    args: dict[str, Any]
    result: Any
    """What it must return, if that is known."""
    checked: bool
    """Whether it is known."""
    derived: bool
    """Whether it was made from the signature."""


class LimitsTold(Told):
    """What one call may use."""

    timeout: float
    """Seconds."""
    memory: int
    """Megabytes."""


class InterfaceTold(Told):
    """What a function tells of itself."""

    function: str
    """The name in the source; empty for a guide."""
    description: str
    parameters: dict[str, Any]
    """The JSON schema of its arguments."""
    returns: dict[str, Any] | None
    """The JSON schema of its result; null when it can be anything."""
    is_async: bool
    context: str
    """The parameter that takes the context of the call; empty when it takes none."""


class AttemptTold(Told):
    """One call that was tried."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "args": {"fahrenheit": 212},
                "shown": "100.0",
                "error": "",
                "derived": False,
                "duration_ms": 3.2,
                "memory": 9437184,
            }
        }
    )

    args: dict[str, Any]
    shown: str
    """What came back, as JSON text, shortened."""
    error: str
    """Why it failed; empty when it did not."""
    derived: bool
    duration_ms: float
    memory: int
    """Bytes it used at most; 0 when nobody could tell."""

    @classmethod
    def of(cls, attempt: Attempt) -> "AttemptTold":
        """A call, told."""
        return cls.model_validate(attempt, from_attributes=True)


class TrialTold(Told):
    """How it fared in the sandbox."""

    at: datetime
    passed: bool
    reason: str
    """Why it did not pass."""
    attempts: list[AttemptTold]


class SkillReviewed(Told):
    """What a review and a trial say; nothing of it was kept."""

    ok: bool
    """Whether it could be a skill as it is."""
    name: str
    """What the tool would be called; empty when that could not be found out."""
    findings: list[FindingTold]
    interface: InterfaceTold | None
    examples: list[ExampleTold]
    trial: TrialTold | None
    """Null when the review found so much that nothing was tried."""

    @classmethod
    def of(cls, examined: Examined, trial: Trial | None) -> "SkillReviewed":
        """What was found, told."""
        told = {
            "ok": not examined.errors and trial is not None and trial.passed,
            "name": examined.name,
            "findings": examined.findings,
            "interface": examined.interface,
            "examples": examined.examples,
            "trial": trial,
        }
        return cls.model_validate(told, from_attributes=True)


class SkillFile(Told):
    """A file of a guide."""

    path: str
    content: str


class BroughtTold(Told):
    """From where a version came."""

    origin: Origin
    session_id: str | None
    turn_id: str | None
    call_id: str
    """The tool call that proposed it."""


class VersionTold(Told):
    """One version of a skill. Nothing of it ever changes but its standing."""

    name: str
    number: int
    kind: Kind
    digest: str
    """The sha256 of what it is made of."""
    source: str
    """Python; of a guide, its SKILL.md."""
    interface: InterfaceTold
    limits: LimitsTold
    safe_mode: bool
    """Whether only allowed modules may be imported."""
    allowed_imports: list[str]
    examples: list[ExampleTold]
    files: list[SkillFile]
    """The other files of a guide."""
    label: str
    """What its maker calls this version."""
    brought: BroughtTold
    created_at: datetime
    warnings: list[FindingTold]
    trial: TrialTold
    standing: Standing
    decided_by: str
    decided_at: datetime | None

    @classmethod
    def of(cls, version: Version) -> "VersionTold":
        """A version, told."""
        return cls.model_validate(version, from_attributes=True)


class VersionList(Told):
    """Versions, whole."""

    versions: list[VersionTold]
    total: int
    next: int | None = None
    """The offset of the next page; null on the last one."""

    @classmethod
    def of(cls, versions: Sequence[Version]) -> "VersionList":
        """All of them, told."""
        return cls(versions=[VersionTold.of(each) for each in versions], total=len(versions))


class VersionDiff(Told):
    """How two versions differ."""

    diff: str
    """As ``diff -u`` shows it."""


class ProblemTold(Told):
    """A file among the skills that cannot be one."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "path": "skills/celsius.py",
                "digest": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
                "error": "celsius cannot be a skill:\n- line 1: the result has no type hint.",
                "seen_at": "2026-11-16T09:00:00Z",
            }
        }
    )

    path: str
    """As seen from the workspace."""
    digest: str
    error: str
    seen_at: datetime


class ProblemList(Told):
    """Files among the skills that cannot be skills, by path."""

    problems: list[ProblemTold]

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "ProblemList":
        """All of them, told."""
        told = [ProblemTold.model_validate(each, from_attributes=True) for each in problems]
        return cls(problems=told)
