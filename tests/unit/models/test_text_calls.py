import json

import pytest

from long_running_agents.models.text_stream import TextCallFilter

NAMES = {"look": ["at", "closely"], "wait": [], "write_file": ["path", "text"]}
X = ("look", {"at": "x"})

CALLS = {
    "a tag": ('<tool name="look">{"at": "x"}</tool>', [X]),
    "a tag in single quotes": ('<tool name=\'look\'>{"at": "x"}</tool>', [X]),
    "a tag without arguments": ('<tool name="wait"></tool>', [("wait", {})]),
    "a tag that closes itself": ('<tool name="wait"/>', [("wait", {})]),
    "a tag that is not closed": ('<tool name="look">{"at": "x"}', [X]),
    "a closing tag in an argument": (
        '<tool name="write_file">{"text": "a</tool>b"}</tool>',
        [("write_file", {"text": "a</tool>b"})],
    ),
    "a tool_call": ('<tool_call>\n{"name": "look", "arguments": {"at": "x"}}\n</tool_call>', [X]),
    "a tool_call with doubled braces": (
        '<tool_call>\n{{"name": "look", "arguments": {"at": "x"}}}\n</tool_call>',
        [X],
    ),
    "a tool_call with all braces doubled": (
        '<tool_call>{{"name": "look", "arguments": {{"at": "x"}}}}</tool_call>',
        [X],
    ),
    "several tool_calls": (
        (
            '<tool_call>{"name": "look", "arguments": {"at": "x"}}</tool_call>\n'
            '<tool_call>{"name": "wait"}</tool_call>'
        ),
        [X, ("wait", {})],
    ),
    "two calls in one tag": (
        '<tool_call>{"name": "look", "arguments": {"at": "x"}}\n{"name": "wait"}</tool_call>',
        [X, ("wait", {})],
    ),
    "a function": ('<function=look>{"at": "x"}</function>', [X]),
    "a function with parameters": (
        (
            "<tool_call>\n<function=look>\n<parameter=at>\nx\n</parameter>\n"
            "<parameter=n>\n[1]\n</parameter>\n</function>\n</tool_call>"
        ),
        [("look", {"at": "x", "n": [1]})],
    ),
    "a fence": ('```json\n{"name": "look", "arguments": {"at": "x"}}\n```', [X]),
    "a fence around a list": (
        '```\n[{"name": "look", "parameters": {"at": "x"}}, {"tool": "wait", "args": {}}]\n```',
        [X, ("wait", {})],
    ),
    "a fence around a tag": ('```xml\n<tool name="look">{"at": "x"}</tool>\n```', [X]),
    "a fence that is not closed": ('```json\n{"name": "look", "arguments": {"at": "x"}}', [X]),
    "a fence in an argument": (
        '```json\n{"name": "write_file", "arguments": {"text": "```sh```"}}\n```',
        [("write_file", {"text": "```sh```"})],
    ),
    "bare JSON": ('{"name": "look", "arguments": {"at": "x"}}', [X]),
    "bare JSON with arguments in text": (
        '{"name": "look", "arguments": "{\\"at\\": \\"x\\"}"}',
        [X],
    ),
    "the protocol's own form": (
        (
            '{"tool_calls": [{"id": "1", "type": "function", "function":'
            ' {"name": "look", "arguments": "{\\"at\\": \\"x\\"}"}}]}'
        ),
        [X],
    ),
    "JSON over several lines": ('{\n  "name": "look",\n  "arguments": {\n "at": "x"}\n}\n', [X]),
    "python": ('look(at="x")', [X]),
    "python, several lines": ("look(at='x')\nwait()", [X, ("wait", {})]),
    "a python list": ("[look(at='x'), wait()]", [X, ("wait", {})]),
    "a python fence": ("```tool_code\nprint(look(at='x'))\n```", [X]),
    "python with positions": ("look('x')", [X]),
    "python with both": ("look('x', closely=True)", [("look", {"at": "x", "closely": True})]),
    "an unknown tool": ('<tool name="nope">{"at": "x"}</tool>', [("nope", {"at": "x"})]),
    "an unknown tool without arguments": ('<tool name="nope"></tool>', [("nope", {})]),
    "an unknown function in a tag": (
        "<function=nope><parameter=at>x</parameter></function>",
        [("nope", {"at": "x"})],
    ),
    "an unknown tool in a tool_call": (
        '<tool_call>{"name": "nope", "arguments": {"at": "x"}}</tool_call>',
        [("nope", {"at": "x"})],
    ),
    "thoughts first": ('<think>\nlook(at="y")\n</think>\n\nlook(at="x")', [X]),
}

TEXTS = {
    "prose": "Nothing to call here.",
    "a mention in prose": 'Use look(at="x") or <tool_call> to see.',
    "a tag of a document": '<tool name="hammer"><weight>3</weight></tool>\n<tool name="saw"/>',
    "a tag that is no name": '<tool name="Claw hammer">{}</tool>',
    "an unknown tool in JSON": '{"name": "nope", "arguments": {}}',
    "another JSON": '```json\n{"title": "look", "n": 1}\n```',
    "JSON with other keys": '{"name": "look", "age": 7}',
    "a definition of a tool": '{"name": "look", "description": "Looks.", "parameters": {}}',
    "code": "```python\nfor name in names:\n    look(at=name)\n```",
    "code in another language": "```sh\nlook(at='x')\n```\n",
    "a tag inside code": '```html\n<tool name="look">{"at": "x"}</tool>\n```',
    "an example in the middle": '{before}\n```json\n{"name": "wait"}\n```\nThat is how.',
    "python with too many arguments": "wait('x')",
    "an unknown function": "nope('x')",
    "python that computes": "look(at=open('x').read())",
    "a comparison": "a < b\nand b <c>",
    "a link": "[look](http://x)\n[ ] to do\n",
    "spaces": "  \n\n  indented\n\n",
    "inline code": "```look``` is a tool.\nlook at it",
    "a placeholder": 'Write <tool name="look">…</tool> to look.',
    "words that begin like a tool": "look\nlooking\nwait",
    "tags of another kind": "<tools>\n<toolbox/>\n<function>x</function>",
}  # fmt: skip


def read(text, size, *, native=False, anywhere=False):
    """Feed a text in pieces; see what is shown on the way, and what comes out."""
    holdback = TextCallFilter(NAMES, anywhere=anywhere)
    shown = [holdback.feed(text[at : at + size]) for at in range(0, len(text), size)]
    end = holdback.end(native=native)
    calls = [(call.name, json.loads(call.arguments)) for call in end.calls]
    said = "".join(piece.text for piece in shown)
    thoughts = "".join(piece.thinking for piece in shown) + end.thinking
    return said, said + end.text, thoughts, calls


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])


@pytest.mark.parametrize(("text", "calls"), CALLS.values(), ids=CALLS.keys())
@SIZES
def test_a_call_is_found_and_never_shown(text, calls, size):
    _, said, _, found = read(text, size)

    assert found == calls
    assert said.strip() == ""


@pytest.mark.parametrize(("text", "calls"), CALLS.values(), ids=CALLS.keys())
@SIZES
def test_words_before_a_call_are_shown_without_it(text, calls, size):
    if text.startswith("<think>"):
        text = text.partition("</think>")[2].strip()
    _, said, _, found = read(f"Let me see.\n{text}\n", size)

    assert (said, found) == ("Let me see.", calls)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@SIZES
def test_what_is_no_call_is_shown_to_the_letter(text, size):
    _, said, _, found = read(text, size)

    assert (said, found) == (text, [])


@pytest.mark.parametrize(("text", "calls"), CALLS.values(), ids=CALLS.keys())
def test_a_model_that_calls_properly_means_its_text_as_text(text, calls):
    _, said, _, found = read(text, 3, native=True)

    assert found == []
    assert said == text.partition("</think>")[2].lstrip() or said == text


MEANT = {
    "a tag": ('<tool name="look">{"at": "x</tool>', ("look", '{"at": "x')),
    "a tag that breaks off": ('<tool name="look">{"at": "x', ("look", '{"at": "x')),
    "a tool_call": (
        '<tool_call>{"name": "look", "arguments": {at: x}}</tool_call>',
        ("look", "{at: x}}"),
    ),
    "a fence": ('```json\n{"name": "look", "arguments": {at: x}}\n```', ("look", "{at: x}}")),
    "bare JSON": ('{"name": "look", "arguments": {"at": "x', ("look", '{"at": "x')),
}


@pytest.mark.parametrize(("text", "meant"), MEANT.values(), ids=MEANT.keys())
@SIZES
def test_a_miswritten_call_is_kept_as_it_was_written_so_that_the_model_is_told(text, meant, size):
    holdback = TextCallFilter(NAMES)
    shown = "".join(holdback.feed(text[at : at + size]).text for at in range(0, len(text), size))
    end = holdback.end(native=False)

    assert [(call.name, call.arguments) for call in end.calls] == [meant]
    assert shown + end.text == ""


@SIZES
def test_an_example_counts_only_where_a_call_would_stand(size):
    example = '```json\n{"name": "wait"}\n```'

    assert read(f"So:\n{example}\nIt waits.", size)[3] == []
    assert read(f"So:\n{example}", size)[3] == [("wait", {})]
    assert read(f"{example}\nIt waits.", size)[1:] == ("\nIt waits.", "", [("wait", {})])
    assert read(f"So:\n{example}\nIt waits.", size, anywhere=True)[3] == [("wait", {})]


@SIZES
def test_a_tag_counts_wherever_it_stands_but_in_code(size):
    text = 'First <tool name="wait"></tool> then more.'

    assert read(text, size)[1:] == ("First  then more.", "", [("wait", {})])


@SIZES
def test_results_that_a_model_imagines_are_cut_off(size):
    text = '<tool name="wait"></tool>\n<tool_result name="wait">done</tool_result>\nAll done.'

    assert read(text, size)[1:] == ("", "", [("wait", {})])


@SIZES
def test_thoughts_are_split_from_the_answer(size):
    assert read("<think>\nTwo\nand two.\n</think>\n\nFour.", size)[1:] == (
        "Four.", "Two\nand two.", [],
    )  # fmt: skip
    assert read("<think></think>Four.", size)[1:3] == ("Four.", "")
    assert read("<think>Only thoughts", size)[1:3] == ("", "Only thoughts")
    assert read("The <think> tag.", size)[1:3] == ("The <think> tag.", "")


def test_plain_words_pass_at_once():
    holdback = TextCallFilter(NAMES)

    shown = [holdback.feed(piece).text for piece in ("The ", "answer", " is 4.\n", "Really", "!")]
    assert shown == ["The ", "answer", " is 4.", "\nReally", "!"]


def test_what_may_become_a_call_waits_only_as_long_as_it_may():
    holdback = TextCallFilter(NAMES)

    shown = [holdback.feed(piece).text for piece in ("a <", "to", "ol", "s>", " b")]
    assert shown == ["a ", "", "", "<tools>", " b"]


def test_without_tools_only_thoughts_are_split_off():
    holdback = TextCallFilter({})

    assert holdback.feed("<think>Hm.</think>").thinking == "Hm."
    assert holdback.feed('<tool name="x">{}</tool>\n').text == '<tool name="x">{}</tool>\n'
    assert holdback.end(native=False).calls == []
