"""Every form of table gives the same answers, and no file brings us down."""

import gzip
import io
import json
import os
import random
import zipfile
from datetime import datetime

import openpyxl
import polars as pl
import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.errors import (
    LimitReached,
    LraError,
    NotConfigured,
    PathRefused,
    UsageError,
)
from long_running_agents.workspace.tables import Look, TableQuery, check_installed, view
from long_running_agents.workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

COUNT = 50
ROWS = [
    {
        "id": number,
        "name": f"n, {number}" if number != 7 else None,
        "price": number / 4,
        "when": datetime(2025, 1, 1 + number % 28, 12, 30),  # noqa: DTZ001 - as in a file
        "sold": number % 2 == 0,
    }
    for number in range(COUNT)
]


def csv(separator=","):
    frame = pl.DataFrame(ROWS)
    return frame.write_csv(separator=separator).encode()


def lines():
    return "".join(json.dumps(row, default=datetime.isoformat) + "\n" for row in ROWS).encode()


def workbook():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(ROWS[0]))
    for row in ROWS:
        sheet.append(list(row.values()))
    book.create_sheet("Other").append(["only", "these"])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def parquet():
    content = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(content)
    return content.getvalue()


FORMS = {
    "a.csv": csv,
    "a.tsv": lambda: csv("\t"),
    "semicolons.csv": lambda: csv(";"),
    "windows.csv": lambda: b"\xef\xbb\xbf" + csv().replace(b"\n", b"\r\n"),
    "wide.csv": lambda: csv().decode().encode("utf-16"),
    "a.csv.gz": lambda: gzip.compress(csv()[:99]) + gzip.compress(csv()[99:]),
    "a.jsonl": lines,
    "a.jsonl.gz": lambda: gzip.compress(lines()),
    "a.json": lambda: json.dumps(ROWS, default=datetime.isoformat).encode(),
    "a.parquet": parquet,
    "a.xlsx": workbook,
}


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture(params=FORMS)
def table(request, workspace):
    (workspace.root / request.param).write_bytes(FORMS[request.param]())
    return request.param


async def asked(workspace, path, **question):
    return await view(workspace, path, TableQuery(**question), SystemClock())


def cells(told):
    """The table in an answer, without its heading."""
    rows = [line for line in told.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


async def test_every_form_has_a_shape_types_and_rows(workspace, table):
    told = await asked(workspace, table, rows=2)

    assert f", {COUNT} rows, 5 columns, " in told
    assert "id (integer), name (text), price (number), when (" in told
    assert "sold (true or false)" in told
    assert [row[0] for row in cells(told)] == ["0", "1"]
    assert cells(told)[1][1:3] == ["n, 1", "0.25"]
    assert cells(told)[1][3].replace("T", " ").startswith("2025-01-02 12:30:00")

    seen = await asked(workspace, table, look=Look.TAIL, rows=3, columns=("id", "sold"))
    assert cells(seen) == [["47", "false"], ["48", "true"], ["49", "false"]]

    seen = await asked(workspace, table, look=Look.SAMPLE, rows=5, columns=("id",))
    assert len(cells(seen)) == 5
    assert seen == await asked(workspace, table, look=Look.SAMPLE, rows=5, columns=("id",))

    seen = cells(await asked(workspace, table, look=Look.DESCRIBE))
    assert [row[0] for row in seen] == ["id", "name", "price", "when", "sold"]
    assert seen[0] == ["id", "integer", "50", "0", "0", "49", "24.5", "50"]
    assert seen[1][2:4] == ["49", "1"]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([("id", ">=", 48)], ["48", "49"]),
        ([("id", "<", "2")], ["0", "1"]),
        ([("price", "==", 0.25)], ["1"]),
        ([("name", "==", "n, 3")], ["3"]),
        ([("name", "is_null", None)], ["7"]),
        ([("name", "contains", ", 4"), ("id", ">", 44), ("sold", "==", "true")], ["46", "48"]),
        ([("name", "ends_with", " 9")], ["9"]),
        ([("name", "starts_with", "n, 11")], ["11"]),
        ([("id", "in", [3, 5, 99])], ["3", "5"]),
        ([("id", "!=", 0), ("id", "<=", 1)], ["1"]),
        ([("when", ">", "2025-01-27T13:00"), ("id", "<", 30)], ["27"]),
        ([("name", "not_null", None), ("id", "in", [6, 7])], ["6"]),
    ],
)
async def test_rows_are_filtered_by_conditions(workspace, conditions, expected):
    (workspace.root / "a.csv").write_bytes(csv())
    where = tuple({"column": name, "op": op, "value": value} for name, op, value in conditions)

    for look in (Look.HEAD, Look.TAIL, Look.SAMPLE):
        told = await asked(workspace, "a.csv", look=look, where=where, columns=("id",))
        assert [row[0] for row in cells(told)] == expected
        assert f"{len(expected)} rows match." in told


async def test_rows_are_sorted_with_what_is_missing_last(workspace):
    rows = [(0, 3), (1, ""), (2, 5), (3, 3), (4, 1)]
    text = "id,key\n" + "".join(f"{number},{key}\n" for number, key in rows)
    (workspace.root / "a.csv").write_text(text)

    async def order(**question):
        return [row[0] for row in cells(await asked(workspace, "a.csv", **question))]

    assert await order(order_by="key") == ["4", "0", "3", "2", "1"]
    assert await order(order_by="-key") == ["2", "0", "3", "4", "1"]
    assert await order(order_by="key", rows=2) == ["4", "0"]
    assert await order(order_by="key", look=Look.TAIL, rows=2) == ["2", "1"]


async def test_many_rows_come_in_order_too(workspace):
    numbers = random.Random(5).sample(range(1000), 1000)
    text = "id\n" + "".join(f"{number}\n" for number in numbers)
    (workspace.root / "a.csv").write_text(text)

    told = await asked(workspace, "a.csv", order_by="-id", rows=150)

    assert [int(row[0]) for row in cells(told)] == list(range(999, 849, -1))


async def test_the_sheets_of_a_workbook_are_named_and_chosen(workspace):
    (workspace.root / "a.xlsx").write_bytes(workbook())

    assert "Sheets: Sheet, Other" in await asked(workspace, "a.xlsx")
    assert "Columns: only (text), these (text)" in await asked(workspace, "a.xlsx", sheet="Other")
    with pytest.raises(UsageError, match="There is no sheet 'No'; there are Sheet, Other"):
        await asked(workspace, "a.xlsx", sheet="No")


async def test_a_value_far_down_that_fits_no_type_makes_texts_of_all(workspace):
    text = "id\n" + "1\n" * 20_000 + "many\n"
    (workspace.root / "a.csv").write_text(text)

    told = await asked(workspace, "a.csv", look=Look.DESCRIBE)

    assert "every column is read as text" in told
    assert "20001 rows" in told


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"columns": ("nix",)}, "There is no column 'nix'; there are id, name"),
        ({"order_by": "-nix"}, "There is no column 'nix'"),
        ({"where": ({"column": 'x" OR 1=1', "op": "==", "value": 1},)}, "There is no column"),
        ({"where": ({"column": "id", "op": "==", "value": "many"},)}, "cannot be compared"),
        ({"where": ({"column": "when", "op": ">", "value": "soon"},)}, "cannot be compared"),
        ({"where": ({"column": "sold", "op": "==", "value": "perhaps"},)}, "cannot be compared"),
        ({"where": ({"column": "id", "op": "=="},)}, "cannot be compared"),
    ],
)
async def test_a_question_that_does_not_fit_is_explained(workspace, question, words):
    (workspace.root / "a.csv").write_bytes(csv())

    with pytest.raises(UsageError, match=words):
        await asked(workspace, "a.csv", **question)


BROKEN = {
    "empty.csv": b"",
    "noise.csv": random.Random(1).randbytes(4096),
    "noise.parquet": b"PAR1" + random.Random(2).randbytes(4096) + b"PAR1",
    "cut.parquet": parquet()[:-9],
    "cut.xlsx": workbook()[:-200],
    "noise.xlsx": b"PK\x03\x04" + random.Random(3).randbytes(4096),
    "noise.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.Random(4).randbytes(4096),
    "cut.csv.gz": gzip.compress(csv())[:-20],
    "noise.csv.gz": b"\x1f\x8b\x08" + random.Random(6).randbytes(4096),
    "half.jsonl": b'{"a": 1}\n{"a": ',
    "none.jsonl": b"{" * 100_000,
    "deep.json": b"[" * 100_000,
    "packed.csv.zst": b"\x28\xb5\x2f\xfd" + bytes(100),
    "picture.csv": b"\x89PNG\r\n\x1a\n\0\0",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_file_is_a_message(workspace, name):
    (workspace.root / name).write_bytes(BROKEN[name])

    with pytest.raises(LraError) as refused:
        await asked(workspace, name)

    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2,3,4\n5\n",
        b'a,b\n"open,2\n3,4\n',
        b"a,a,a\n1,2,3\n",
        b"\xff\xfe\xfd,b\n1,\xe4\n",
        b"a\n",
        b"a,b\n" + b"x" * 500_000 + b",1\n",
        ",".join(f"c{n}" for n in range(3000)).encode() + b"\n",
    ],
)
async def test_an_odd_csv_is_shown_as_far_as_it_can_be_or_refused(workspace, content):
    (workspace.root / "odd.csv").write_bytes(content)

    try:
        told = await asked(workspace, "odd.csv")
    except UsageError as error:
        told = str(error)

    assert 0 < len(told) < 100_000


async def test_text_in_a_table_cannot_command_a_terminal_or_break_the_table(workspace):
    (workspace.root / "a.csv").write_text('a,b\n"x\n\x1b[2J | y",1\n')

    told = await asked(workspace, "a.csv")

    assert "\x1b" not in told
    assert told.splitlines()[-1] == "| x [2J \\| y | 1 |"


async def test_a_bomb_is_refused_by_its_size(workspace):
    with gzip.open(workspace.root / "bomb.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(600):
            file.write(b"0,1\n" * (1 << 18))
    with (
        zipfile.ZipFile(workspace.root / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part,
    ):
        for _ in range(600):
            part.write(bytes(1 << 20))

    for name in ("bomb.csv.gz", "bomb.xlsx"):
        assert (workspace.root / name).stat().st_size < 8 << 20
        with pytest.raises(UsageError, match="more than 512 megabytes"):
            await asked(workspace, name)


async def test_time_and_memory_are_bounded(workspace):
    text = "a,b\n" + "".join(f"{n},{'x' * 50}{n}\n" for n in range(200_000))
    (workspace.root / "a.csv").write_text(text)
    question = TableQuery(look=Look.DESCRIBE)

    with pytest.raises(LimitReached, match=r"longer than 0\.01 seconds"):
        await view(workspace, "a.csv", question, SystemClock(), seconds=0.01)
    with pytest.raises(LraError):
        await view(workspace, "a.csv", question, SystemClock(), memory=32 << 20)


def test_without_the_extra_the_command_that_installs_it_is_named():
    with pytest.raises(NotConfigured, match=r"pip install 'long-running-agents\[tables\]'"):
        check_installed(lambda _: None)


async def test_only_files_of_the_workspace_are_opened(workspace, tmp_path):
    (tmp_path / "secret").write_bytes(csv())
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.csv").symlink_to(tmp_path / "secret")
    (root / "second.csv").hardlink_to(tmp_path / "secret")
    os.mkfifo(root / "pipe.csv")

    for path in ("link.csv", "second.csv", "pipe.csv", "../secret", str(tmp_path / "secret")):
        with pytest.raises(PathRefused):
            await asked(Workspace(root), path)
