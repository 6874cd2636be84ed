import hashlib
import json
import subprocess
import sys

import pytest
from tests.unit.skills.versions import NOW, version

from long_running_agents.domain.skill import SkillKind
from long_running_agents.errors import UsageError
from long_running_agents.skills.export import MARKER, exported


def results(text, tmp_path, *calls):
    """What expressions give in a fresh interpreter that has imported the module."""
    (tmp_path / "module.py").write_text(text, encoding="utf-8", newline="\n")
    program = (
        f"import sys, json; sys.path.insert(0, {str(tmp_path)!r}); import module; "
        f"print(json.dumps([eval(call) for call in {list(calls)!r}]))"
    )
    command = [sys.executable, "-I", "-B", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


DOUBLE = version("double", "def double(n: int) -> int:\n    # Twice.\n    return n * 2\n")


def test_a_module_says_what_is_in_it_and_works(tmp_path):
    text = exported([DOUBLE], now=NOW)

    assert text.startswith('"""Skills, exported at 2026-03-04T05:06:07+00:00.')
    assert "# --- skill: double · version 1 · sha256: " in text
    assert "    # Twice.\n" in text
    assert results(text, tmp_path, "module.double(4)") == [8]


def test_the_sum_in_the_marker_is_that_of_the_section():
    lines = exported([DOUBLE], now=NOW).split("\n")
    at = next(at for at, line in enumerate(lines) if MARKER.fullmatch(line))
    about = json.loads(lines[at + 1][2:])
    section = "\n".join(lines[at + 1 : at + 2 + about["lines"]])

    assert MARKER.fullmatch(lines[at])["digest"] == hashlib.sha256(section.encode()).hexdigest()


def test_no_skills_are_a_module_too(tmp_path):
    assert results(exported([], now=NOW), tmp_path, "1") == [1]


CLASHES = {
    "_help (in one, two)": [
        version("one", "def _help(n):\n    return n\n\ndef one(n):\n    return _help(n)\n"),
        version("two", "def _help(n):\n    return 2\n\ndef two(n):\n    return _help(n)\n"),
    ],
    "run (in by_two, by_three)": [
        version("by_two", "def run(n):\n    return n % 2\n", function="run"),
        version("by_three", "def run(n):\n    return n % 3\n", function="run"),
    ],
    "two (in one, two)": [
        version("one", "def two(n):\n    return n\n\ndef one(n):\n    return two(n)\n"),
        version("two", "def go():\n    return 5\n", function="go"),
    ],
    "datetime (in one, two)": [
        version("one", "import datetime\n\ndef one():\n    return datetime.MAXYEAR\n"),
        version("two", "from datetime import datetime\n\ndef two():\n    return datetime.max\n"),
    ],
    "sum (in sum, other)": [
        version("sum", "def sum(values):\n    return 'mine'\n"),
        version("other", "def other():\n    return sum([1, 2])\n"),
    ],
    "_count (in one, two)": [
        version(name, f"def {name}():\n    global _count\n    _count = 1\n    return _count\n")
        for name in ("one", "two")
    ],
    "json (in one, two)": [
        version("one", "import json\n\ndef one():\n    return json.dumps(1)\n"),
        version("two", "import json\njson = None\n\ndef two():\n    return json\n"),
    ],
}


@pytest.mark.parametrize("named", CLASHES)
def test_names_that_clash_are_refused_with_their_skills(named):
    with pytest.raises(UsageError, match="Names clash") as raised:
        exported(CLASHES[named], now=NOW)

    assert named in raised.value.message
    assert "one at a time" in raised.value.hint
    for each in CLASHES[named]:
        assert exported([each], now=NOW)


def test_of_many_clashes_the_rest_is_counted():
    source = "".join(f"_x{n} = {n}\n" for n in range(15))
    with pytest.raises(UsageError, match="and 5 more"):
        exported([version(n, f"{source}def {n}(): pass\n") for n in ("one", "two")], now=NOW)


def test_equal_imports_and_names_of_inner_scopes_do_not_clash(tmp_path):
    source = (
        "import math\nimport os.path\nfrom datetime import date as day\n\ndef NAME(n):\n"
        "    sum = [each for each in (n, math.floor(0.5))]\n"
        "    return [sum, os.path.basename('a/b'), day(2026, 1, 2).day]\n"
    )
    versions = [version(name, source.replace("NAME", name)) for name in ("one", "two")]
    text = exported(versions, now=NOW)

    assert results(text, tmp_path, "module.one(1)", "module.two(2)") == [
        [[1, 0], "b", 2],
        [[2, 0], "b", 2],
    ]


def test_the_future_is_imported_once_and_at_the_top(tmp_path):
    future = "from __future__ import annotations"
    one = version("one", f'"""Doc."""\n{future}\n\ndef one(x: Later = 1) -> Later:\n    return x\n')
    two = version("two", f"{future}; import math\n\ndef two(x: No):\n    return math.floor(x)\n")
    three = version(
        "three", "from __future__ import (\n    annotations,\n)\ndef three(): return 3\n"
    )
    text = exported([one, two, three], now=NOW)

    calls = ("module.one(4)", "module.two(2.5)", "module.three()")
    assert results(text, tmp_path, *calls) == [4, 2, 3]
    assert [line for line in text.split("\n") if line.startswith("from __future__")] == [future]
    assert "__future__ import" not in exported([DOUBLE], now=NOW).split("# ---")[0]


def test_guides_are_mentioned(tmp_path):
    guide = version("release-notes", "---\n", kind=SkillKind.GUIDE)

    assert "not in here: release-notes." in exported([guide, DOUBLE], now=NOW)


@pytest.mark.parametrize(
    "versions",
    [
        [DOUBLE, DOUBLE],
        [version("a b", "def a(): pass", function="a")],
        [version("one", "def other(): pass")],
        [version("one", "def one(:")],
        [version("one", "x = '\ud800'\ndef one(): pass")],
        [version("one", "def one(): return " + "-" * 9000 + "1")],
        [version("one", "def one():\n    nonlocal x\n")],
        [DOUBLE, version("one", "double = 1\ndef one(): pass")],
    ],
)
def test_what_cannot_be_written_is_said(versions):
    with pytest.raises(UsageError) as raised:
        exported(versions, now=NOW)

    assert raised.value.hint
