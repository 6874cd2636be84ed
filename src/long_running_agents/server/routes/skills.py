"""Skills: see them, try them, make them, decide about them."""

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response

from long_running_agents.app import App
from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.skill import Skill
from long_running_agents.domain.token import Caller
from long_running_agents.errors import NotFound
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Approving, Reading
from long_running_agents.server.failures import ErrorBody
from long_running_agents.server.parameters import Limit, Number, Offset, Search
from long_running_agents.server.wire.skill_drafts import (
    Call,
    NewSkill,
    Rest,
    SkillDraft,
    SkillModule,
    VersionNumber,
    WhichVersion,
)
from long_running_agents.server.wire.skills import (
    AttemptTold,
    ProblemList,
    SkillList,
    SkillReviewed,
    SkillTold,
    State,
    VersionDiff,
    VersionList,
    VersionTold,
)
from long_running_agents.skills.library import Library

_PYTHON = "text/x-python"
_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_MOST_VERSIONS = 100

Name = Annotated[str, Path(pattern=_NAME, description="The skill.", examples=["celsius"])]
Names = Annotated[
    list[Annotated[str, Query(pattern=_NAME)]],
    Query(max_length=1000, description="Only these; all functions in use unless given."),
]
Meant = Annotated[WhichVersion | None, Body()]


class SkillRoutes:
    """What can be done with skills. Whatever runs or changes one takes the scope to approve."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/skills", tags=["skills"], route_class=JsonRoute)
        text = {"content": {_PYTHON: {"schema": {"type": "string"}}}}
        refused = {
            422: {"model": ErrorBody, "description": "Its review or its trial found fault with it."}
        }
        router.get("")(self.list_all)
        router.post("", status_code=201, responses={**refused})(self.create)
        # Fixed paths come before those with a name in them.
        router.get("/problems")(self.problems)
        router.post("/review")(self.review)
        router.get("/export", response_class=Response, responses={200: text})(self.export)
        router.post("/import", status_code=201, responses={**refused})(self.bring_in)
        router.get("/{name}")(self.get)
        router.delete("/{name}", status_code=204)(self.delete)
        router.get("/{name}/versions")(self.versions)
        router.get("/{name}/versions/{number}")(self.version)
        router.get("/{name}/diff")(self.diff)
        router.post("/{name}/approve")(self.approve)
        router.post("/{name}/reject")(self.reject)
        router.post("/{name}/rollback")(self.roll_back)
        router.post("/{name}/enable")(self.enable)
        router.post("/{name}/disable")(self.disable)
        router.post("/{name}/run")(self.run)
        return router

    async def list_all(
        self,
        caller: Reading,
        state: Annotated[State | None, Query(description="Only those in this state.")] = None,
        q: Search = "",
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> SkillList:
        """List skills by name, and say how many wait for an answer."""
        every = await self._of(caller).every()
        found = [each for each in every if state in (None, each.state) and _says(each, q)]
        end = offset + limit
        return SkillList(
            skills=[SkillTold.of(each) for each in found[offset:end]],
            total=len(found),
            waiting=sum(each.proposed is not None for each in every),
            next=end if end < len(found) else None,
        )

    async def problems(self, caller: Reading) -> ProblemList:
        """List files among the skills that cannot be skills, and why."""
        return ProblemList.of(await self._of(caller).problems())

    async def review(self, caller: Approving, draft: SkillDraft) -> SkillReviewed:
        """Review a draft and try it in a sandbox, and keep nothing."""
        return SkillReviewed.of(*await self._of(caller).examine(draft.draft(self._usual)))

    async def create(self, caller: Approving, new: NewSkill) -> VersionTold:
        """Review, try and keep a skill; the same again is the same version."""
        version = await self._of(caller).create(
            new.draft(self._usual), enable=new.enable, by=_actor(caller)
        )
        return VersionTold.of(version)

    async def export(self, caller: Reading, name: Names = []) -> Response:  # noqa: B006 - read only
        """Write skills out as one plain Python module."""
        text = await self._of(caller).export(name or None)
        headers = {
            "Content-Disposition": 'attachment; filename="skills.py"',
            "X-Content-Type-Options": "nosniff",
        }
        return Response(text.encode("utf-8", "replace"), 200, headers, f"{_PYTHON}; charset=utf-8")

    async def bring_in(self, caller: Approving, module: SkillModule) -> VersionList:
        """Propose all functions of a Python module."""
        return VersionList.of(await self._of(caller).bring_in(module.source))

    async def get(self, caller: Reading, name: Name) -> SkillTold:
        """Look at one skill."""
        return SkillTold.of(await self._of(caller).get(name))

    async def versions(
        self,
        caller: Reading,
        name: Name,
        limit: Annotated[int, Query(ge=1, le=_MOST_VERSIONS, description="How many at most.")] = 20,
        offset: Offset = 0,
    ) -> VersionList:
        """List the versions of a skill, the newest first."""
        found = await self._of(caller).versions(name)
        end = offset + limit
        return VersionList(
            versions=[VersionTold.of(each) for each in found[offset:end]],
            total=len(found),
            next=end if end < len(found) else None,
        )

    async def version(self, caller: Reading, name: Name, number: Number) -> VersionTold:
        """Look at one version: its source, its schemas, its trial and its warnings."""
        return VersionTold.of(await self._of(caller).version(name, number))

    async def diff(
        self,
        caller: Reading,
        name: Name,
        old: Annotated[VersionNumber, Query(description="The version to begin with.")],
        new: Annotated[VersionNumber, Query(description="The version to end with.")],
    ) -> VersionDiff:
        """Show how two versions differ."""
        return VersionDiff(diff=await self._of(caller).diff(name, old, new))

    async def approve(self, caller: Approving, name: Name, meant: Meant = None) -> SkillTold:
        """Let a version be used."""
        skill = await self._of(caller).approve(name, _number(meant), by=_actor(caller))
        return SkillTold.of(skill)

    async def reject(self, caller: Approving, name: Name, meant: Meant = None) -> SkillTold:
        """Say no to a version."""
        skill = await self._of(caller).reject(name, _number(meant), by=_actor(caller))
        return SkillTold.of(skill)

    async def roll_back(self, caller: Approving, name: Name, meant: Meant = None) -> SkillTold:
        """Use an approved version again."""
        skill = await self._of(caller).roll_back(name, _number(meant), by=_actor(caller))
        return SkillTold.of(skill)

    async def enable(self, caller: Approving, name: Name) -> SkillTold:
        """Use a skill again that was disabled."""
        return SkillTold.of(await self._of(caller).enable(name, by=_actor(caller)))

    async def disable(
        self, caller: Approving, name: Name, rest: Annotated[Rest | None, Body()] = None
    ) -> SkillTold:
        """Let a skill rest; nothing of it is lost."""
        note = "" if rest is None else rest.note
        return SkillTold.of(await self._of(caller).disable(name, note, by=_actor(caller)))

    async def run(self, caller: Approving, name: Name, call: Call) -> AttemptTold:
        """Try a version with some arguments, in a sandbox with an empty workspace."""
        return AttemptTold.of(await self._of(caller).run(name, call.args, call.version))

    async def delete(self, caller: Approving, name: Name) -> None:
        """Forget a skill with all its versions."""
        await self._of(caller).delete(name, by=_actor(caller))

    @property
    def _usual(self) -> SkillSettings:
        return self._app.settings.agent.skills

    def _of(self, caller: Caller) -> Library:
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
