"""The errand that looks at a table. The file is hostile, and so may be the question."""

import os
from collections.abc import Iterator

from long_running_agents.errors import LraError
from long_running_agents.sandbox.bound import serve
from long_running_agents.sandbox.result import Json
from long_running_agents.sandbox.tables import unpacking
from long_running_agents.sandbox.tables.formats import GZIP, Form, form_of, separator
from long_running_agents.sandbox.tables.frames import answered, opened
from long_running_agents.sandbox.tables.question import Question

_HEAD = 1 << 16
_THREADS = 4


def look(request: Json) -> Iterator[Json]:
    """Answer one question about the file that was handed over."""
    os.environ["POLARS_MAX_THREADS"] = str(min(_THREADS, os.cpu_count() or 1))
    from polars.exceptions import PolarsError  # noqa: PLC0415 - an extra, and it starts threads

    try:
        yield _looked(request["file"], request["name"], Question.from_json(request["question"]))
    except LraError as error:
        yield {"error": error.message, "hint": error.hint}
    except (PolarsError, OSError, UnicodeError) as error:
        yield {"error": f"The table cannot be read: {str(error).splitlines()[0][:300]}."}


def _looked(file: int, name: str, question: Question) -> Json:
    from polars.exceptions import ComputeError  # noqa: PLC0415 - as above

    if os.pread(file, 2, 0) == GZIP:
        file, name = unpacking.gunzipped(file), name.lower().removesuffix(".gz")
    if unpacking.is_wide(os.pread(file, 2, 0)):
        file = unpacking.narrowed(file)
    head = os.pread(file, _HEAD, 0)
    form = form_of(name, head)
    about: Json = {"form": form.value}
    if form is Form.WORKBOOK:
        file, about["sheets"] = unpacking.sheet_as_csv(file, question.sheet)
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
