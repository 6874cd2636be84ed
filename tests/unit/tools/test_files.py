"""The file tools, called by a scripted model on a real folder."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.store.house import add_session, add_turn, house
from tests.unit.tools.test_toolsets import Desk

from long_running_agents.clock import SystemClock
from long_running_agents.errors import LraError, NotConfigured, NotFound, PathRefused, UsageError
from long_running_agents.workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

CASES = Path(__file__).parents[2] / "attacks" / "paths.jsonl"
PATHS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
SECRET = "canary-7f91"
TOOLS = [
    ("read_file", {}),
    ("list_files", {}),
    ("list_directory", {}),
    ("search_files", {"pattern": "."}),
    ("data_view", {}),
    ("write_file", {"content": "x"}),
    ("write_file", {"content": "x", "mode": "append"}),
    ("edit_file", {"old_text": "canary", "new_text": "x"}),
    ("edit_file", {"diff": "@@ -1 +1 @@\n-canary-7f91\n+x\n"}),
]


@pytest.fixture
async def desk(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    async with house(tmp_path / "home") as database:
        turn = await database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        desk = Desk(database, turn)
        desk.root = root
        desk.deps = replace(desk.deps, workspace=Workspace(root), clock=SystemClock())
        yield desk


@pytest.fixture
def outside(desk, tmp_path):
    """What code in a sandbox could plant in the workspace to lead a tool out."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "notes").write_text(SECRET)
    root = desk.root
    (root / "a").mkdir()
    (root / "hostlink").symlink_to(folder)
    (root / "pw").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    (root / "second").hardlink_to(folder / "notes")
    (root / "process").symlink_to("/proc/self")
    os.mkfifo(root / "pipe.txt")
    return folder


async def test_a_file_is_written_read_changed_and_found(desk):
    assert await desk.call("write_file", path="notes/a.md", content="one\ntwo\n") == (
        "Wrote 8 bytes to notes/a.md."
    )
    await desk.call("write_file", path="notes/a.md", content="three\n", mode="append")
    assert await desk.call("edit_file", path="notes/a.md", old_text="two", new_text="2") == (
        "Replaced one passage in notes/a.md."
    )
    diff = "@@ -1,2 +1,2 @@\n-one\n+1\n 2\n"
    assert await desk.call("edit_file", path="notes/a.md", diff=diff) == (
        "Made one change in notes/a.md."
    )

    assert await desk.call("read_file", path="notes/a.md") == (
        "notes/a.md: lines 1 to 3 of 3, 10 bytes.\n1\t1\n2\t2\n3\tthree"
    )
    assert await desk.call("list_files") == "notes/\nnotes/a.md  10 bytes"
    assert await desk.call("list_directory", path="/workspace", depth=1) == "notes/"
    assert await desk.call("search_files", pattern="^t.*e$") == "notes/a.md:3: three"
    assert await desk.call("search_files", glob="*.md") == "notes/a.md  10 bytes"


async def test_a_long_file_is_read_page_by_page(desk):
    (desk.root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))

    first = await desk.call("read_file", path="long.txt")
    last = await desk.call("read_file", path="long.txt", offset_line=-2)

    assert first.startswith(
        "long.txt: lines 1 to 400 of 1000, 8893 bytes."
        " Read on with read_file(path='long.txt', offset_line=401).\n1\tline 1\n"
    )
    assert last.splitlines()[1:] == ["999\tline 999", "1000\tline 1000"]


async def test_a_long_line_is_read_piece_by_piece(desk):
    (desk.root / "one.json").write_text("ä" * 70_000)
    seen, column = "", 1

    while column:
        page = await desk.call("read_file", path="one.json", offset_column=column)
        heading, _, text = page.partition("\n1\t")
        seen += text
        column = int(heading.split("offset_column=")[1][:-2]) if "offset_column" in heading else 0

    assert seen == "ä" * 70_000


async def test_what_is_no_text_is_described(desk):
    (desk.root / "image").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))

    said = await desk.call("read_file", path="image")

    assert said.startswith("image is no text, but a PNG image: 264 bytes.\nSHA-256: ")
    assert "It begins with: 89 50 4e 47" in said
    with pytest.raises(UsageError, match="is no text"):
        await desk.call("edit_file", path="image", old_text="PNG", new_text="GIF")


@pytest.mark.parametrize(
    ("content", "after"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", b"\xef\xbb\xbfx\r\nb\r\n"),
        ("a ö\n".encode("latin-1"), "x ö\n".encode("latin-1")),
        ("\ufeffa\r\n".encode("utf-16-le"), "\ufeffx\r\n".encode("utf-16-le")),
        (b"a", b"x"),
    ],
)
async def test_encoding_mark_and_line_endings_survive_an_edit(desk, content, after):
    (desk.root / "text").write_bytes(content)

    assert "1\ta" in await desk.call("read_file", path="text")
    await desk.call("edit_file", path="text", old_text="a", new_text="x")

    assert (desk.root / "text").read_bytes() == after


async def test_a_character_that_an_encoding_lacks_is_refused(desk):
    (desk.root / "old").write_bytes("ö a\n".encode("latin-1"))

    with pytest.raises(UsageError, match="latin-1, which has no"):
        await desk.call("edit_file", path="old", old_text="a", new_text="\N{SNOWMAN}")
    assert (desk.root / "old").read_bytes() == "ö a\n".encode("latin-1")


async def test_rights_survive_and_nothing_else_is_left(desk):
    (desk.root / "run.sh").write_text("echo 1\n")
    (desk.root / "run.sh").chmod(0o4750)

    await desk.call("edit_file", path="run.sh", old_text="1", new_text="2")
    await desk.call("write_file", path="new.txt", content="x")

    assert stat.S_IMODE((desk.root / "run.sh").stat().st_mode) == 0o750
    assert stat.S_IMODE((desk.root / "new.txt").stat().st_mode) == 0o644
    assert sorted(path.name for path in desk.root.iterdir()) == ["new.txt", "run.sh"]


@pytest.mark.parametrize("case", PATHS, ids=lambda case: case["id"])
async def test_no_planted_path_leads_a_tool_out(desk, outside, case):
    path = case["code"].replace("{OUT}", str(outside))

    for tool, args in TOOLS:
        try:
            told = str(await desk.call(tool, path=path, **args))
        except LraError as error:
            told = str(error)
        assert SECRET not in told
        assert "root:" not in told

    assert [entry.name for entry in outside.iterdir()] == ["notes"]
    assert (outside / "notes").read_text() == SECRET


@pytest.mark.parametrize(
    "path",
    ["hostlink/notes", "second", "pw", "loop", "pipe.txt", "process/environ", "a/../second"],
)
async def test_links_second_names_and_devices_are_refused(desk, outside, path):
    for tool, args in TOOLS:
        with pytest.raises(LraError):
            await desk.call(tool, path=path, **args)

    assert (outside / "notes").read_text() == SECRET
    assert (desk.root / "pw").is_symlink()
    assert (desk.root / "second").stat().st_nlink == 2


@pytest.mark.parametrize("path", [".env", ".ssh/config", "keys/id_rsa", "server.pem", "lra.db"])
async def test_secrets_are_out_of_reach_inside_too(desk, path):
    (desk.root / path).parent.mkdir(exist_ok=True)
    (desk.root / path).write_text(SECRET)

    for tool, args in TOOLS:
        with pytest.raises(PathRefused):
            await desk.call(tool, path=path, **args)
    assert SECRET not in await desk.call("search_files", pattern="canary")
    assert (desk.root / path).read_text() == SECRET


@pytest.mark.parametrize("path", ["home/logs/log", "home/new", "x/../home/logs/log", "home"])
async def test_what_is_hidden_is_neither_seen_nor_touched(desk, path):
    (desk.root / "home" / "logs").mkdir(parents=True)
    (desk.root / "home" / "logs" / "log").write_text(SECRET)
    desk.deps = replace(desk.deps, workspace=Workspace(desk.root, hidden=["home"]))

    for tool, args in TOOLS:
        with pytest.raises(PathRefused):
            await desk.call(tool, path=path, **args)
    assert await desk.call("list_files", depth=5) == ". is empty."
    assert SECRET not in await desk.call("search_files", pattern="canary")
    assert (desk.root / "home" / "logs" / "log").read_text() == SECRET


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("memory/knowledge.md", "Use write_memory"),
        ("memory/bob/learnings.md", "Use write_memory"),
        ("skills/new.py", "approve"),
    ],
)
async def test_files_that_other_rooms_write_are_not_written(desk, path, words):
    for tool, args in TOOLS[-4:]:
        with pytest.raises(PathRefused, match=words):
            await desk.call(tool, path=path, **args)
    assert list(desk.root.iterdir()) == []


async def test_a_link_that_takes_the_place_of_a_file_is_replaced_not_followed(desk, outside):
    target = outside / "notes"

    class Racing(Workspace):
        def _dress(self, file, old):
            # The moment between the look and the change, when code in a sandbox is quick.
            (self.root / "report").unlink(missing_ok=True)
            (self.root / "report").symlink_to(target)
            super()._dress(file, old)

    desk.deps = replace(desk.deps, workspace=Racing(desk.root))
    await desk.call("write_file", path="report", content="mine")

    assert target.read_text() == SECRET
    assert not (desk.root / "report").is_symlink()
    assert (desk.root / "report").read_text() == "mine"


async def test_an_edit_does_not_undo_what_somebody_else_wrote_meanwhile(desk):
    class Racing(Workspace):
        def _dress(self, file, old):
            (self.root / "a").write_text("written by a program")
            super()._dress(file, old)

    (desk.root / "a").write_text("one")
    desk.deps = replace(desk.deps, workspace=Racing(desk.root))

    with pytest.raises(LraError, match="changed in the meantime"):
        await desk.call("edit_file", path="a", old_text="one", new_text="two")
    assert (desk.root / "a").read_text() == "written by a program"
    assert [path.name for path in desk.root.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"old_text": "x", "new_text": "y", "diff": "@@"}, "either"),
        ({"new_text": "y"}, "either"),
        ({"old_text": "three", "new_text": "y"}, "not in the file"),
    ],
)
async def test_an_edit_that_cannot_be_made_is_explained(desk, args, words):
    (desk.root / "a").write_text("one\ntwo\n")

    with pytest.raises(UsageError, match=words):
        await desk.call("edit_file", path="a", **args)
    assert (desk.root / "a").read_text() == "one\ntwo\n"


async def test_what_is_not_there_is_not_found(desk):
    for tool, args in [
        ("read_file", {}),
        ("edit_file", {"old_text": "a"}),
        ("list_files", {}),
        ("search_files", {"pattern": "a"}),
        ("data_view", {}),
    ]:
        with pytest.raises(NotFound):
            await desk.call(tool, path="nowhere", **args)


async def test_a_long_listing_says_that_it_is_cut(desk):
    for number in range(600):
        (desk.root / f"{number:03}").touch()
    (desk.root / "node_modules" / "deep").mkdir(parents=True)

    lines = (await desk.call("list_files", depth=5)).splitlines()

    assert len(lines) == 501
    assert lines[-1].startswith("[Only 500 are shown")
    assert "node_modules/deep/" not in lines


async def test_without_a_workspace_the_tools_say_so(desk):
    desk.deps = replace(desk.deps, workspace=None)

    with pytest.raises(NotConfigured, match="no workspace"):
        await desk.call("list_files")
