from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.skills.versions import NOW, version

from long_running_agents.domain.skill import (
    SkillCreator,
    SkillExample,
    SkillFile,
    SkillKind,
    SkillLimits,
)
from long_running_agents.errors import Altered, TooLarge, UsageError
from long_running_agents.skills.export import exported, imported
from long_running_agents.skills.versions import diff

ONE = version(
    "one",
    '"""A module."""\nfrom __future__ import annotations\n\nfrom datetime import date\n\n\n'
    "def _help(n):  # a comment\n    return n + 1\n\n\n"
    'def run(n: int, day: date | None = None) -> str:\n    """Doc."""\n'
    "    return f'{_help(n)} {sum([1])}'\n",
    function="run",
    number=7,
    limits=SkillLimits(timeout=3.5, memory=99),
    safe_mode=False,
    allowed_imports=("datetime",),
    examples=(SkillExample(args={"n": 1, "day": "é\n# --- x"}, result="2 1", checked=True),),
    label="1.0 · é",
)
TWO = version(
    "two",
    "import datetime\n\ndef _aid(): return datetime\n\ndef go(): return _aid()",
    function="go",
)
MAX = version("max", "def max(values):\n    return values\n")


def test_what_was_exported_comes_back_as_it_was():
    versions = [ONE, TWO, MAX]
    drafts = imported(exported(versions, now=NOW))

    for before, draft in zip(versions, drafts, strict=True):
        assert draft.source == before.source
        assert (draft.name, draft.function) == (before.name, before.interface.function)
        assert draft.limits == before.limits
        assert draft.examples == before.examples
        assert draft.safe_mode == before.safe_mode
        assert draft.allowed_imports == before.allowed_imports
        assert draft.label == before.label
        assert draft.description == before.interface.description
        assert draft.brought.origin is SkillCreator.IMPORT


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations; import math\ndef f(): return math.pi",
        "from __future__ import (\n annotations,\n)\nfrom __future__ import division\ndef f(): 1\n",
        '"""x"""; from __future__ import annotations\ndef f(): return 1\n\n\n',
        "def f():\n    return '''\n# --- skill: f · version 1 · sha256: " + "0" * 64 + "\n'''\n",
        "def f():\n    return 'é' + f'{_é}'\n_é = 1 # é",
    ],
)
def test_every_layout_comes_back(source):
    versions = [
        version("ff", source, function="f"),
        version("gg", "_è = 2\ndef g(): 1\n", function="g"),
    ]

    assert [draft.source for draft in imported(exported(versions, now=NOW))] == [
        each.source for each in versions
    ]


def test_a_module_that_went_through_windows_comes_back():
    text = exported([ONE], now=NOW).replace("\n", "\r\n")

    assert imported("\ufeff" + text)[0].source == ONE.source


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n + 1", "n + 2"),
        ('"timeout": 3.5', '"timeout": 600'),
        ("# a comment", "# another"),
        ('"lines": ', '"lines": 1'),
        ("# {", "# "),
    ],
)
def test_a_section_that_was_changed_is_named(old, new):
    text = exported([TWO, ONE], now=NOW)
    at = text.index("# --- skill: one")
    text = text[:at] + text[at:].replace(old, new, 1)

    with pytest.raises(Altered, match="one was changed after it was exported") as raised:
        imported(text)
    assert raised.value.hint


def test_nothing_slips_in_between_before_or_after():
    text = exported([TWO, ONE], now=NOW)

    for changed in (
        text + "\nimport os\n",
        text.replace("# --- skill: one", "x = 1\n\n\n# --- skill: one"),
        "import os\n" + text,
    ):
        with pytest.raises(Altered, match="part of none"):
            imported(changed)


ORDINARY = '''"""Tools."""
import math

LIMIT = 3

class Point:
    """A point."""

def _help(n):
    return n * LIMIT

# About area.
def area(r: float) -> float:
    """Area."""
    return math.pi * _help(r)

@staticmethod
def twice(n: int) -> int:
    """Twice."""
    return 2 * n

async def later(n: int) -> int:
    """Later."""
    return twice(n)

if __name__ == "__main__":
    print(area(1))
'''


def test_each_public_function_of_an_ordinary_module_becomes_a_skill():
    area, twice, later = imported(ORDINARY)

    assert [each.name for each in (area, twice, later)] == ["area", "twice", "later"]
    assert area.source == ORDINARY[: ORDINARY.index("@static")].strip("\n") + "\n"
    assert "About area" not in twice.source
    assert "def _help" in twice.source
    assert "def twice" in later.source
    assert "print" not in later.source


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", UsageError),
        ("x = 1", UsageError),
        ("def _private(): pass", UsageError),
        ("def broken(:", UsageError),
        ("x = 1\x00", UsageError),
        ("\ud800", UsageError),
        ("-" * 100_000 + "1", UsageError),
        ("(" * 9000, UsageError),
        ("#" * (9 << 20), TooLarge),
        ("#" * (300 << 10), TooLarge),
        ("".join(f"def f{n}(): pass\n" for n in range(201)), TooLarge),
        ("# --- skill: one · version 1 · sha256: " + "0" * 64, Altered),
        ("# --- skill: one · version 1 · sha256: " + "0" * 64 + "\n# " + "[" * 99_999, Altered),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_holds_no_skills_is_said(text, kind):
    with pytest.raises(kind):
        imported(text)


@given(st.text(), st.integers(0, 2000), st.text(max_size=3))
def test_any_text_is_read_or_refused(text, at, piece):
    whole = exported([TWO, ONE], now=NOW)
    for each in (text, whole[:at] + piece + whole[at + 1 :]):
        with suppress(UsageError):
            assert imported(each)


def test_equal_versions_have_no_difference():
    assert diff(ONE, ONE) == ""
    assert diff(ONE, replace(ONE, number=8, decided_by="somebody")) == ""


def test_a_difference_shows_lines_and_limits():
    source = TWO.source.replace("return _aid()", "return 1")
    new = replace(TWO, source=source, number=2, limits=SkillLimits(timeout=5))
    text = diff(TWO, new)

    assert "--- version 1: settings\n+++ version 2: settings\n" in text
    assert "-timeout: 30.0\n+timeout: 5\n" in text
    assert "--- version 1: two.py\n+++ version 2: two.py\n" in text
    assert "-def go(): return _aid()\n+def go(): return 1\n" in text


def test_the_files_of_guides_are_compared_one_by_one():
    def guide(source, **files):
        return version("notes", source, kind=SkillKind.GUIDE,
                       files=tuple(SkillFile(path=p, content=c)
                                   for p, c in files.items()))  # fmt: skip

    text = diff(guide("a\n", same="s", gone="g\n", empty=""), guide("b\n", same="s", come="c\n"))

    assert "SKILL.md" in text
    assert "--- version 1: gone\n+++ /dev/null\n" in text
    assert "--- /dev/null\n+++ version 1: come\n" in text
    assert "--- version 1: empty\n+++ /dev/null\n" in text
    assert "same" not in text


def test_enormous_texts_are_only_said_to_differ():
    text = diff(version("a", "x\n" * 30_000), version("a", "y\n" * 30_000))

    assert "too long" in text
