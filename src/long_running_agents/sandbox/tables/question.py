"""What can be asked of a table: structured, so that nothing a model wrote is ever run."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Operator = Literal[
    "==", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with", "in", "is_null",
    "not_null",
]  # fmt: skip


class Condition(TypedDict):
    """What a row has to fulfil."""

    column: str
    op: Operator
    value: NotRequired[str | int | float | bool | list[str | int | float | bool] | None]


class Look(StrEnum):
    """What to see of a table."""

    HEAD = "head"
    TAIL = "tail"
    SAMPLE = "sample"
    DESCRIBE = "describe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a table."""

    look: Look = Look.HEAD
    rows: int = 10
    columns: tuple[str, ...] = ()
    """Only these; empty means all."""
    where: tuple[Condition, ...] = ()
    """All of them have to be fulfilled."""
    order_by: str = ""
    """A column to sort by; a '-' before it means from the largest down."""
    sheet: str = ""
    """The sheet of a workbook; empty means the first."""

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> "Question":
        """The question as it was sent."""
        return cls(
            look=Look(said["look"]),
            rows=said["rows"],
            columns=tuple(said["columns"]),
            where=tuple(said["where"]),
            order_by=said["order_by"],
            sheet=said["sheet"],
        )
