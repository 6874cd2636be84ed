"""Looking at tables in the files of the workspace."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect
from long_running_agents.sandbox.tables.question import Condition, Look, Question
from long_running_agents.sandbox.tables.viewing import view as looked_at
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect
from long_running_agents.tools.files import workspace_of


def data_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="data_view")

    @tools.tool(metadata=effect(Effect.READ))
    async def data_view(
        ctx: RunContext[TurnDeps],
        path: str,
        view: Literal["head", "tail", "sample", "describe"] = "head",
        rows: Annotated[int, Field(ge=1, le=200)] = 10,
        columns: list[str] | None = None,
        where: list[Condition] | None = None,
        order_by: str = "",
        sheet: str = "",
    ) -> str:
        """Look at a table of any size: its shape, columns and types, and some of its rows.

        CSV, TSV, JSON lines, Parquet and Excel files can be looked at.

        Args:
            ctx: The turn that asks.
            path: The file.
            view: The first, last or random rows, or a summary of each column.
            rows: How many rows.
            columns: Only these columns.
            where: Only rows that fulfil all of these conditions.
            order_by: A column to sort head and tail by; '-name' means the largest first.
            sheet: The sheet of a workbook; the first unless given.
        """
        question = Question(
            look=Look(view),
            rows=rows,
            columns=tuple(columns or ()),
            where=tuple(where or ()),
            order_by=order_by,
            sheet=sheet,
        )
        return await looked_at(workspace_of(ctx.deps), path, question, ctx.deps.clock)

    return tools
