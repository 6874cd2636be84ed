"""A skill: a tool that was made, not shipped. It is reviewed, tried, approved, and versioned."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from long_running_agents.domain.ids import SessionId, TurnId

Json = dict[str, Any]

NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")
"""What a function may be called as a tool: every provider takes such a name."""
GUIDE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){0,63}")
"""What a guide may be called; it is the name of its folder, too."""


class SkillKind(StrEnum):
    """What a skill is made of."""

    FUNCTION = "function"
    """A typed Python function, used as a tool."""
    GUIDE = "guide"
    """A folder with instructions (SKILL.md), and scripts perhaps."""


class SkillCreator(StrEnum):
    """Who brought a version."""

    MODEL = "model"
    PERSON = "person"
    FILE = "file"
    """Somebody put it into the workspace."""
    LIBRARY = "library"
    """A program that uses this package."""
    IMPORT = "import"
    REFLECTION = "reflection"


class SkillApproval(StrEnum):
    """What a person, or the policy, has said about a version."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """It cannot be a skill like this."""
    WARNING = "warning"
    """Nobody but a person may let it pass."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a review has found."""

    message: str
    repair: str
    """What to do about it."""
    line: int = 0
    """The line of the source; 0 when it is about the whole."""
    severity: Severity = Severity.ERROR
    """An error keeps it from being a skill; a warning is let pass by a person alone."""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.message} {self.repair}".rstrip()


MOST_FINDINGS = 50


def at_most(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first findings, and how many more there are."""
    kept, rest = findings[:MOST_FINDINGS], findings[MOST_FINDINGS:]
    more = [
        Finding(f"There are {len(rest)} more findings.", "Mend these first.", 0, each.severity)
        for each in rest[:1]
    ]
    return (*kept, *more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillExample:
    """A call to try a function with."""

    args: Json
    result: Any = None
    """What it must return, if that is known."""
    checked: bool = False
    """Whether it is known."""
    derived: bool = False
    """Whether nobody gave it: it was made from the signature, and may make no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLimits:
    """What one call may use."""

    timeout: float = 30.0
    """Seconds."""
    memory: int = 512
    """Megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What a function tells of itself, read from its source."""

    function: str
    """The name in the source; empty for a guide."""
    description: str
    parameters: Json
    """The JSON Schema of its arguments."""
    returns: Json | None = None
    """The JSON Schema of its result; None when it can be anything."""
    is_async: bool = False
    context: str = ""
    """The parameter that takes the context of the call; empty when it takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call of a trial."""

    args: Json
    shown: str = ""
    """What came back, as JSON text, shortened."""
    error: str = ""
    """Why it failed; empty when it did not."""
    derived: bool = False
    duration_ms: float = 0.0
    memory: int = 0
    """Bytes it used at most; 0 when nobody could tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTrial:
    """How a version fared in the sandbox."""

    at: datetime
    passed: bool
    reason: str = ""
    """Why it did not pass."""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A file of a guide."""

    path: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillOrigin:
    """From where a version came."""

    origin: SkillCreator
    session_id: SessionId | None = None
    turn_id: TurnId | None = None
    call_id: str = ""
    """The tool call that proposed it; a no to that call is a no to the version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A skill as somebody wishes it; nothing of it has been looked at."""

    source: str
    """Python; of a guide, its SKILL.md."""
    brought: SkillOrigin
    kind: SkillKind = SkillKind.FUNCTION
    name: str = ""
    """What the tool is to be called; the function's own name unless given."""
    function: str = ""
    """Which function of the source; else the one called as the tool, or the last public one."""
    description: str = ""
    """Instead of the docstring."""
    examples: tuple[SkillExample, ...] = ()
    limits: SkillLimits | None = None
    """What a call may use; the usual unless given."""
    safe_mode: bool = True
    """Whether only allowed modules may be imported."""
    allowed_imports: tuple[str, ...] | None = None
    """Instead of the allowed modules of the settings."""
    input_schema: Json | None = None
    """What its arguments were declared to be, beside what the signature says."""
    output_schema: Json | None = None
    """What its result was declared to be."""
    is_async: bool | None = None
    requires_context: bool | None = None
    label: str = ""
    """What its maker calls this version, such as 1.0."""
    files: tuple[SkillFile, ...] = ()
    """The other files of a guide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReview:
    """What a review says of a draft."""

    name: str
    """What the skill is called; empty when not even that is known."""
    findings: tuple[Finding, ...]
    interface: Interface | None
    """None when it could not be read."""
    examples: tuple[SkillExample, ...] = ()
    """The draft's own, then those of the docstring, then derived ones."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Why it cannot be a skill."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What nobody but a person may let pass."""
        return tuple(each for each in self.findings if each.severity is Severity.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a skill. Nothing of it ever changes but its standing."""

    owner: str
    name: str
    number: int
    kind: SkillKind
    digest: str
    """The sha256 of what it is made of."""
    source: str
    """Python; of a guide, its SKILL.md."""
    interface: Interface
    limits: SkillLimits
    safe_mode: bool
    """Whether only allowed modules may be imported."""
    allowed_imports: tuple[str, ...]
    examples: tuple[SkillExample, ...]
    files: tuple[SkillFile, ...]
    """The other files of a guide."""
    label: str
    """What its maker calls this version."""
    brought: SkillOrigin
    created_at: datetime
    warnings: tuple[Finding, ...]
    trial: SkillTrial
    standing: SkillApproval
    decided_by: str = ""
    decided_at: datetime | None = None


MOST_RECENT = 20
"""How many of a skill's newest calls tell how often it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill with what has become of it."""

    owner: str
    name: str
    kind: SkillKind
    enabled: bool
    version: int | None
    """The version in use; None while none was approved."""
    newest: int
    proposed: int | None
    """The newest version that waits for an answer."""
    description: str
    created_at: datetime
    updated_at: datetime
    calls: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    recent: str = ""
    """The newest calls since it was enabled: an x for each that failed, a dot for each other."""
    used_at: datetime | None = None
    note: str = ""
    """Why it is disabled."""

    @property
    def state(self) -> str:
        """In a word: enabled, disabled or proposed."""
        if self.enabled:
            return "enabled"
        return "proposed" if self.version is None else "disabled"

    def uses(self, number: int) -> bool:
        """Whether a version is the one in use."""
        return self.enabled and self.version == number


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A file among the skills that cannot be one."""

    owner: str
    path: str
    """Relative to the workspace."""
    digest: str
    error: str
    seen_at: datetime


def digest_of(source: str, files: Sequence[SkillFile] = ()) -> str:
    """The sha256 of what a skill is made of."""
    if not files:
        return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    parts = [["SKILL.md", source], *([file.path, file.content] for file in files)]
    return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()


def same(
    version: Version, draft: SkillDraft, limits: SkillLimits, allowed_imports: Sequence[str]
) -> bool:
    """Whether a draft is a version that there is already."""
    return (
        version.digest == digest_of(draft.source, draft.files)
        and version.limits == limits
        and version.safe_mode == draft.safe_mode
        and (not draft.safe_mode or set(version.allowed_imports) == set(allowed_imports))
        and draft.function in ("", version.interface.function)
        and draft.description in ("", version.interface.description)
    )
