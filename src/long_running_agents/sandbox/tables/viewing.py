"""Looking at a table: sends the errand, and puts into words what it brings back."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, NotConfigured, UsageError
from long_running_agents.sandbox import errand
from long_running_agents.sandbox.result import Json, printable
from long_running_agents.sandbox.tables.question import Look, Question
from long_running_agents.sandbox.tables.unpacking import UNPACKED
from long_running_agents.sandbox.workspace import Workspace

_MODULE = "long_running_agents.sandbox.tables.errand"
_SECONDS = 100.0
_MEMORY = 2 << 30
_NAMED = 50
_MEASURES = ("column", "type", "values", "missing", "smallest", "largest", "mean", "different")


async def view(
    workspace: Workspace,
    path: str,
    question: Question,
    clock: Clock,
    *,
    seconds: float = _SECONDS,
    memory: int = _MEMORY,
) -> str:
    """What is to be seen of a table in a workspace.

    Raises:
        NotConfigured: The extra is not installed.
        UsageError: The file is no table, or the question does not fit it.
        LimitReached: It needs more time or memory than it is given.
    """
    check_installed(find_spec)
    with workspace.opened(path, os.O_RDONLY) as file:
        size = os.fstat(file).st_size
        if size == 0:
            raise UsageError(f"{path!r} is empty.")
        bounds = errand.Bounds(seconds=seconds, memory=memory, mapped=size, written=UNPACKED)
        request: Json = {
            "file": file,
            "name": path.rpartition("/")[2],
            "question": asdict(question),
        }
        report = await errand.run(_MODULE, request, bounds, clock, file=file)
    return _words(path, size, question, _answer(path, report))


def check_installed(find: Callable[[str], object]) -> None:
    """Say what is missing, if something is.

    Args:
        find: Finds a module by its name, or nothing.
    """
    if any(find(module) is None for module in ("polars", "python_calamine")):
        raise NotConfigured(
            "Tables cannot be looked at here.",
            hint="The user can install what is missing: pip install 'long-running-agents[tables]'.",
        )


def _answer(path: str, report: errand.Report) -> Json:
    if report.lines:
        answer = report.lines[-1]
        if "error" in answer:
            raise UsageError(printable(str(answer["error"])), hint=str(answer.get("hint", "")))
        return answer
    raise LimitReached(
        f"{path!r} could not be looked at: {report.cut_short or 'nothing came back'}.",
        hint="Ask for fewer columns or rows, or use a program.",
    )


def _words(path: str, size: int, question: Question, answer: Json) -> str:
    columns: list[list[str]] = answer["columns"]
    lines = [
        f"{path}: {answer['form']}, {answer['rows']} rows, {len(columns)} columns, {size} bytes.",
        f"Columns: {_column_list(columns)}.",
    ]
    if answer.get("texts"):
        lines.append("Some values fit no type, so every column is read as text.")
    if len(answer.get("sheets", ())) > 1:
        lines.append(f"Sheets: {', '.join(answer['sheets'])}; one is shown at a time.")
    if question.where:
        lines.append(f"{answer['matching']} rows match.")
    describing = question.look is Look.DESCRIBE
    heads: Sequence[str] = _MEASURES if describing else answer["chosen"]
    return printable("\n".join([*lines, "", _table(heads, answer["table"])]))


def _column_list(columns: Sequence[Sequence[str]]) -> str:
    named = ", ".join(f"{name} ({kind})" for name, kind in columns[:_NAMED])
    rest = len(columns) - _NAMED
    return named if rest <= 0 else f"{named} and {rest} more"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return "\n".join(_row(row) for row in (heads, ["---"] * len(heads), *rows))


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
