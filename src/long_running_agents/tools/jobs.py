"""Jobs for the model: it lists them and proposes one; a person lets it fire."""

import re

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import Tool, ToolDefinition

from long_running_agents.domain.job import Job, JobId, JobState, slug
from long_running_agents.domain.schedule import parse_schedule
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.domain.turn import TurnOrigin
from long_running_agents.errors import UsageError
from long_running_agents.store import jobs
from long_running_agents.tools.deps import TurnDeps, effect

JOB_CUE = (
    r"\bjobs?\b|schedul|\bcron\b|\bevery (?:\w+ )?(?:minute|hour|day|morning|evening|night|week)"
    r"|\b(?:daily|hourly|weekly|monthly|nightly|regularly)\b|remind|list_jobs|propose_job"
)
"""What a text has that speaks of jobs."""


async def list_jobs(ctx: RunContext[TurnDeps]) -> str:
    """List the jobs: prompts that run on a schedule."""
    found = await ctx.deps.database.read(lambda tx: jobs.of_owner(tx, ctx.deps.owner))
    lines = [f"{job.id} ({job.state}): {job.schedule} {job.zone}: {job.prompt}" for job in found]
    return "\n".join(lines) or "There are no jobs."


async def propose_job(
    ctx: RunContext[TurnDeps], name: str, schedule: str, prompt: str, zone: str = "UTC"
) -> str:
    """Propose a prompt that runs on a schedule; it fires once a person has agreed.

    Args:
        name: What it is called.
        schedule: Such as "daily 09:00", "every 2h", "0 9 * * mon-fri" or "at 2027-01-31T18:00".
        prompt: What is to be done each time.
        zone: The time zone, such as Europe/Berlin.
    """
    deps, now = ctx.deps, ctx.deps.clock.now()
    try:
        parsed = parse_schedule(schedule, zone, now=now)
    except UsageError as error:
        raise ModelRetry(str(error)) from error
    job = Job(
        # The same call proposes it once, also after a death.
        id=JobId(f"{slug(name) or 'job'}-{deps.turn.number}"),
        name=name,
        schedule=parsed.text,
        zone=zone,
        prompt=prompt,
        state=JobState.PROPOSED,
        note=f"proposed in session {deps.turn.session_id}",
        created_by="agent",
        anchor=now,
        cursor=now,
        created_at=now,
        updated_at=now,
        owner=deps.owner,
    )
    known = await deps.database.read(lambda tx: jobs.find(tx, deps.owner, job.id))
    if known is None:
        await deps.database.write(lambda tx: jobs.save(tx, job))
    return (
        f"Proposed as {job.id}: {parsed.words()}. It fires once the user agrees:"
        f" 'lra jobs resume {job.id}'."
    )


async def _spoken_of(ctx: RunContext[TurnDeps], tool: ToolDefinition) -> ToolDefinition | None:
    """Offer it where somebody is there and speaks of it; a job never makes jobs."""
    turn = ctx.deps.turn
    mine = turn.attended and turn.origin is TurnOrigin.USER
    return tool if mine and re.search(JOB_CUE, turn.prompt, re.IGNORECASE) else None


def job_tools() -> FunctionToolset[TurnDeps]:
    """The tools about jobs."""
    extend = effect(Effect.IDEMPOTENT, powers=[Power.EXTEND])
    return FunctionToolset[TurnDeps](
        [
            Tool(list_jobs, metadata=effect(Effect.READ), prepare=_spoken_of),
            Tool(propose_job, metadata=extend, prepare=_spoken_of),
        ],
        id="jobs",
    )
