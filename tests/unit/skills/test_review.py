import pytest
from tests.unit.skills.reviewing import LONG, RSI, function, messages, reviewed

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import Severity, SkillExample


def test_a_plain_function_becomes_a_tool_as_it_is():
    found = reviewed(RSI)
    assert (found.findings, found.name) == ((), "calculate_rsi")
    assert found.interface
    assert found.interface.description == "Calculate Relative Strength Index for price data."
    assert found.interface.parameters == {
        "type": "object",
        "properties": {
            "prices": {"type": "array", "items": {"type": "number"}},
            "period": {"type": "integer", "default": 14},
        },
        "required": ["prices"],
        "additionalProperties": False,
    }
    assert found.interface.returns == {"type": "array", "items": {"type": "number"}}
    assert found.examples[0].derived


def test_hints_are_never_evaluated_so_a_missing_import_of_one_does_no_harm():
    source = (
        "async def search_docs(query: str) -> List[str]:\n"
        '        """Search the documents."""\n'
        "        return [query]\n"
    )
    found = reviewed(source)
    assert found.findings == ()
    assert found.interface
    assert found.interface.is_async
    assert found.interface.returns == {"type": "array", "items": {"type": "string"}}


GOOD = [
    function('return f"{text}/api/v1"'),
    function('return text + "/home/page"'),
    function('return "/api/v1/users" + "/" + "/%d" + r"/[a-z]+/\\d" + "/health"'),
    function('return "/tmp/x" + "/workspace/a/b.txt" + "/dev/null"'),
    function('return "~" + "~5" + "a/b" + "//cdn.example.com/x"'),
    function('return "see /etc/hosts for more"'),
    function('return "/etc/(passwd|shadow)$"'),
    function("return re.compile(r'\\w+').sub('', text)", head="import re"),
    function("return parse.quote(text)", head="from urllib import parse"),
    function("return urllib.parse.quote(text)", head="import urllib.parse"),
    function("return np.array([1]).tolist()", head="import numpy as np", returns="list[int]"),
    function("return type(text).__name__"),
    function("return getattr(text, 'upper')()"),
    function("return input", hint="input: str"),
    function("vars = [text]\nreturn ''.join(v for v in vars)"),
    function("return [input for input in [text]][0]"),
    function("return (lambda input: input)(text)"),
    function("return str(a)", hint="a: int = None"),
    function("return a.get('x', '')", hint="a: dict[str, str]", head="A = {'x': 1}\nB: int = 2"),
    function("import math\nreturn str(math.pi)"),
    function(head="from __future__ import annotations"),
    function(head="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import decimal"),
    function(head="try:\n    import numpy\nexcept ImportError:\n    numpy = None"),
    function(head="import functools\n@functools.lru_cache(maxsize=None)"),
    function(
        "return Device(os=text).os",
        head="from dataclasses import dataclass\n@dataclass\nclass Device:\n    os: str",
    ),
    function(
        "return Stack().push(text)",
        head="class Stack:\n    '''A stack.'''\n    def __init__(self) -> None:\n"
        "        super().__init__()\n        self.items = []\n"
        "    def __len__(self):\n        return len(self.items)\n"
        "    def push(self, one):\n        self.items.append(one)\n        return one",
    ),
    function("signal = row(text)\nreturn signal.signal", head="def row(x): return x"),
    function("return str(pd.api.types.is_number(1))", head="import pandas as pd"),
    function("async def go(): return [await x async for x in y]\nreturn text"),
    function("return dt.datetime.now().strftime('%Y/%m/%d')", head="import datetime as dt"),
    function(
        "async def go():\n    return await asyncio.sleep(0)\nreturn text", head="import asyncio"
    ),
    function("try:\n    return text\nfinally:\n    pass"),
    function(
        "match text:\n    case str(input):\n        return input\n    case _:\n        return ''"
    ),
    "\f\n" + RSI,
    RSI.replace("\n", "\r\n"),
    "# -*- coding: utf-8 -*-\n" + RSI,
    '"""A module about /etc/passwd."""\n' + RSI,
]


@pytest.mark.parametrize("source", GOOD)
def test_good_code_passes(source):
    assert messages(reviewed(source)) == ""


BAD = [
    ("def (", 1, "no Python"),
    ("x = 1\n  y = 2", 2, "Indent"),
    ("x = 1", 0, "no function"),
    ("def _hidden(a: int) -> int:\n    '''x'''\n    return a", 0, "no function"),
    (RSI + RSI, 11, "defined 2 times"),
    (function(hint="a"), 2, "a has no type hint"),
    ("def work(a: int):\n    '''x'''", 1, "what it returns"),
    ("def work(a: int) -> int:\n    return a", 1, "no docstring"),
    (function(hint="*rest: int"), 2, "takes *rest"),
    (function(hint="**rest: int"), 2, "takes **rest"),
    (function(hint="a: int, /"), 2, "before '/'"),
    (function(hint="a: int, a: str"), 2, "duplicate argument 'a'"),
    (function(hint="a: int = foo()"), 2, "not written out"),
    (function(hint="a: float = 1e999"), 2, "no finite number"),
    (function(hint="a: int = 0xfffffffffffffffffffff"), 2, "more than 64 bits"),
    (function(hint="a: int = 'x'"), 2, "does not fit its type"),
    (function(hint="a: str, ctx"), 2, "not the first parameter"),
    (function(head="print('hi')"), 1, "print('hi') runs when the tool is defined"),
    (function(head="for x in []:\n    pass"), 1, "(for)"),
    (function(head="if True:\n    import json"), 1, "(if)"),
    (function(head="try:\n    x = open('a')\nexcept OSError:\n    pass"), 1, "(try)"),
    (function(head="with open('a') as f:\n    pass"), 1, "(with)"),
    (function(head="class A:\n    print('x')"), 2, "the class A is defined"),
    (RSI + "\nif __name__ == '__main__':\n    calculate_rsi([])", 12, "for programs"),
    (function(head="@app.tool()"), 1, "@app.tool()"),
    (function(head="@property"), 1, "@property"),
    (function(head="@evil\ndef helper(): pass"), 1, "@evil"),
    (function(head="from . import x"), 1, "relative import"),
    (function(head="from math import *"), 1, "import *"),
    (function(head="import json, os as o"), 1, "os may not be imported"),
    (function(head="import urllib"), 1, "Import urllib.parse instead"),
    (function(head="from urllib import request"), 1, "urllib may not"),
    (function("import socket\nreturn text"), 4, "socket may not"),
    (function(head="import mathematics"), 1, "mathematics may not"),
    ("# coding: utf-7\n" + RSI, 1, "utf-7"),
    ("\ufeff" + RSI, 1, "U+FEFF"),
    (function("return '\u202e'"), 4, "U+202E"),
    (function("x = 1 # a\rimport os"), 4, "carriage return"),
    (function("return '\x1b[2J'"), 4, "U+001B"),
    ("x = 1\0", 1, "U+0000"),
    ("x = '\ud800'", 1, "Half of a character"),
    ("\n" * 3000, 0, "2000 lines"),
    ("#" * 70_000, 0, "64 kB"),
]


@pytest.mark.parametrize(("source", "line", "words"), BAD)
def test_what_is_wrong_is_said_with_its_line(source, line, words):
    found = reviewed(source)
    assert found.errors
    assert found.interface is None
    assert any(words in str(one) and one.line == line for one in found.errors), messages(found)
    assert all(one.message and one.repair for one in found.findings)


def test_all_findings_are_told_at_once():
    found = reviewed("import os\nprint(1)\ndef work(a, b):\n    eval(a)\n")
    assert [one.line for one in found.findings] == [1, 2, 3, 3, 3, 3, 4]


def test_of_very_many_findings_the_rest_is_counted():
    found = reviewed(function("\n".join(["eval('1')"] * 200)))
    assert len(found.findings) == 51
    assert "150 more" in found.findings[-1].message


def test_the_function_that_was_named_is_taken():
    two = "def first(a: int) -> int:\n    '''One.'''\n    return a\n" + RSI
    assert reviewed(two).name == "calculate_rsi"
    assert reviewed(two, name="first").name == "first"
    named = reviewed(two, name="other", function="first")
    assert (named.name, named.interface.function) == ("other", "first")
    assert "There is: first, calculate_rsi." in messages(reviewed(two, function="third"))


def test_a_longer_source_with_helpers_and_classes_is_one_tool():
    found = reviewed(LONG)
    assert messages(found) == ""
    assert found.name == "summarise"
    assert found.interface.parameters["required"] == ["path"]
    assert found.interface.parameters["properties"]["top"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "How many words.",
        "default": None,
    }
    assert found.interface.returns["required"] == ["rows"]


@pytest.mark.parametrize("name", ["run_command", "Big", "a", "class", "x-y", "__init__", "x" * 65])
def test_a_name_that_no_tool_can_have_is_refused(name):
    found = reviewed(RSI, name=name)
    assert found.errors
    assert "name" in messages(found) or "word of Python" in messages(found)


def test_a_first_parameter_called_ctx_takes_the_context_and_is_no_argument():
    for hint in ("ctx, text: str", "context: Context, text: str"):
        found = reviewed(function(hint=hint), requires_context=True)
        assert not found.errors
        assert found.interface.context == hint.split(",")[0].split(":")[0]
        assert list(found.interface.parameters["properties"]) == ["text"]
    assert "takes no context" in messages(reviewed(RSI, requires_context=True))
    assert "takes a context" in messages(reviewed(function(hint="ctx"), requires_context=False))


def test_whether_it_is_async_must_be_as_was_said():
    assert not reviewed(RSI, is_async=False).errors
    assert "is not async" in messages(reviewed(RSI, is_async=True))


def test_a_description_of_the_draft_stands_for_the_docstring():
    source = "def work(a: int) -> int:\n    return a"
    assert reviewed(source, description="Adds.").interface.description == "Adds."


def test_a_secret_in_the_source_is_found_and_not_repeated():
    secret = "hunter2-hunter2"
    found = reviewed(function(f"return eval('{secret}')"), redact=Redactor([secret]))
    assert any(one.line == 4 and "secret" in one.message for one in found.errors)
    assert secret not in messages(found)
    beside = reviewed(RSI, description=f"Uses {secret}.", redact=Redactor([secret]))
    assert "in the description" in messages(beside)


def test_without_safe_mode_imports_pass_and_reaching_is_for_a_person_to_judge():
    found = reviewed(function("return eval(text)", head="import os"), safe_mode=False)
    assert not found.errors
    assert [one.severity for one in found.findings] == [Severity.WARNING]
    assert found.warnings == found.findings
    assert found.interface


def test_examples_come_from_the_draft_then_the_docstring_then_the_signature():
    source = RSI.replace('data."""', 'data.\n\n    >>> calculate_rsi([1, 2], 1)\n    [0]\n    """')
    own = SkillExample(args={"prices": [1.0, 2.0, 3.0]})
    found = reviewed(source, examples=(own,))
    assert found.examples[0] is own
    assert found.examples[1] == SkillExample(
        args={"prices": [1, 2], "period": 1}, result=[0], checked=True
    )
    assert all(one.derived for one in found.examples[2:])
    assert len(found.examples) > 4


def test_an_example_that_does_not_fit_is_an_error():
    for args in ({"price": [1]}, {"prices": "x"}, {"prices": {1, 2}}):
        assert "Example 1 does not fit" in messages(
            reviewed(RSI, examples=(SkillExample(args=args),))
        )


def test_descriptions_of_arguments_reach_the_schema():
    source = RSI.replace('data."""', 'data.\n\n    Args:\n        period: How many days.\n    """')
    found = reviewed(source)
    assert found.interface.parameters["properties"]["period"]["description"] == "How many days."
    assert found.interface.description == "Calculate Relative Strength Index for price data."
