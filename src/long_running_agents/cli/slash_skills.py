"""The command inside a conversation that is about skills."""

from typing import TYPE_CHECKING

from long_running_agents.cli.code import block, visible
from long_running_agents.cli.render import one_line
from long_running_agents.cli.skill_deciding import BY
from long_running_agents.cli.skill_names import checked
from long_running_agents.cli.skill_showing import about, problems_line, waiting_line
from long_running_agents.errors import Busy, UsageError

if TYPE_CHECKING:
    from long_running_agents.cli.conversation import Conversation
    from long_running_agents.cli.skill_desk import SkillDesk
    from long_running_agents.domain.skill import Skill, Version

_COMMAND = "/skills"
_WAYS = "write '/skills', or '/skills' with show, approve or disable and a NAME."


async def skills(talk: "Conversation", rest: str) -> None:
    """List skills, or show, approve or disable one."""
    desk = talk.desk.skills
    if desk is None:
        raise UsageError("Skills are switched off:", hint="set agent.tools.enable.skills.")
    match rest.split():
        case []:
            await talk.screen.note(await _listed(desk))
        case ["show", name]:
            await talk.screen.note(_shown(await desk.version(checked(name))))
        case ["approve", name]:
            await _approve(talk, desk, checked(name))
        case ["disable", name]:
            await talk.screen.note(_told(await desk.disable(checked(name), by=BY)))
        case _:
            raise UsageError(f"'/skills {one_line(rest)}' is not understood:", hint=_WAYS)


async def _listed(desk: "SkillDesk") -> str:
    found = await desk.every()
    lines = [
        f"  {each.name}  {each.state}, version {each.version or each.newest}, {each.calls} calls"
        f"  {one_line(each.description, 60)}"
        for each in found
    ]
    further = (waiting_line(found, _COMMAND), problems_line(len(await desk.problems())))
    return "\n".join([*lines, *(line for line in further if line)]) or "no skills yet"


async def _approve(talk: "Conversation", desk: "SkillDesk", name: str) -> None:
    """Show what waits, and let it be used: whoever types this means the newest that waits."""
    waits = (await desk.get(name)).proposed
    if waits is None:
        raise Busy(f"No version of {name!r} waits for an answer.", hint="'/skills' shows them.")
    version = await desk.version(name, waits)
    await talk.screen.note(_shown(version))
    await talk.screen.note(_told(await desk.approve(name, waits, by=BY)))


def _shown(version: "Version") -> str:
    lines = [visible(line) for line in about(version)]
    return "\n".join([f"{version.name}, version {version.number}", *lines, block(version.source)])


def _told(skill: "Skill") -> str:
    number = "" if skill.version is None else f", version {skill.version}"
    return f"skill {skill.name} is {skill.state}{number}"
