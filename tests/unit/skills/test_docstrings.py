import pytest

from long_running_agents.domain.skill import SkillExample
from long_running_agents.skills.signature import examples_in, read_docstring

GOOGLE = """Add two numbers.

It takes its time.

Args:
    first: The first one,
        and the best.
    second (int): The other.

Returns:
    The sum.

Raises:
    ValueError: Never.

Examples:
    >>> add(1, 2)
    3
"""
NUMPY = """Add two numbers.

It takes its time.

Parameters
----------
first : int
    The first one,
    and the best.
second : int, optional
    The other.

Returns
-------
int
    The sum.

Examples
--------
>>> add(1, 2)
3
"""
SPHINX = """Add two numbers.

It takes its time.

:param first: The first one,
    and the best.
:param int second: The other.
:returns: The sum.
:rtype: int
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX])
def test_each_style_tells_what_the_tool_does_and_what_it_takes(docstring):
    found = read_docstring(docstring)
    assert found.description == "Add two numbers.\n\nIt takes its time."
    assert found.arguments == {"first": "The first one, and the best.", "second": "The other."}


def test_calls_are_no_part_of_the_description_wherever_they_stand():
    assert read_docstring("Add.\n\nExample:\n    >>> add(1)\n    2\n").description == "Add."
    assert read_docstring("Add.\n\n>>> add(1)\n2\n\nMore.").description == "Add.\n\nMore."
    assert read_docstring("Add.\n\nNote:\n    Slow.\n").description == "Add.\n\nNote: Slow."


def test_a_single_line_about_an_argument_is_enough():
    found = read_docstring("Add.\n\n:param n: Which one.")
    assert (found.description, found.arguments) == ("Add.", {"n": "Which one."})
    assert read_docstring("Add.\n\nArgs:\n    n: Which one.").arguments == {"n": "Which one."}


def test_no_docstring_tells_nothing():
    assert (read_docstring("").description, read_docstring("").arguments) == ("", {})


def test_reading_a_docstring_says_nothing_to_anybody(capfd):
    read_docstring("Add.\n\nArgs:\n    nonsense\n    x: y\n\nReturns:\n    it\n")
    assert capfd.readouterr() == ("", "")


def shown(text):
    return examples_in(text, "add", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "args", "result"),
    [
        (">>> add(1, 2)\n3", {"a": 1, "b": 2}, 3),
        (">>> add(1, b=-2)\n-1", {"a": 1, "b": -2}, -1),
        ("   >>> await add([1, (2, 3)])\n   {'x': None}", {"a": [1, [2, 3]]}, {"x": None}),
        (">>> add(\n...     1,\n...     2,\n... )\n3", {"a": 1, "b": 2}, 3),
        (">>> add(1, 2)\n[1,\n 2]", {"a": 1, "b": 2}, [1, 2]),
        ("Text.\n>>> add('a')\n'b'\n\nMore text", {"a": "a"}, "b"),
    ],
)
def test_a_call_with_its_result_is_an_example(text, args, result):
    assert shown(text) == (SkillExample(args=args, result=result, checked=True),)


@pytest.mark.parametrize(
    "text",
    [
        ">>> add(1, 2)",
        ">>> add(1, x)\n3",
        ">>> add(1, 2) + 1\n4",
        ">>> other(1)\n2",
        ">>> add(1, 2, 3)\n6",
        ">>> add(1, a=2)\n3",
        ">>> add(c=2)\n3",
        ">>> add(**{'a': 1})\n3",
        ">>> add(*[1])\n3",
        ">>> add({1, 2})\n3",
        ">>> add(1e999)\n3",
        ">>> add(1)\nTraceback (most recent call last):\n  ...",
        ">>> add(1)\n<object at 0x1>",
        ">>> add(1)\n...",
        ">>> x = add(1)\n",
        ">>> add(",
        ">>>",
    ],
)
def test_what_is_not_written_out_is_passed_over(text):
    assert shown(text) == ()


def test_several_calls_are_several_examples_each_once():
    text = ">>> add(1, 1)\n2\n>>> add(2, 2)\n4\n>>> add(1, 1)\n2\n"
    assert [example.result for example in shown(text)] == [2, 4]


def test_the_context_of_a_shown_call_is_no_argument():
    found = examples_in(">>> add(ctx, 1)\n2", "add", ("a",), context="ctx")
    assert found == (SkillExample(args={"a": 1}, result=2, checked=True),)
