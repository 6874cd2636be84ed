"""Making skills: the model proposes a function, and after a yes it is a tool."""

import ast
import asyncio
import textwrap
from typing import Any, NotRequired

from pydantic_ai import FunctionToolset, RunContext
from typing_extensions import TypedDict

from long_running_agents.domain.skill import (
    Brought,
    Draft,
    Example,
    Origin,
    Skill,
    Standing,
    Version,
)
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import NotConfigured, NotPython, UsageError
from long_running_agents.skills.library import Library
from long_running_agents.skills.parsing import has_function, parsed
from long_running_agents.skills.transfer import importing
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect

_FRESH = frozenset({Power.EXTEND, Power.EXECUTE})
_NOTED = 300
"""Letters of the note why a skill is disabled; it may quote what its code said."""


class ExampleCall(TypedDict):
    """A call that shows what a function does."""

    args: dict[str, Any]
    result: NotRequired[Any]


def skill_making() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="skills")

    @tools.tool(metadata=effect(Effect.IDEMPOTENT, powers=_FRESH))
    async def generate_tool(
        ctx: RunContext[TurnDeps],
        name: str,
        code: str,
        doc: str = "",
        args: dict[str, str] | None = None,
        examples: list[ExampleCall] | None = None,
    ) -> str:
        """Make a new tool of a Python function, when no tool there is fits.

        It is reviewed and tried in a sandbox, and can be called once it is approved.

        Args:
            ctx: The turn that asks.
            name: What the tool is called, such as calculate_rsi.
            code: A function with type hints for all arguments and the result, and a docstring.
            doc: What it does, if the code has no docstring.
            args: Names and type hints of the arguments, if the code is only the body.
            examples: Calls that work, with their results if you know them.
        """
        source = _whole(name, code, doc, args or {})
        return await _propose(ctx, _draft(ctx, source, name, "", doc, examples))

    @tools.tool(metadata=effect(Effect.IDEMPOTENT, powers=_FRESH))
    async def promote_skill(
        ctx: RunContext[TurnDeps],
        file_path: str,
        function_name: str,
        tool_name: str = "",
        examples: list[ExampleCall] | None = None,
    ) -> str:
        """Make a new tool of a function in a Python file of the workspace.

        It is reviewed and tried in a sandbox, and can be called once it is approved.

        Args:
            ctx: The turn that asks.
            file_path: The file.
            function_name: The function in it, with type hints and a docstring.
            tool_name: What the tool is called; the function's name unless given.
            examples: Calls that work, with their results if you know them.
        """
        text = await _read(ctx.deps, file_path)
        source = await asyncio.to_thread(importing.extracted, text, function_name)
        draft = _draft(ctx, source, tool_name or function_name, function_name, "", examples)
        return await _propose(ctx, draft)

    return tools


async def _propose(ctx: RunContext[TurnDeps], draft: Draft) -> str:
    library = library_of(ctx.deps)
    version = await library.offer(draft)
    skill = await library.get(version.name)
    if not skill.uses(version.number):
        # Whoever put a version to rest had a reason, so that no policy takes it up again.
        if not await ctx.deps.consent(ctx.tool_call_id or "", _question(version, skill)):
            return _unanswered(version, skill)
        await library.approve(version.name, version.number, by="person", where=draft.brought)
    return _in_use(version, callable_now=library.allows(version.name))


def _in_use(version: Version, *, callable_now: bool) -> str:
    what = f"{version.name} version {version.number} is"
    if not callable_now:
        return (
            f"{what} approved, but it cannot be called: agent.tools.allow in the settings does"
            " not name it. Tell the user."
        )
    return f"{what} a tool from the next step on.{_tried(version)}"


def _question(version: Version, skill: Skill) -> str:
    warnings = " ".join(f"Mind: {finding.message}" for finding in version.warnings)
    what = f"May {version.name} (version {version.number}) be used as a tool from now on?"
    if version.standing is Standing.APPROVED:
        what = f"{what} It was approved before. {_instead(skill)}"
    return f"{what} Its review and its trial found no fault.{_tried(version)} {warnings}".rstrip()


def _unanswered(version: Version, skill: Skill) -> str:
    """What the model is told of a version that nobody was there to say yes to."""
    name, number = version.name, version.number
    if version.standing is Standing.APPROVED:
        stands, command = f"is not in use. {_instead(skill)}", f"{name} --version {number}"
    else:
        stands, command = "passed its review and trial and is proposed.", name
    return (
        f"{name} version {number} {stands} It cannot be called before a person approves it, and"
        f" nobody is there: tell the user about 'lra skills approve {command}'."
    )


def _instead(skill: Skill) -> str:
    """Why a version that was approved is not the one in use."""
    if skill.enabled:
        return f"Version {skill.version} is in use instead."
    return f"The skill is disabled: {skill.note[:_NOTED]}." if skill.note else "It is disabled."


def _tried(version: Version) -> str:
    for attempt in version.trial.attempts:
        if not attempt.error:
            given = ", ".join(f"{name}={value!r}" for name, value in attempt.args.items())
            return f" Tried: {version.name}({given}) gave {attempt.shown}."[:500]
    return ""


def _draft(
    ctx: RunContext[TurnDeps],
    source: str,
    name: str,
    function: str,
    doc: str,
    examples: list[ExampleCall] | None,
) -> Draft:
    turn = ctx.deps.turn
    return Draft(
        source=source,
        name=name,
        function=function,
        description=doc,
        examples=tuple(
            Example(args=each["args"], result=each.get("result"), checked="result" in each)
            for each in examples or ()
        ),
        brought=Brought(
            origin=Origin.MODEL,
            session_id=turn.session_id,
            turn_id=turn.id,
            call_id=ctx.tool_call_id or "",
        ),
    )


def _whole(name: str, code: str, doc: str, args: dict[str, str]) -> str:
    """The code, or a function around it when it is only the body of one."""
    code = textwrap.dedent(code)
    try:
        tree = parsed(code)
    except NotPython:
        # The review says what is wrong, and where.
        return code
    if has_function(tree) or not any(isinstance(node, ast.Return) for node in ast.walk(tree)):
        return code
    given = ", ".join(f"{argument}: {hint}" for argument, hint in args.items())
    told = f"    {doc!r}\n" if doc else ""
    return f"def {name}({given}) -> object:\n{told}{textwrap.indent(code, '    ')}\n"


async def _read(deps: TurnDeps, path: str) -> str:
    if deps.workspace is None:
        raise NotConfigured("There is no workspace to read from.")
    content = await asyncio.to_thread(deps.workspace.read, path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path!r} is not a text file.") from error


def library_of(deps: TurnDeps) -> Library:
    """The skills of whoever's turn it is.

    Raises:
        NotConfigured: There are none here.
    """
    if deps.skills is None:
        raise NotConfigured(
            "There are no skills here.", hint="Switch agent.tools.enable.skills on."
        )
    return deps.skills
