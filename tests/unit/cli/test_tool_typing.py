"""Tools and their arguments, as a person types them."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.cli import create_tool as drafting
from long_running_agents.cli.skills import arguments, object_of
from long_running_agents.errors import UsageError

SCHEMA = {"properties": {"text": {"type": "string"}, "count": {"type": "integer"}}}


def test_values_are_json_and_else_text():
    typed = ["count=3", "rows=[1, 2]", 'title="3"', "name=Ada", "empty=", "nan=NaN", "equal=a=b"]
    assert arguments(typed, SCHEMA) == {
        "count": 3,
        "rows": [1, 2],
        "title": "3",
        "name": "Ada",
        "empty": "",
        "nan": "NaN",
        "equal": "a=b",
    }


def test_an_argument_that_takes_text_is_given_text():
    assert arguments(["text=123"], SCHEMA) == {"text": "123"}
    assert arguments(['text="123"'], SCHEMA) == {"text": "123"}


def test_what_cannot_be_read_is_text_and_breaks_nothing():
    deep, long = "[" * 100_000, "1" * 10_000
    assert arguments([f"x={deep}", f"y={long}"], {}) == {"x": deep, "y": long}


@pytest.mark.parametrize("typed", [["count"], ["=3"], ["a=1", "a=2"]])
def test_what_is_no_argument_is_refused(typed):
    with pytest.raises(UsageError):
        arguments(typed, SCHEMA)


@pytest.mark.parametrize("typed", ["", "[1]", "{", '{"a": NaN}', "[" * 100_000, "3"])
def test_all_arguments_at_once_are_one_object(typed):
    assert object_of('{"a": [1]}') == {"a": [1]}
    with pytest.raises(UsageError):
        object_of(typed)


@given(does=st.text(max_size=60).filter(lambda text: text.strip() and "\0" not in text))
def test_what_a_tool_does_stays_what_was_said(does):
    does = does.encode("utf-8", "ignore").decode().replace("\r", "").replace("\n", " ")
    head = drafting.skeleton("double", does, ["number: int"], "int")
    [function] = ast.parse(f"{head}    return 2 * number\n").body
    assert (ast.get_docstring(function, clean=False) or "") == does.strip()


def test_a_body_gets_its_head_and_a_whole_function_is_left_alone():
    head = drafting.skeleton("double", "Twice.", ["number: int"], "int")
    body = drafting.whole(head, "    half = number\n    return half + number")
    assert body == (
        'def double(number: int) -> int:\n    """Twice."""\n'
        "    half = number\n    return half + number\n"
    )
    mine = "import math\n\ndef double(number: int) -> int:\n    return 2"
    assert drafting.whole(head, mine) == f"{mine}\n"
    assert drafting.whole(head, "return (") == f"{head}    return (\n"


def test_an_odd_escape_is_no_error_where_warnings_are_errors():
    # The tests turn every warning into an error, and this escape is warned about.
    head = drafting.skeleton("find", "Finds.", ["text: str"], "str")
    body = "return re.search('\\d', text)[0]"
    assert drafting.whole(head, body) == f"{head}    {body}\n"
    assert drafting.complaint_about_argument("text: str = '\\d'") == ""
    assert drafting.complaint_about_type("Literal['\\d']") == ""


@pytest.mark.parametrize("text", ["text: str", "period: int = 14", "*, exact: bool = False"])
def test_arguments_have_types(text):
    assert drafting.complaint_about_argument(text) == ""


@pytest.mark.parametrize(
    "text", ["text", "a: int, b: int", "*rest: int", "x: int): pass\ndef y(", "(", "\0", "1"]
)
def test_what_is_no_argument_is_said(text):
    assert drafting.complaint_about_argument(text)


def test_a_result_has_a_type():
    assert drafting.complaint_about_type("list[dict[str, float]]") == ""
    assert drafting.complaint_about_type("a b")
    assert drafting.complaint_about_type("int: return 1\n#")
