"""Skills over HTTP: what is sent and answered, and the routes to see, try, make and decide."""

from typing import Annotated, Literal

from fastapi import Body, Path, Query, Response
from pydantic import AfterValidator, Field, JsonValue

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.skill import (
    Attempt,
    Problem,
    Skill,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillFile,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillReview,
    SkillTrial,
    Version,
)
from long_running_agents.errors import NotFound
from long_running_agents.server import http
from long_running_agents.server.auth import Approving, Reading
from long_running_agents.server.errors import ErrorBody
from long_running_agents.server.http import Routes, attachment, route
from long_running_agents.server.wire import WireRequest, WireResponse, built, derived, example
from long_running_agents.skills.library import SkillLibrary

_DEEPEST = 50
_LONGEST = 200_000
_LONGEST_FILE = 1 << 20
_LONGEST_MODULE = 4 << 20
_MOST_FILES = 100
_MOST_EXAMPLES = 50
_MOST_MODULES = 200
_LAST = 2**53 - 1

_CELSIUS = (
    "def celsius(fahrenheit: float) -> float:\n"
    '    """Turn degrees of Fahrenheit into degrees of Celsius."""\n'
    "    return (fahrenheit - 32) * 5 / 9\n"
)


def _shallow(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    # What is nested deeper can be read, and then not be written any more.
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST):
        inner = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [part for each in inner if isinstance(each, list) for part in each]
        if not level:
            return value
    raise ValueError(f"it is nested deeper than {_DEEPEST} levels")


Values = Annotated[dict[str, JsonValue], AfterValidator(_shallow)]
"""A JSON object that is not nested too deeply."""
VersionNumber = Annotated[int, Field(ge=1, le=_LAST)]


class ExampleCall(WireRequest):
    """A call to try a function with."""

    model_config = example('{"args": {"fahrenheit": 212}, "result": 100}')

    args: Values
    result: JsonValue = None
    """What it must return; leave it out when any result will do."""

    def example(self) -> SkillExample:
        """The example that is meant."""
        checked = "result" in self.model_fields_set
        return SkillExample(args=self.args, result=self.result, checked=checked)


class GuideFile(WireRequest):
    """A file of a guide."""

    path: str = Field(min_length=1, max_length=300, pattern=http.PLAIN)
    content: str = Field(max_length=_LONGEST_FILE)


class SkillDraftRequest(WireRequest):
    """A skill as somebody wishes it."""

    model_config = example(
        {"source": _CELSIUS, "examples": [{"args": {"fahrenheit": 212}, "result": 100}]}
    )

    source: str = Field(min_length=1, max_length=_LONGEST)
    """Python; of a guide, its SKILL.md."""
    kind: SkillKind = SkillKind.FUNCTION
    name: str = Field(default="", max_length=200, pattern=http.PLAIN)
    """What the tool is to be called; the function's own name unless given."""
    function: str = Field(default="", max_length=200, pattern=http.PLAIN)
    """Which function of the source; else the one called as the tool, or the last public one."""
    description: str = Field(default="", max_length=5000)
    """Instead of the docstring."""
    examples: list[ExampleCall] = Field(default=[], max_length=_MOST_EXAMPLES)
    timeout: float | None = Field(default=None, gt=0, le=600)
    """Seconds that a call may take; the usual unless given."""
    memory: int | None = Field(default=None, ge=32, le=65_536)
    """Megabytes that a call may use; the usual unless given."""
    safe_mode: bool = True
    """Whether only allowed modules may be imported."""
    allowed_imports: (
        list[Annotated[str, Field(min_length=1, max_length=200, pattern=http.PLAIN)]] | None
    ) = Field(default=None, max_length=_MOST_MODULES)
    """Instead of the allowed modules of the settings."""
    input_schema: Values | None = None
    """What its arguments are declared to be, beside what the signature says."""
    output_schema: Values | None = None
    """What its result is declared to be."""
    is_async: bool | None = None
    """Whether it is declared to be asynchronous."""
    requires_context: bool | None = None
    """Whether it is declared to take the context of the call."""
    label: str = Field(default="", max_length=100, pattern=http.PLAIN)
    """What you call this version, such as 1.0."""
    files: list[GuideFile] = Field(default=[], max_length=_MOST_FILES)
    """The other files of a guide."""

    def draft(self, usual: SkillSettings) -> SkillDraft:
        """The draft that is meant, with what a call may use where nothing is said."""
        timeout, memory = self.timeout or usual.timeout, self.memory or usual.memory
        limits = SkillLimits(timeout=timeout, memory=memory)
        return built(
            SkillDraft,
            self,
            brought=SkillOrigin(origin=SkillCreator.PERSON),
            examples=tuple(each.example() for each in self.examples),
            limits=limits if self.timeout or self.memory else None,
            allowed_imports=None if self.allowed_imports is None else tuple(self.allowed_imports),
            files=tuple(built(SkillFile, each) for each in self.files),
        )


class NewSkill(SkillDraftRequest):
    """A skill to be kept."""

    enable: bool = False
    """Whether it is approved and used at once."""


class SkillModule(WireRequest):
    """A Python module, all public functions of which are to be skills."""

    model_config = example({"source": _CELSIUS})

    source: str = Field(min_length=1, max_length=_LONGEST_MODULE)


class WhichVersion(WireRequest):
    """The version that is meant."""

    model_config = example('{"version": 2}')

    version: VersionNumber | None = None
    """Unless given: the newest that waits, or when rolling back the one that was used before."""


class SeenVersion(WireRequest):
    """The version that somebody has looked at, whatever was proposed meanwhile."""

    version: VersionNumber


class SkillDisable(WireRequest):
    """Why a skill is to rest."""

    model_config = example('{"note": "its results are stale"}')

    note: str = Field(default="", max_length=1000)


class SkillCall(WireRequest):
    """A call to try."""

    model_config = example('{"args": {"fahrenheit": 212}}')

    args: Values
    version: VersionNumber | None = None
    """The one in use unless given, or the newest."""


State = Literal["enabled", "disabled", "proposed"]


class SkillResponse(derived(Skill)):
    """A skill with what has become of it."""

    model_config = example("""{"name": "celsius", "kind": "function", "state": "enabled",
      "enabled": true, "version": 2, "newest": 3, "proposed": 3,
      "description": "Turn degrees of Fahrenheit into degrees of Celsius.",
      "created_at": "2026-11-16T09:00:00Z", "updated_at": "2026-11-16T09:30:00Z", "calls": 12,
      "failures": 1, "failures_in_a_row": 0, "used_at": "2026-11-16T10:00:00Z", "note": ""}""")

    state: State


class SkillList(WireResponse):
    """Skills, by name."""

    skills: list[SkillResponse]
    total: int
    """How many there are like this."""
    waiting: int
    """How many of all skills have a version that waits for an answer."""
    next: int | None = None
    """The offset of the next page; null on the last one."""


class AttemptResponse(derived(Attempt)):
    """One call that was tried."""

    model_config = example("""{"args": {"fahrenheit": 212}, "shown": "100.0", "error": "",
      "derived": false, "duration_ms": 3.2, "memory": 9437184}""")


class TrialResponse(derived(SkillTrial)):
    """How it fared in the sandbox."""


class SkillReviewed(derived(SkillReview)):
    """What a review and a trial say; nothing of it was kept."""

    ok: bool
    """Whether it could be a skill as it is."""
    trial: TrialResponse | None
    """Null when the review found so much that nothing was tried."""

    @classmethod
    def both(cls, review: SkillReview, trial: SkillTrial | None) -> "SkillReviewed":
        """What a review says, and how the trial went if there was a reason for one."""
        ok = not review.errors and trial is not None and trial.passed
        return cls.of(review, ok=ok, trial=trial)


class VersionResponse(derived(Version)):
    """One version of a skill. Nothing of it ever changes but its standing."""


class VersionList(WireResponse):
    """Versions, whole."""

    versions: list[VersionResponse]
    total: int
    next: int | None = None
    """The offset of the next page; null on the last one."""


class VersionDiff(WireResponse):
    """How two versions differ."""

    diff: str
    """As ``diff -u`` shows it."""


class ProblemResponse(derived(Problem)):
    """A file among the skills that cannot be one."""

    model_config = example(r"""{"path": "skills/celsius.py",
      "digest": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
      "error": "celsius cannot be a skill:\n- line 1: the result has no type hint.",
      "seen_at": "2026-11-16T09:00:00Z"}""")


class ProblemList(WireResponse):
    """Files among the skills that cannot be skills, by path."""

    problems: list[ProblemResponse]


_PYTHON = "text/x-python"
_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_MOST_VERSIONS = 100

Name = Annotated[str, Path(pattern=_NAME, description="The skill.", examples=["celsius"])]
Names = Annotated[
    list[Annotated[str, Query(pattern=_NAME)]],
    Query(max_length=1000, description="Only these; all functions in use unless given."),
]
Meant = Annotated[WhichVersion | None, Body()]
_TEXT: http.Documented = {200: {"content": {_PYTHON: {"schema": {"type": "string"}}}}}
_REFUSED: http.Documented = {
    422: {"model": ErrorBody, "description": "Its review or its trial found fault with it."}
}


class SkillRoutes(Routes, tag="skills"):
    """What can be done with skills. Whatever runs or changes one takes the scope to approve."""

    @route("GET /api/skills")
    async def list_all(
        self,
        caller: Reading,
        state: Annotated[State | None, Query(description="Only those in this state.")] = None,
        q: http.Search = "",
        limit: http.Limit = 50,
        offset: http.Offset = 0,
    ) -> SkillList:
        """List skills by name, and say how many wait for an answer."""
        every = await self._of(caller).every()
        found = [each for each in every if state in (None, each.state) and _says(each, q)]
        end = offset + limit
        return SkillList(
            skills=[SkillResponse.of(each) for each in found[offset:end]],
            total=len(found),
            waiting=sum(each.proposed is not None for each in every),
            next=end if end < len(found) else None,
        )

    @route("POST /api/skills", status_code=201, responses=_REFUSED)
    async def create(self, caller: Approving, new: NewSkill) -> VersionResponse:
        """Review, try and keep a skill; the same again is the same version."""
        library, draft = self._of(caller), self._draft(new)
        made = await library.create(draft, enable=new.enable, by=_actor(caller))
        return VersionResponse.of(made)

    @route("GET /api/skills/problems")
    async def problems(self, caller: Reading) -> ProblemList:
        """List files among the skills that cannot be skills, and why."""
        return ProblemList.of({"problems": await self._of(caller).problems()})

    @route("POST /api/skills/review")
    async def review(self, caller: Approving, draft: SkillDraftRequest) -> SkillReviewed:
        """Review a draft and try it in a sandbox, and keep nothing."""
        return SkillReviewed.both(*await self._of(caller).examine(self._draft(draft)))

    @route("GET /api/skills/export", response_class=Response, responses=_TEXT)
    async def export(self, caller: Reading, name: Names = []) -> Response:  # noqa: B006 - read only
        """Write skills out as one plain Python module."""
        text = await self._of(caller).export(name or None)
        return attachment(text, "skills.py", _PYTHON)

    @route("POST /api/skills/import", status_code=201, responses=_REFUSED)
    async def bring_in(self, caller: Approving, module: SkillModule) -> VersionList:
        """Propose all functions of a Python module."""
        found = await self._of(caller).bring_in(module.source)
        return VersionList.of({"versions": found, "total": len(found)})

    @route("GET /api/skills/{name}")
    async def get(self, caller: Reading, name: Name) -> SkillResponse:
        """Look at one skill."""
        return SkillResponse.of(await self._of(caller).get(name))

    @route("DELETE /api/skills/{name}", status_code=204)
    async def delete(self, caller: Approving, name: Name) -> None:
        """Forget a skill with all its versions."""
        await self._of(caller).delete(name, by=_actor(caller))

    @route("GET /api/skills/{name}/versions")
    async def versions(
        self,
        caller: Reading,
        name: Name,
        limit: Annotated[int, Query(ge=1, le=_MOST_VERSIONS, description="How many at most.")] = 20,
        offset: http.Offset = 0,
    ) -> VersionList:
        """List the versions of a skill, the newest first."""
        found = await self._of(caller).versions(name)
        end = offset + limit
        return VersionList(
            versions=[VersionResponse.of(each) for each in found[offset:end]],
            total=len(found),
            next=end if end < len(found) else None,
        )

    @route("GET /api/skills/{name}/versions/{number}")
    async def version(self, caller: Reading, name: Name, number: http.Number) -> VersionResponse:
        """Look at one version: its source, its schemas, its trial and its warnings."""
        return VersionResponse.of(await self._of(caller).version(name, number))

    @route("GET /api/skills/{name}/diff")
    async def diff(
        self,
        caller: Reading,
        name: Name,
        old: Annotated[VersionNumber, Query(description="The version to begin with.")],
        new: Annotated[VersionNumber, Query(description="The version to end with.")],
    ) -> VersionDiff:
        """Show how two versions differ."""
        return VersionDiff(diff=await self._of(caller).diff(name, old, new))

    @route("POST /api/skills/{name}/approve")
    async def approve(self, caller: Approving, name: Name, seen: SeenVersion) -> SkillResponse:
        """Let a version be used."""
        skill = await self._of(caller).approve(name, seen.version, by=_actor(caller))
        return SkillResponse.of(skill)

    @route("POST /api/skills/{name}/reject")
    async def reject(self, caller: Approving, name: Name, meant: Meant = None) -> SkillResponse:
        """Say no to a version."""
        skill = await self._of(caller).reject(name, _number(meant), by=_actor(caller))
        return SkillResponse.of(skill)

    @route("POST /api/skills/{name}/rollback")
    async def roll_back(self, caller: Approving, name: Name, meant: Meant = None) -> SkillResponse:
        """Use an approved version again."""
        skill = await self._of(caller).roll_back(name, _number(meant), by=_actor(caller))
        return SkillResponse.of(skill)

    @route("POST /api/skills/{name}/enable")
    async def enable(self, caller: Approving, name: Name) -> SkillResponse:
        """Use a skill again that was disabled."""
        return SkillResponse.of(await self._of(caller).enable(name, by=_actor(caller)))

    @route("POST /api/skills/{name}/disable")
    async def disable(
        self, caller: Approving, name: Name, rest: Annotated[SkillDisable | None, Body()] = None
    ) -> SkillResponse:
        """Let a skill rest; nothing of it is lost."""
        note = "" if rest is None else rest.note
        return SkillResponse.of(await self._of(caller).disable(name, note, by=_actor(caller)))

    @route("POST /api/skills/{name}/run")
    async def run(self, caller: Approving, name: Name, call: SkillCall) -> AttemptResponse:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        return AttemptResponse.of(await self._of(caller).run(name, call.args, call.version))

    def _draft(self, asked: SkillDraftRequest) -> SkillDraft:
        return asked.draft(self._app.settings.agent.skills)

    def _of(self, caller: Caller) -> SkillLibrary:
        if self._app.workshop is None:
            raise NotFound("There are no skills here.", hint="Set agent.tools.enable.skills.")
        return self._app.workshop.library.of(caller.owner)


def _says(skill: Skill, words: str) -> bool:
    return words.casefold() in f"{skill.name}\n{skill.description}".casefold()


def _number(meant: WhichVersion | None) -> int | None:
    return None if meant is None else meant.version


def _actor(caller: Caller) -> str:
    """Who is written down for it: a token, or whoever sits at this machine."""
    return caller.token_id or "person"
