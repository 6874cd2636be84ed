import os

import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.errors import LimitReached, UsageError
from long_running_agents.sandbox.subprocess import ProcessBounds
from long_running_agents.workspace.files import FileSearch, found
from long_running_agents.workspace.search import matcher, search
from long_running_agents.workspace.workspace import Workspace

pytestmark = pytest.mark.anyio

WIDE = ProcessBounds(seconds=60.0, memory=1 << 30)


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "srcx/a.py"]),
        ("**", ["a", "x/y"], []),
        ("docs/**", ["docs/a", "docs/x/y"], ["docs", "a"]),
        ("**/test_?.py", ["test_1.py", "x/test_a.py"], ["test_12.py", "test_/.py"]),
        ("[ab]*.{md,txt}", ["a.md", "b1.txt"], ["c.md", "a.rst"]),
        ("[!a].c", ["b.c"], ["a.c"]),
        ("*.{p*,c}", ["a.py", "a.c"], ["a.md"]),
        ("a+(b).txt", ["a+(b).txt"], ["aab.txt"]),
        ("./a.txt", ["a.txt", "x/a.txt"], []),
        ("[]", ["[]"], ["a"]),
        ("[a", ["[a"], ["a"]),
        ("{a", ["{a"], ["a"]),
    ],
)
def test_stars_mean_what_people_mean_by_them(glob, yes, no):
    pattern = matcher(glob)

    assert [path for path in yes + no if pattern.fullmatch(path)] == yes


def asked(**wanted):
    return FileSearch(
        **{"pattern": "", "glob": "**", "path": ".", "ignore_case": False, "most": 100, **wanted}
    )


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("import os\nNAME = 1\r\n")
    (tmp_path / "src" / "deep" / "b.py").write_text("name = 2\n")
    (tmp_path / "image.py").write_bytes(b"name\0")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c.py").write_text("name = 3\n")
    return Workspace(tmp_path)


async def told(workspace, bounds=WIDE, **wanted):
    return (await found(workspace, asked(**wanted), SystemClock(), bounds)).splitlines()


async def test_lines_are_found_in_the_order_of_their_files(workspace):
    assert await told(workspace, pattern="name", ignore_case=True) == [
        "src/a.py:2: NAME = 1",
        "src/deep/b.py:1: name = 2",
        "[1 files are no text or too large, and were not searched.]",
    ]
    assert await told(workspace, pattern="name", path="src/deep") == ["src/deep/b.py:1: name = 2"]
    assert await told(workspace, pattern="name", path=".git") == [".git/c.py:1: name = 3"]
    assert await told(workspace, pattern="NAME", path="src/a.py") == ["src/a.py:2: NAME = 1"]
    assert await told(workspace, pattern="absent", path="src") == ["Nothing was found in 2 files."]


async def test_files_are_found_by_their_names_from_the_folder_on(workspace):
    assert await told(workspace, glob="src/*.py") == ["src/a.py  20 bytes"]
    assert await told(workspace, glob="*.py", path="/workspace/src/deep") == [
        "src/deep/b.py  9 bytes"
    ]
    assert await told(workspace, glob="deep/*", path="./src/") == ["src/deep/b.py  9 bytes"]
    assert await told(workspace, most=1) == [
        "image.py  5 bytes",
        "[Only 1 are shown: narrow the search, or raise the limit.]",
    ]


async def test_long_lines_are_shown_around_the_match(workspace):
    (workspace.root / "long.txt").write_text("x" * 1000 + "here" + "y" * 1000)

    [line] = await told(workspace, pattern="here", glob="*.txt")

    assert line.startswith("long.txt:1: …xxx")
    assert "xhere" in line
    assert line.endswith("y…")
    assert len(line) < 300


async def test_a_file_cannot_command_the_terminal_of_who_reads_the_matches(workspace):
    (workspace.root / "evil.txt").write_text("match \x1b[2J\x07")

    assert await told(workspace, pattern="match") == [
        "evil.txt:1: match [2J",
        "[1 files are no text or too large, and were not searched.]",
    ]


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "[z-a]", "(?P<a>x)(?P<a>y)"])
async def test_a_pattern_that_is_none_is_explained(workspace, pattern):
    with pytest.raises(UsageError, match="no regular expression"):
        await told(workspace, pattern=pattern)


async def test_a_pattern_that_never_ends_is_ended(workspace):
    (workspace.root / "b.txt").write_text("a" * 40 + "!")
    (workspace.root / "a.txt").write_text("aaa")
    short = ProcessBounds(seconds=2.0, memory=1 << 30)

    lines = await told(workspace, short, pattern="^(a+)+$", glob="*.txt")

    assert lines == [
        "a.txt:1: aaa",
        "[These were found before the search was ended: it took longer than 2 seconds.]",
    ]
    with pytest.raises(LimitReached, match="longer than 2 seconds"):
        await told(workspace, short, pattern="^(a+)+$", path="b.txt")


async def test_a_pattern_that_swells_is_ended(workspace):
    small = ProcessBounds(seconds=20.0, memory=96 << 20)

    with pytest.raises((LimitReached, UsageError)):
        await told(workspace, small, pattern="|".join(f"(?:a{n}b?){{1,9}}" for n in range(60_000)))


def test_links_and_second_names_are_not_searched(tmp_path):
    (tmp_path / "secret").write_text("canary")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "second").hardlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    request = {
        "root": str(root), "hidden": [], "closed": [], "path": ".", "glob": "**",
        "pattern": "canary", "ignore_case": False, "most": 9,
    }  # fmt: skip

    assert list(search(request)) == [{"files": 1, "skipped": 1, "more": False}]
