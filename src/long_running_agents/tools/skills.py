"""Skills as tools: those in use are offered or found, and the model can propose new ones."""

import ast
import asyncio
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NotRequired

from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets.abstract import ToolsetTool
from typing_extensions import TypedDict, override

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.context_window import first_sentence
from long_running_agents.domain.ids import shown
from long_running_agents.domain.skill import (
    Skill,
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillKind,
    SkillOrigin,
    Version,
)
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import Denied, NotConfigured, NotFound, NotPython, UsageError
from long_running_agents.skills.context import SkillIndex, new_here, offered
from long_running_agents.skills.library import SkillFileSync, SkillLibrary
from long_running_agents.skills.python_ast import has_function, parsed
from long_running_agents.tools import selection
from long_running_agents.tools.deps import DefinedToolset, TurnDeps, code_powers, effect
from long_running_agents.tools.selection import ToolFound

FIND, READ = "find_skills", "read_skill"

_HITS = 8
_GUIDES = 12
"""Guides that are named without being searched for."""
_KEPT = 64
"""Turns whose choice is remembered."""


@cache
def finding() -> FunctionToolset[TurnDeps]:
    """The tools that find skills and read guides; offered where there is something to find."""
    reading = effect(Effect.READ)
    return FunctionToolset(
        [Tool(find_skills, metadata=reading), Tool(read_skill, metadata=reading)],
        id="skill_finding",
    )


async def find_skills(ctx: RunContext[TurnDeps], query: str) -> list[ToolFound]:
    """Find more skills by what they do; functions found can be called from the next step on.

    Args:
        query: A few words, such as 'convert temperatures'.
    """
    index = await library_of(ctx.deps).index()
    found = index.search(query, _HITS)
    return [ToolFound(name=each.name, description=_told(each)) for each in found]


async def read_skill(ctx: RunContext[TurnDeps], name: str, file: str = "") -> str:
    """Read a guide: instructions for a kind of work, approved by the user.

    Args:
        name: The guide.
        file: One of its files; its instructions unless given.
    """
    library = library_of(ctx.deps)
    version = (await library.index()).get(name)
    if version is None or version.kind is not SkillKind.GUIDE:
        raise NotFound(f"No guide {name!r} is in use.", hint=f"{FIND} finds skills.")
    if not await library.unchanged(version):
        raise Denied(
            f"The folder of {name!r} has changed since it was approved.",
            hint=f"A person has to approve it again: 'lra skills approve {name}'.",
        )
    if not file:
        listed = "".join(f"\n- {each.path}" for each in version.files)
        where = f"\n\nIts files, in skills/{name}/:{listed}" if listed else ""
        return f"{version.source}{where}"
    for each in version.files:
        if each.path == file:
            return each.content
    raise NotFound(f"{name!r} has no file {file!r}.")


class SkillTools(DefinedToolset):
    """The skills of whoever's turn it is."""

    name = "skill_tools"

    def __init__(
        self,
        settings: SkillSettings,
        filing: SkillFileSync,
        *,
        network: bool = False,
        allows: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._filing = filing
        self._allows = allows
        self._finding = finding()
        self._metadata = effect(Effect.ONCE, powers=code_powers(network=network), foreign=network)
        self._definitions: dict[tuple[str, str, int], ToolDefinition] = {}
        self._chosen: dict[str, tuple[SkillIndex, tuple[str, ...], list[Version]]] = {}

    @override
    async def get_tools(self, ctx: RunContext[TurnDeps]) -> dict[str, ToolsetTool[TurnDeps]]:
        if ctx.deps.skills is None:
            return {}
        if not ctx.deps.looking:
            self._filing.nudge(ctx.deps.owner)
        index = await ctx.deps.skills.index()
        if not index.versions:
            return {}
        chosen = self._choose(index, ctx)
        allowed = [self.definition(each) for each in chosen if self._allows(each.name)]
        helpers = await self._helpers(index, len(chosen), ctx)
        return {**self.offered(allowed, ctx.max_retries), **helpers}

    @override
    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[TurnDeps],
        tool: ToolsetTool[TurnDeps],
    ) -> Any:
        if name in (FIND, READ):
            return await self._finding.call_tool(name, tool_args, ctx, tool)
        deps, turn = ctx.deps, ctx.deps.turn
        who = {"owner": deps.owner, "agent": deps.agent}
        context = {"session_id": shown(turn.session_id), "turn_id": turn.id, **who}
        returned = await library_of(deps).call(
            name, tool_args, where=_origin(ctx), context=context, attended=turn.attended
        )
        return str(returned)

    def _choose(self, index: SkillIndex, ctx: RunContext[TurnDeps]) -> list[Version]:
        """The same ones as at the step before, unless something was made or found meanwhile."""
        turn = ctx.deps.turn
        first = tuple(dict.fromkeys(_wanted(ctx.messages)))
        kept = self._chosen.get(turn.id)
        if kept is not None and kept[0] is index and kept[1] == first:
            return kept[2]
        made = new_here(index.of(SkillKind.FUNCTION), turn.session_id)
        before = [] if kept is None else [each.name for each in kept[2]]
        names = [*first, *made[: self._settings.offered], *before]
        fitting = offered(index, turn.prompt, most=self._settings.offered, first=names)
        chosen = self._within(fitting, first)
        if ctx.deps.looking:
            return chosen
        if len(self._chosen) >= _KEPT:
            self._chosen.pop(next(iter(self._chosen)))
        self._chosen[turn.id] = index, first, chosen
        return chosen

    def _within(self, versions: Sequence[Version], needed: Collection[str]) -> list[Version]:
        """As many as the tokens for them allow; those that were asked for by name always."""
        left = self._settings.offered_tokens
        kept: list[Version] = []
        for version in versions:
            size = selection.takes([self.definition(version)])
            if size <= left or version.name in needed:
                kept.append(version)
                left -= size
        return kept

    async def _helpers(
        self, index: SkillIndex, offered: int, ctx: RunContext[TurnDeps]
    ) -> dict[str, ToolsetTool[TurnDeps]]:
        guides = index.of(SkillKind.GUIDE)
        known = await self._finding.get_tools(ctx)
        helpers: dict[str, ToolsetTool[TurnDeps]] = {}
        if guides and self._allows(READ):
            reading = known[READ]
            named = "; ".join(f"{each.name}: {_told(each)}" for each in guides[:_GUIDES])
            told = f"{reading.tool_def.description}\n\nThere are: {named}"
            helpers[READ] = replace(reading, tool_def=replace(reading.tool_def, description=told))
        hidden = len(index.of(SkillKind.FUNCTION)) > offered or len(guides) > _GUIDES
        if hidden and self._allows(FIND):
            helpers[FIND] = known[FIND]
        return helpers

    def definition(self, version: Version) -> ToolDefinition:
        """What the model is told of a function."""
        key = version.owner, version.name, version.number
        if key not in self._definitions:
            self._definitions[key] = ToolDefinition(
                name=version.name,
                description=version.interface.description,
                parameters_json_schema=version.interface.parameters,
                metadata=self._metadata,
            )
        return self._definitions[key]


def _told(version: Version) -> str:
    return first_sentence(version.interface.description)


def _wanted(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """The skills that this conversation has found or called."""
    for message in messages:
        if isinstance(message, ModelResponse):
            yield from (part.tool_name for part in message.tool_calls)
        else:
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and part.tool_name == FIND:
                    yield from selection.found_in(part.content)


_NOTED = 300
"""Letters of the note why a skill is disabled; it may quote what its code said."""


class ExampleArgument(TypedDict):
    """A call that works."""

    args: dict[str, Any]
    result: NotRequired[Any]


def skill_making() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    making = effect(Effect.IDEMPOTENT, powers=[Power.EXTEND, Power.EXECUTE])
    return FunctionToolset(
        [Tool(generate_tool, metadata=making), Tool(promote_skill, metadata=making)], id="skills"
    )


async def generate_tool(
    ctx: RunContext[TurnDeps],
    name: str,
    code: str,
    doc: str = "",
    args: dict[str, str] | None = None,
    examples: list[ExampleArgument] | None = None,
) -> str:
    """Make a new tool of a Python function, if none fits.

    It can be called once it is approved.

    Args:
        name: Such as calculate_rsi.
        code: A function with type hints and a docstring.
        doc: Instead of a docstring.
        args: Names and types.
        examples: Calls, with known results.
    """
    source = _whole(name, code, doc, args or {})
    draft = SkillDraft(source=source, name=name, description=doc, brought=_origin(ctx))
    return await _propose(ctx, draft, examples)


async def promote_skill(
    ctx: RunContext[TurnDeps],
    file_path: str,
    function_name: str,
    tool_name: str = "",
    examples: list[ExampleArgument] | None = None,
) -> str:
    """Make a new tool of a function in a Python file, as generate_tool does.

    Args:
        file_path: The file.
        function_name: As in the file.
        tool_name: Another name for it.
        examples: Calls, with known results.
    """
    text = await _read(ctx.deps, file_path)
    from long_running_agents.skills.export import extracted  # noqa: PLC0415 - for who makes one

    source = await asyncio.to_thread(extracted, text, function_name)
    name = tool_name or function_name
    draft = SkillDraft(source=source, name=name, function=function_name, brought=_origin(ctx))
    return await _propose(ctx, draft, examples)


async def _propose(
    ctx: RunContext[TurnDeps], draft: SkillDraft, examples: list[ExampleArgument] | None
) -> str:
    library = library_of(ctx.deps)
    calls = (
        SkillExample(args=each["args"], result=each.get("result"), checked="result" in each)
        for each in examples or ()
    )
    version = await library.offer(replace(draft, examples=tuple(calls)))
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
    if version.standing is SkillApproval.APPROVED:
        what = f"{what} It was approved before. {_instead(skill)}"
    return f"{what} Its review and its trial found no fault.{_tried(version)} {warnings}".rstrip()


def _unanswered(version: Version, skill: Skill) -> str:
    """What the model is told of a version that nobody was there to say yes to."""
    name, number = version.name, version.number
    if version.standing is SkillApproval.APPROVED:
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


def _origin(ctx: RunContext[TurnDeps]) -> SkillOrigin:
    turn, call_id = ctx.deps.turn, ctx.tool_call_id or ""
    return SkillOrigin(
        origin=SkillCreator.MODEL, session_id=turn.session_id, turn_id=turn.id, call_id=call_id
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


def library_of(deps: TurnDeps) -> SkillLibrary:
    """The skills of whoever's turn it is.

    Raises:
        NotConfigured: There are none here.
    """
    if deps.skills is None:
        raise NotConfigured(
            "There are no skills here.", hint="Switch agent.tools.enable.skills on."
        )
    return deps.skills
