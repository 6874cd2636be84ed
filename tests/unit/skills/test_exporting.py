import ast
import hashlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.skills.versions import NOW, version

from long_running_agents.domain.skill import Kind
from long_running_agents.errors import UsageError
from long_running_agents.skills.transfer.exporting import exported
from long_running_agents.skills.transfer.renaming import renamed
from long_running_agents.skills.transfer.sections import MARKER


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


def test_helpers_of_one_name_do_not_meet(tmp_path):
    one = version(
        "one",
        "import math\n\n_LIMIT = 1\n\n\ndef _help(n):  # _help stays in a comment\n"
        "    return n + _LIMIT + math.floor(0.5)\n\n\ndef one(n, _help=_help):\n"
        "    return _help(n)\n",
    )
    two = version(
        "two",
        "import math\n_LIMIT = 2\n\ndef _help(n, *, _LIMIT=_LIMIT):\n    return n + _LIMIT\n\n"
        "def two(n):\n    said = f'{_help(n)!s:>{_LIMIT}} _help'\n"
        "    return [said, _help(n, _LIMIT=5), dict(_help=1)['_help']]\n",
    )
    text = exported([one, two], now=NOW)

    assert "# _help stays in a comment" in text
    assert "def one(n, _help=_one__help):\n    return _help(n)" in text
    assert results(text, tmp_path, "module.one(1)", "module.two(1)") == [2, [" 3 _help", 6, 1]]


def test_functions_of_one_name_are_known_by_the_names_of_their_tools(tmp_path):
    source = "def run(n):\n    return n if n < {0} else run(n - {0})\n"
    versions = [
        version("by_two", source.format(2), function="run"),
        version("by_three", source.format(3), function="run"),
        version("run", source.format(5)),
    ]
    calls = ("module.by_two(7)", "module.by_three(8)", "module.run(9)")

    assert results(exported(versions, now=NOW), tmp_path, *calls) == [1, 2, 4]
    assert results(exported(versions[::-1], now=NOW), tmp_path, *calls) == [1, 2, 4]


def test_a_helper_called_like_another_tool_gives_way(tmp_path):
    one = version("one", "def two(n):\n    return n\n\ndef one(n):\n    return two(n)\n")
    two = version("two", "def one():\n    return 5\n\ndef go():\n    return one()\n", function="go")
    self = version("self", "def self():\n    return 1\n\ndef go(): return self()\n", function="go")
    text = exported([one, two, self], now=NOW)

    calls = ("module.one(3)", "module.two()", "module.self()")
    assert results(text, tmp_path, *calls) == [3, 5, 1]


def test_imports_that_bind_one_name_to_two_things_are_told_apart(tmp_path):
    one = version(
        "one", "import datetime\n\ndef one():\n    return datetime.date(2026, 1, 2).day\n"
    )
    two = version(
        "two",
        "from datetime import datetime\nimport os.path\n\ndef two():\n"
        "    return [datetime(2026, 1, 3).day, os.path.basename('a/b')]\n",
    )
    three = version("three", "os = 4\nfrom math import (\n    floor as datetime, ceil\n)\n"
                    "def three():\n    return datetime(1.5) + ceil(0.5) + os\n")  # fmt: skip
    calls = ("module.one()", "module.two()", "module.three()")

    assert results(exported([one, two, three], now=NOW), tmp_path, *calls) == [2, [3, "b"], 6]


def test_a_builtin_stays_one_for_all_others(tmp_path):
    total = version("sum", "def sum(values):\n    return 'mine'\n")
    other = version("other", "def other():\n    return sum([1, 2])\n")
    hiding = version("hiding", "def len(x):\n    return 7\n\ndef hiding():\n    return len([])\n")
    length = version("length", "def length():\n    return len([1])\n")
    text = exported([total, other, hiding, length], now=NOW)

    calls = ("module.sum([1])", "module.other()", "module.hiding()", "module.length()")
    assert results(text, tmp_path, *calls) == ["mine", 3, 7, 1]


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


def test_state_of_two_modules_stays_apart(tmp_path):
    source = "_count = {0}\n\ndef {1}():\n    global _count\n    _count += 1\n    return _count\n"
    versions = [version("one", source.format(1, "one")), version("two", source.format(10, "two"))]

    calls = ("module.one()", "module.two()", "module.one()")
    assert results(exported(versions, now=NOW), tmp_path, *calls) == [2, 11, 3]


def test_a_tool_may_be_called_like_a_word_of_python(tmp_path):
    text = exported([version("import", "def go():\n    return 1\n", function="go")], now=NOW)

    assert results(text, tmp_path, "getattr(module, 'import')()") == [1]


def test_unusual_ways_to_bind_a_name_are_renamed_too(tmp_path):
    source = """
try:
    raise ValueError("no")
except ValueError as _error:
    _kept = str(_error)
match {"a": 1, "b": 2}:
    case {"a": _a, **_rest}:
        pass
match [1, 2, 3]:
    case [_first, *_others] as _whole:
        pass
for _each in range(3):
    pass
with open("/dev/null") as _file:
    pass
_made = [(_last := _x) for _x in (1, 2)]
class _Thing:
    _kept = 5
    def told(self):
        return [_kept, self._kept, [_kept for _kept in (1,)], (lambda _kept: _kept)(3)]
async def NAME_later(): return _kept
def NAME(*_others, _first=_first, **_rest):
    def inner():
        nonlocal _first
        _first += 1
        return _kept
    return [_kept, _a, _others, _first, _whole, _each, _last, _made, _Thing().told(), inner()]
"""
    versions = [version(name, source.replace("NAME", name)) for name in ("one", "two")]
    alone = exported(versions[:1], now=NOW)
    both = exported(versions, now=NOW)

    assert "_one__kept" in both
    expected = results(alone, tmp_path, "module.one(7)")
    assert results(both, tmp_path, "module.one(7)", "module.two(7)") == expected * 2


def test_what_a_class_has_bound_before_is_its_own(tmp_path):
    source = (
        "from math import *\n\ndef _get(self):\n    return 1\n\nclass _Thing:\n"
        "    def _get(self):\n        return 2\n    got = property(_get)\n\n"
        "def NAME():\n    return [_Thing().got, _get(None), floor(0.5)]\n"
    )
    versions = [version(name, source.replace("NAME", name)) for name in ("one", "two")]
    text = exported(versions, now=NOW)

    assert "    got = property(_get)" in text
    assert results(text, tmp_path, "module.one()", "module.two()") == [[2, 1, 0]] * 2


def test_guides_are_mentioned(tmp_path):
    guide = version("release-notes", "---\n", kind=Kind.GUIDE)

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
        [
            version("sum", "def sum(): pass"),
            version("deep", f"def deep(): return {'+'.join('1' * 900)}"),
        ],
        [DOUBLE, version("one", "double = 1\nclass A:\n    double = double\ndef one(): pass")],
    ],
)
def test_what_cannot_be_written_is_said(versions):
    with pytest.raises(UsageError) as raised:
        exported(versions, now=NOW)

    assert raised.value.hint


def test_a_name_with_two_meanings_is_not_guessed():
    with pytest.raises(UsageError):
        renamed("x = 1\nclass A:\n    x = x\n", {"x": "y"})


def test_what_cannot_be_renamed_in_the_text_is_written_anew():
    source = "x = 1\nword = f'{\"{x}\"}{x}'  # odd\n"
    text = renamed(source, {"x": "y"})

    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse("y = 1\nword = f'{\"{x}\"}{y}'"))


@given(st.text(alphabet="abx_ =()[]:,.\n'f{}1lambdaor"))
def test_renaming_keeps_the_meaning_or_says_why_not(source):
    try:
        text = renamed(source, {"a": "zz", "x": "yy"})
    except UsageError:
        return
    back = renamed(text, {"zz": "a", "yy": "x"})
    assert ast.dump(ast.parse(back)) == ast.dump(ast.parse(source))
