"""The list of toolsets: the one place where tools are registered."""

from collections.abc import Sequence

from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.tools.conversations import conversations
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.results import results
from long_running_agents.tools.tasks import task_tools


def toolsets() -> Sequence[AbstractToolset[TurnDeps]]:
    """Every toolset there is."""
    return [conversations(), task_tools(), results()]
