"""The skills themselves as tools: the relevant ones are offered, the others found."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import FunctionToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema
from typing_extensions import override

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.fitting import first_sentence
from long_running_agents.domain.skill import Brought, Kind, Origin, Version
from long_running_agents.domain.tool import Effect
from long_running_agents.errors import Denied, NotFound
from long_running_agents.skills import offering
from long_running_agents.skills.filing import Filing
from long_running_agents.skills.offering import Shelf
from long_running_agents.tools import selection
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import code_powers, effect
from long_running_agents.tools.selection import ToolFound
from long_running_agents.tools.skill_making import library_of

FIND, READ = "find_skills", "read_skill"

_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_HITS = 8
_GUIDES = 12
"""Guides that are named without being searched for."""
_KEPT = 64
"""Turns whose choice is remembered."""


def finding() -> FunctionToolset[TurnDeps]:
    """The tools that find skills and read guides; offered where there is something to find."""
    tools = FunctionToolset[TurnDeps](id="skill_finding")

    @tools.tool(metadata=effect(Effect.READ))
    async def find_skills(ctx: RunContext[TurnDeps], query: str) -> list[ToolFound]:
        """Find more skills by what they do; functions found can be called from the next step on.

        Args:
            ctx: The turn that asks.
            query: A few words, such as 'convert temperatures'.
        """
        shelf = await library_of(ctx.deps).shelf()
        return [
            ToolFound(name=each.name, description=_told(each))
            for each in shelf.search(query, _HITS)
        ]

    @tools.tool(metadata=effect(Effect.READ))
    async def read_skill(ctx: RunContext[TurnDeps], name: str, file: str = "") -> str:
        """Read a guide: instructions for a kind of work, approved by the user.

        Args:
            ctx: The turn that asks.
            name: The guide.
            file: One of its files; its instructions unless given.
        """
        return await _guide(ctx.deps, name, file)

    return tools


class SkillTools(AbstractToolset[TurnDeps]):
    """The skills of whoever's turn it is."""

    def __init__(
        self,
        settings: SkillSettings,
        filing: Filing,
        *,
        network: bool = False,
        allows: Callable[[str], bool],
    ) -> None:
        """Offer skills.

        Args:
            settings: How many.
            filing: Looks for new files among them.
            network: Whether code in a sandbox can reach anybody.
            allows: Whether the settings let a skill of some name be called.
        """
        self._settings = settings
        self._filing = filing
        self._allows = allows
        self._finding = finding()
        self._metadata = effect(Effect.ONCE, powers=code_powers(network=network), foreign=network)
        self._definitions: dict[tuple[str, str, int], ToolDefinition] = {}
        self._chosen: dict[str, tuple[Shelf, tuple[str, ...], list[Version]]] = {}

    @property
    @override
    def id(self) -> str:
        return "skill_tools"

    @override
    async def get_tools(self, ctx: RunContext[TurnDeps]) -> dict[str, ToolsetTool[TurnDeps]]:
        if ctx.deps.skills is None:
            return {}
        if not ctx.deps.looking:
            self._filing.nudge(ctx.deps.owner)
        shelf = await ctx.deps.skills.shelf()
        if not shelf.versions:
            return {}
        chosen = self._choose(shelf, ctx)
        tools = {each.name: self._tool(each, ctx) for each in chosen if self._allows(each.name)}
        return {**tools, **await self._helpers(shelf, len(chosen), ctx)}

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
        deps = ctx.deps
        where = Brought(
            origin=Origin.MODEL,
            session_id=deps.turn.session_id,
            turn_id=deps.turn.id,
            call_id=ctx.tool_call_id or "",
        )
        context = {
            "session_id": deps.turn.session_id,
            "turn_id": deps.turn.id,
            "owner": deps.owner,
            "agent": deps.agent,
        }
        returned = await library_of(deps).call(
            name, tool_args, where=where, context=context, attended=deps.turn.attended
        )
        return str(returned)

    def _choose(self, shelf: Shelf, ctx: RunContext[TurnDeps]) -> list[Version]:
        """The same ones as at the step before, unless something was made or found meanwhile."""
        turn = ctx.deps.turn
        first = tuple(dict.fromkeys(_wanted(ctx.messages)))
        kept = self._chosen.get(turn.id)
        if kept is not None and kept[0] is shelf and kept[1] == first:
            return kept[2]
        made = offering.new_here(shelf.of(Kind.FUNCTION), turn.session_id)
        before = [] if kept is None else [each.name for each in kept[2]]
        names = [*first, *made[: self._settings.offered], *before]
        chosen = self._within(
            offering.offered(shelf, turn.prompt, most=self._settings.offered, first=names), first
        )
        if ctx.deps.looking:
            return chosen
        if len(self._chosen) >= _KEPT:
            self._chosen.pop(next(iter(self._chosen)))
        self._chosen[turn.id] = shelf, first, chosen
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
        self, shelf: Shelf, offered: int, ctx: RunContext[TurnDeps]
    ) -> dict[str, ToolsetTool[TurnDeps]]:
        guides = shelf.of(Kind.GUIDE)
        known = await self._finding.get_tools(ctx)
        helpers: dict[str, ToolsetTool[TurnDeps]] = {}
        if guides and self._allows(READ):
            reading = known[READ]
            named = "; ".join(f"{each.name}: {_told(each)}" for each in guides[:_GUIDES])
            told = f"{reading.tool_def.description}\n\nThere are: {named}"
            helpers[READ] = replace(reading, tool_def=replace(reading.tool_def, description=told))
        hidden = len(shelf.of(Kind.FUNCTION)) > offered or len(guides) > _GUIDES
        if hidden and self._allows(FIND):
            helpers[FIND] = known[FIND]
        return helpers

    def _tool(self, version: Version, ctx: RunContext[TurnDeps]) -> ToolsetTool[TurnDeps]:
        return ToolsetTool(
            toolset=self,
            tool_def=self.definition(version),
            max_retries=ctx.max_retries,
            args_validator=_ARGUMENTS,
        )

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


async def _guide(deps: TurnDeps, name: str, file: str) -> str:
    version = (await library_of(deps).shelf()).get(name)
    if version is None or version.kind is not Kind.GUIDE:
        raise NotFound(f"No guide {name!r} is in use.", hint=f"{FIND} finds skills.")
    if not await library_of(deps).unchanged(version):
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
