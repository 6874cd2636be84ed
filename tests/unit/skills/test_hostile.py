import tracemalloc
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.skills.reviewing import RSI, function, reviewed

from long_running_agents.skills.proposals import fingerprint

DEEP = 20_000
SOURCES = {
    "brackets": "(" * 100_000,
    "brackets that fit": "x = " + "[" * 60_000,
    "dashes": "-" * 200_000 + "1",
    "dashes that fit": "x = " + "-" * 60_000 + "1",
    "not": "x = " + "not " * 15_000 + "1",
    "powers": "x = " + "2**" * DEEP + "1",
    "sums": "x = " + "1+" * 30_000 + "1",
    "attributes": "x = a" + ".b" * 30_000,
    "calls": "x = f" + "()" * 30_000,
    "items": "x = a" + "[0]" * DEEP,
    "lambdas": "x = " + "lambda:" * 9_000 + "1",
    "conditions": "x = " + "1 if 1 else " * 5_000 + "1",
    "comparisons": "x = " + "1<" * 30_000 + "1",
    "f-strings": "x = " + "f'{" * 300 + "1" + "}'" * 300,
    "elif": "def f(a: int) -> int:\n '''x'''\n if a: pass\n" + " elif a: pass\n" * 1_900,
    "blocks": "".join(" " * depth + "if 1:\n" for depth in range(99)) + " " * 99 + "pass",
    "digits": "x = " + "9" * 50_000,
    "hexadecimal digits": function(hint="a: int = 0x" + "f" * 50_000),
    "a deep hint": function(hint="a: " + "list[" * 150 + "int" + "]" * 150),
    "a wide hint": function(hint="a: " + "|".join(["int"] * 150)),
    "a quoted deep hint": function(hint="a: '" + "-" * 50_000 + "'"),
    "a deep default": function(hint="a: list = " + "[" * 150 + "]" * 150),
    "an unhashable default": function(hint="a: dict = {[]: 1}"),
    "a long docstring": f"def f(a: int) -> int:\n    '''{'Args: (' * 8_000}'''\n",
    "many prompts": f"def f(a: int) -> int:\n    '''\n{'    >>> f(' * 5_000}'''\n",
    "ten megabytes": "x = 1\n" * 1_700_000,
    "nul": "x = 1\0",
    "half a character": "x = '\ud800'",
    "form feeds": "\f" * 50_000,
    "only a mark": "\ufeff",
    "only returns": "\r" * 50_000,
    "nothing": "",
    "many functions": "".join(f"def f{n}(a: int) -> int: return a\n" for n in range(1_900)),
    "many names": function("\n".join(["eval(globals())"] * 1_500)),
    "classes in a ring": "class A(B): x: B\nclass B(A): y: A\n" + function(hint="a: A"),
    "classes full of classes": "".join(
        f"class C{n}(TypedDict):\n" + "".join(f"    f{k}: C{n + 1}\n" for k in range(10))
        for n in range(30)
    )
    + "class C30(TypedDict):\n    x: int\n"
    + function(hint="a: C0"),
    "classes with many bases": "".join(
        f"class C{n}({', '.join(f'C{k}' for k in range(max(n - 40, 0), n)) or 'TypedDict'}): pass\n"
        for n in range(200)
    )
    + function(hint="a: C199"),
    "aliases in a ring": "A = B\nB = A\n" + function(hint="a: A"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_hostile_source_is_answered_soon_and_with_words(name):
    began = process_time()
    found = reviewed(SOURCES[name])
    fingerprint(SOURCES[name])
    assert process_time() - began < 1
    assert found.findings or name == "a wide hint"


def test_a_hostile_source_takes_little_memory():
    tracemalloc.start()
    try:
        reviewed("x = 1\n" * 1_700_000)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_the_source_is_never_run(tmp_path):
    trace = tmp_path / "ran"
    line = f"open({str(trace)!r}, 'w').write('x')"
    reviewed(function(line, head=f"x = {line}\n{line}", hint=f"a: {line} = {line}"))
    assert not trace.exists()


def test_an_odd_escape_is_no_error_where_warnings_are_errors():
    # The tests turn every warning into an error, and this escape is warned about.
    assert not reviewed(function("return '\\d'")).errors


@settings(max_examples=150)
@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_text_is_survived(text):
    found = reviewed(text)
    assert found.findings or found.interface


_PIECES = st.sampled_from(
    ["(", ")", "[", "]", ":", ",", "'", '"""', "\n", "\n    ", "=", "*", "|", "...", "int", "None",
     "Literal", "Optional[()]", "Union[()]", "Annotated[()]", "Literal[()]", "dict[", "await ",
     "yield ", "lambda ", "ctx", "class A:\n", "@x\n", "\\", "{", "}", "f'{", "getattr", "eval",
     "__class__", ">>> calculate_rsi(", "Args:\n", "-> ", "1e999", "import os", "\ud800", "\0"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(RSI)), st.integers(0, 12), _PIECES), max_size=4))
def test_a_good_source_that_was_damaged_is_survived(changes):
    source = RSI
    for place, length, piece in changes:
        source = source[:place] + piece + source[place + length :]
    found = reviewed(source)
    assert found.findings or found.interface
    fingerprint(source)


@given(st.text(alphabet="intstrlisdcOpUnLaA[](),|.'\"0 None", max_size=40))
def test_any_hint_is_survived(hint):
    found = reviewed(function(hint=f"a: {hint}"))
    assert found.findings or found.interface


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["type", "properties", "required", "items", "enum", "anyOf", "$ref", "default",
             "prices", "period", "minimum", "description", "additionalProperties", "$defs"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["type", "properties", "required", "$defs"]), _JSON), _JSON)
def test_any_declared_schema_is_survived(declared, other):
    found = reviewed(RSI, input_schema=declared, output_schema=other)
    assert found.findings or found.interface


def test_the_depth_that_is_allowed_is_one_that_can_be_read():
    source = function("return " + "+".join(["text"] * 190))
    assert not reviewed(source).errors
    assert reviewed(source.replace("+text", "+text+text")).errors
