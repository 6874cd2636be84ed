"""The list of toolsets: the one place where tools are registered."""

from collections.abc import Collection, Container, Iterable
from functools import cache

from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from long_running_agents.config import Settings
from long_running_agents.tools.code import code_tools, shell_tools
from long_running_agents.tools.conversations import conversations
from long_running_agents.tools.data import data_tools
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.files import file_tools
from long_running_agents.tools.memory import memory_tools
from long_running_agents.tools.results import results
from long_running_agents.tools.selection import tool_search
from long_running_agents.tools.skill_making import skill_making
from long_running_agents.tools.skill_tools import finding
from long_running_agents.tools.tasks import task_tools
from long_running_agents.tools.web import web_tools


@cache
def families(*, network: bool = False) -> tuple[FunctionToolset[TurnDeps], ...]:
    """Every toolset there is: made once, since their schemas take longer than anything else here.

    Args:
        network: Whether code in a sandbox can reach anybody.
    """
    return (
        memory_tools(),
        conversations(),
        task_tools(),
        file_tools(),
        data_tools(),
        code_tools(network=network),
        shell_tools(network=network),
        web_tools(),
        results(),
        tool_search(),
        skill_making(),
    )


def reserved(toolsets: Iterable[AbstractToolset[TurnDeps]] = ()) -> frozenset[str]:
    """The names that no skill may have: those of tools that are there without it.

    Args:
        toolsets: Tools beside the built-in ones.
    """
    own = [toolset for toolset in toolsets if isinstance(toolset, FunctionToolset)]
    return frozenset(name for each in (*families(), finding(), *own) for name in each.tools)


def built_in(
    *,
    without: Collection[str] = (),
    allow: Container[str] | None = None,
    network: bool = False,
) -> FunctionToolset[TurnDeps]:
    """All their tools as one toolset: the library prepares each toolset anew at every step.

    Args:
        without: The families that are switched off, or have nothing to work with.
        allow: The names of the tools that may run; what may not is not even offered.
        network: Whether code in a sandbox can reach anybody.
    """
    tools = FunctionToolset[TurnDeps](id="built-in")
    for family in families(network=network):
        for tool in family.tools.values() if family.id not in without else ():
            if allow is None or tool.name in allow:
                tools.add_tool(tool)
    return tools


_FAMILIES = {"pyexe": "code", "fetch": "web"}
"""Families that have another name than their switch."""


def switched_on(settings: Settings) -> FunctionToolset[TurnDeps]:
    """The built-in tools that a home's settings allow."""
    off = {_FAMILIES.get(name, name) for name, on in settings.agent.tools.enable if not on}
    if not settings.memory.enabled:
        off.add("memory")
    return built_in(
        without=off, allow=settings.agent.tools.allow, network=bool(settings.sandbox.network)
    )
