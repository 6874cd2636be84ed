"""The helper process that answers questions about a table, as lazy queries of Polars."""

import os
import random
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from long_running_agents.errors import LraError, UsageError
from long_running_agents.sandbox.base import Json
from long_running_agents.sandbox.subprocess import serve
from long_running_agents.workspace import tables
from long_running_agents.workspace.tables import (
    GZIP,
    Condition,
    Form,
    Look,
    TableQuery,
    form_of,
    separator,
)

if TYPE_CHECKING:
    import polars as pl


_PLACE = "\0place"
_SEED = 20
_CELL = 200
_EXACT = 100_000
"""Up to so many rows, different values are counted exactly."""
_ALONE = 20
"""Up to so many rows are read one by one; more in one pass."""
_LOOKED_AT = 10_000
"""Rows whose values decide about the types of a table's columns."""


def opened(form: Form, path: str, separator: str, *, typed: bool) -> "pl.LazyFrame":
    """The table in a file, of which nothing is read yet."""
    import polars as pl  # noqa: PLC0415 - an extra

    match form:
        case Form.CSV | Form.WORKBOOK:
            return pl.scan_csv(
                path,
                separator=separator,
                infer_schema=typed,
                infer_schema_length=_LOOKED_AT,
                try_parse_dates=typed,
                encoding="utf8-lossy",
                truncate_ragged_lines=True,
                glob=False,
            )
        case Form.JSON_LINES:
            return pl.scan_ndjson(path, infer_schema_length=_LOOKED_AT)
        case Form.JSON:
            return pl.read_json(path).lazy()
        case Form.PARQUET:
            return pl.scan_parquet(path, glob=False)


def answered(frame: "pl.LazyFrame", question: TableQuery) -> dict[str, Any]:
    """What a table says to a question: its shape, and rows of texts."""
    schema = frame.collect_schema()
    names = schema.names()
    _check(question, names)
    chosen = list(question.columns) or names
    kept = _kept(frame, question, schema)
    total = _count(frame)
    matching = _count(kept) if question.where else total
    answer: dict[str, Any] = {
        "rows": total,
        "matching": matching,
        "columns": [[name, _type_name(schema[name])] for name in names],
        "chosen": chosen,
    }
    if question.look is Look.DESCRIBE:
        return answer | {"table": _described(kept, chosen, schema, matching)}
    rows = _rows(frame, question, schema, matching).select(chosen).collect(engine="streaming")
    return answer | {"table": [[_text(value) for value in row] for row in rows.rows()]}


def _check(question: TableQuery, names: Sequence[str]) -> None:
    asked = [*question.columns, *(condition["column"] for condition in question.where)]
    if question.order_by:
        asked.append(question.order_by.removeprefix("-"))
    for name in asked:
        if name not in names:
            raise UsageError(f"There is no column {name!r}; there are {', '.join(names[:50])}.")


def _kept(frame: "pl.LazyFrame", question: TableQuery, schema: "pl.Schema") -> "pl.LazyFrame":
    for condition in question.where:
        frame = frame.filter(_fulfilled(condition, schema[condition["column"]]))
    return frame


def _fulfilled(condition: Condition, kind: "pl.DataType") -> "pl.Expr":
    import polars as pl  # noqa: PLC0415 - an extra

    column, value = pl.col(condition["column"]), condition.get("value")
    operator = condition["op"]
    if operator == "is_null":
        return column.is_null()
    if operator == "not_null":
        return column.is_not_null()
    if operator == "in":
        wanted = value if isinstance(value, list) else [value]
        return column.is_in([_typed(one, kind, condition) for one in wanted])
    if operator in ("contains", "starts_with", "ends_with"):
        text, part = column.cast(pl.String).str, str(value)
        return {
            "contains": text.contains(part, literal=True),
            "starts_with": text.starts_with(part),
            "ends_with": text.ends_with(part),
        }[operator]
    one = pl.lit(_typed(value, kind, condition))
    return {
        "==": column == one,
        "!=": column != one,
        "<": column < one,
        "<=": column <= one,
        ">": column > one,
        ">=": column >= one,
    }[operator]


def _typed(value: object, kind: "pl.DataType", condition: Condition) -> Any:
    """A value as something that can be compared with a column."""
    try:
        return _converted(value, kind)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{value!r} cannot be compared with the column {condition['column']!r},"
            f" which is {_type_name(kind)}."
        ) from error


def _converted(value: object, kind: "pl.DataType") -> Any:
    import polars as pl  # noqa: PLC0415 - an extra

    if value is None:
        raise TypeError("nothing compares with nothing")
    if kind.is_numeric():
        number = float(str(value))
        return int(number) if number.is_integer() and abs(number) < 1 << 53 else number
    if kind == pl.Boolean:
        return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
    if kind == pl.Date:
        return date.fromisoformat(str(value)[:10])
    if isinstance(kind, pl.Datetime):
        moment = datetime.fromisoformat(str(value))
        return moment.replace(tzinfo=None) if kind.time_zone is None else moment
    return str(value)


def _count(frame: "pl.LazyFrame") -> int:
    import polars as pl  # noqa: PLC0415 - an extra

    # By the last row's number: counting alone would map the whole file into memory.
    last = frame.with_row_index(_PLACE).select(pl.col(_PLACE)).tail(1)
    found = last.collect(engine="streaming")
    return int(found.item()) + 1 if found.height else 0


def _rows(
    frame: "pl.LazyFrame", question: TableQuery, schema: "pl.Schema", matching: int
) -> "pl.LazyFrame":
    """The rows to be seen. A row that is far down is found by its number, then read alone."""
    import polars as pl  # noqa: PLC0415 - an extra

    if not question.order_by or question.look is Look.SAMPLE:
        if question.look is Look.HEAD:
            return _kept(frame, question, schema).head(question.rows)
        if question.look is Look.TAIL and not question.where:
            return frame.tail(question.rows)
    numbered = frame.with_row_index(_PLACE)
    places = _places(_kept(numbered, question, schema), question, matching)
    if not places:
        return frame.head(0)
    if len(places) <= _ALONE:
        return pl.concat([frame.slice(place, 1) for place in places])
    order = pl.DataFrame({_PLACE: places}, schema={_PLACE: pl.UInt32}).lazy()
    found = numbered.filter(pl.col(_PLACE).is_in(places))
    return order.join(found, on=_PLACE, how="left", maintain_order="left").drop(_PLACE)


def _places(numbered: "pl.LazyFrame", question: TableQuery, matching: int) -> list[int]:
    import polars as pl  # noqa: PLC0415 - an extra

    if question.look is Look.SAMPLE:
        # The same rows each time: whoever looks again finds what they saw.
        dice = random.Random(_SEED)  # noqa: S311 - no secret
        drawn = sorted(dice.sample(range(matching), min(matching, question.rows)))
        if not question.where:
            return drawn
        found = numbered.select(pl.col(_PLACE)).collect(engine="streaming").to_series()
        return [int(found[place]) for place in drawn]
    wanted = numbered.select(pl.col(_PLACE))
    if not question.order_by:
        found = wanted.tail(question.rows).collect(engine="streaming").to_series()
        return found.to_list()
    column, backwards = question.order_by.removeprefix("-"), question.look is Look.TAIL
    falling = question.order_by.startswith("-") is not backwards
    wanted = numbered.select(pl.col(_PLACE), pl.col(column)).sort(
        [column, _PLACE], descending=[falling, backwards], nulls_last=[not backwards, True]
    )
    found = wanted.head(question.rows).collect(engine="streaming").get_column(_PLACE).to_list()
    return found[::-1] if backwards else found


def _described(
    frame: "pl.LazyFrame", names: Sequence[str], schema: "pl.Schema", matching: int
) -> list[list[str]]:
    """For each column: its type, and what `_measures` tells."""
    exact = matching <= _EXACT
    wanted = [_measures(name, schema[name], exact=exact) for name in names]
    asked = [
        measure.alias(f"{place} {part}")
        for place, measures in enumerate(wanted)
        for part, measure in enumerate(measures)
    ]
    [found] = frame.select(asked).collect(engine="streaming").rows()
    told = iter(found)
    table: list[list[str]] = []
    for name, measures in zip(names, wanted, strict=True):
        cells = [_text(next(told)) for _ in measures]
        if cells[-1] and not exact:
            cells[-1] = f"about {cells[-1]}"
        table.append([name, _type_name(schema[name]), *cells])
    return table


def _measures(name: str, kind: "pl.DataType", *, exact: bool) -> "list[pl.Expr]":
    """How many values, how many missing, the smallest, the largest, the mean, how many different.

    Counting what is different needs memory for all of it, so many are counted approximately.
    """
    import polars as pl  # noqa: PLC0415 - an extra

    column, nothing = pl.col(name), pl.lit(None)
    counts = [column.count(), column.null_count()]
    if kind.is_nested() or kind == pl.Binary:
        return [*counts, nothing, nothing, nothing, nothing]
    return [
        *counts,
        column.min(),
        column.max(),
        column.mean() if kind.is_numeric() else nothing,
        column.n_unique() if exact else column.approx_n_unique(),
    ]


def _type_name(kind: "pl.DataType") -> str:
    import polars as pl  # noqa: PLC0415 - an extra

    if kind.is_integer():
        return "integer"
    if kind.is_numeric():
        return "number"
    names: dict[Any, str] = {
        pl.String: "text",
        pl.Boolean: "true or false",
        pl.Date: "date",
        pl.Datetime: "date and time",
        pl.Null: "empty",
    }
    return names.get(kind.base_type(), str(kind).lower())


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.10g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _CELL else f"{text[:_CELL]}…"


_HEAD = 1 << 16
_THREADS = 4


def look(request: Json) -> Iterator[Json]:
    """Answer one question about the file that was handed over."""
    os.environ["POLARS_MAX_THREADS"] = str(min(_THREADS, os.cpu_count() or 1))
    from polars.exceptions import PolarsError  # noqa: PLC0415 - an extra, and it starts threads

    try:
        yield _looked(request["file"], request["name"], TableQuery.from_json(request["question"]))
    except LraError as error:
        yield {"error": error.message, "hint": error.hint}
    except (PolarsError, OSError, UnicodeError) as error:
        yield {"error": f"The table cannot be read: {str(error).splitlines()[0][:300]}."}


def _looked(file: int, name: str, question: TableQuery) -> Json:
    from polars.exceptions import ComputeError  # noqa: PLC0415 - as above

    if os.pread(file, 2, 0) == GZIP:
        file, name = tables.gunzipped(file), name.lower().removesuffix(".gz")
    if os.pread(file, 2, 0) in tables.WIDE:
        file = tables.narrowed(file)
    head = os.pread(file, _HEAD, 0)
    form = form_of(name, head)
    about: Json = {"form": form.value}
    if form is Form.WORKBOOK:
        file, about["sheets"] = tables.sheet_as_csv(file, question.sheet)
    between = "," if form is Form.WORKBOOK else separator(name, head.decode("utf-8", "replace"))
    path = f"/dev/fd/{file}"
    try:
        return about | answered(opened(form, path, between, typed=True), question)
    except ComputeError:
        if form is not Form.CSV and form is not Form.WORKBOOK:
            raise
        # A value far down is not what the first rows promised: then all are texts.
        return (
            about | {"texts": True} | answered(opened(form, path, between, typed=False), question)
        )


if __name__ == "__main__":
    serve(look)
