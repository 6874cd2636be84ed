"""The list of toolsets: the one place where tools are registered."""

from collections.abc import Container

from pydantic_ai.toolsets import FunctionToolset

from long_running_agents.tools.conversations import conversations
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.memory import memory_tools
from long_running_agents.tools.results import results
from long_running_agents.tools.selection import tool_search
from long_running_agents.tools.tasks import task_tools
from long_running_agents.tools.web import web_tools


def families() -> list[FunctionToolset[TurnDeps]]:
    """Every toolset there is."""
    return [memory_tools(), conversations(), task_tools(), web_tools(), results(), tool_search()]


def built_in(
    *, memory: bool = True, web: bool = True, allow: Container[str] | None = None
) -> FunctionToolset[TurnDeps]:
    """All their tools as one toolset: the library prepares each toolset anew at every step.

    Args:
        memory: Whether there is a memory to work with.
        web: Whether the web may be read.
        allow: The names of the tools that may run; what may not is not even offered.
    """
    tools = FunctionToolset[TurnDeps](id="built-in")
    present = {"memory": memory, "web": web}
    for family in families():
        if not present.get(family.id or "", True):
            continue
        for tool in family.tools.values():
            if allow is None or tool.name in allow:
                tools.add_tool(tool)
    return tools
