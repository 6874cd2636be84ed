"""Tools of the client: the model may call them, and nobody here runs them."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema
from typing_extensions import override

from long_running_agents.domain.brought import ClientTool
from long_running_agents.tools.deps import TurnDeps

_RETRIES = 1_000_000
"""The step limit bounds repetitions, as for all tools."""


class ClientTools(AbstractToolset[TurnDeps]):
    """Offers the client's tools, and lets every call of one wait for the client.

    They are not the library's external tools: those pass no ring, and a turn that goes on must find
    their results in the ledger like all others.
    """

    def __init__(self, tools: Sequence[ClientTool]) -> None:
        # An object is all we check: what else the schema says is the client's to know.
        validator = SchemaValidator(core_schema.dict_schema())
        self._tools = {
            tool.name: ToolsetTool[TurnDeps](
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description or None,
                    parameters_json_schema=dict(tool.schema),
                ),
                max_retries=_RETRIES,
                args_validator=validator,
            )
            for tool in tools
        }

    @property
    @override
    def id(self) -> str:
        return "client"

    @override
    async def get_tools(self, ctx: RunContext[TurnDeps]) -> dict[str, ToolsetTool[TurnDeps]]:
        return self._tools

    @override
    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[TurnDeps],
        tool: ToolsetTool[TurnDeps],
    ) -> Any:
        raise CallDeferred
