import subprocess
import sys

import pytest

from long_running_agents.testing import (
    CutStream,
    Hang,
    MalformedJson,
    Reply,
    Rule,
    Script,
    Status,
    ToolCall,
    call,
    calls,
    cut,
    fail,
    garbage,
    hang,
    say,
)
from long_running_agents.testing.script import ServedFailures


def user(text):
    return {"role": "user", "content": text}


ASSISTANT = {"role": "assistant", "content": "…"}
TOOL = {"role": "tool", "content": "…", "tool_call_id": "1"}


def test_the_first_rule_that_matches_the_last_user_message_is_used():
    script = Script((Rule("weather", (say("Rain."),)), Rule("", (say("Yes?"),))))

    assert script.reply_for([user("the weather"), ASSISTANT, user("hello")]).text == "Yes?"
    assert script.reply_for([user("hello"), ASSISTANT, user("the weather")]).text == "Rain."


def test_each_assistant_message_after_the_last_user_message_is_one_step():
    script = Script((Rule("go", (call("a"), call("b"), say("done"))),))
    history = [user("go"), ASSISTANT, user("go")]

    assert script.reply_for(history) == call("a")
    assert script.reply_for([*history, ASSISTANT, TOOL]) == call("b")
    assert script.reply_for([*history, ASSISTANT, TOOL, ASSISTANT, TOOL]) == say("done")


def test_what_the_program_says_in_between_is_no_message():
    script = Script((Rule("^go", (call("a"), say("done"))),))
    between = user("<system>Task #1 is open.</system>")

    assert script.reply_for([between, user("go"), ASSISTANT, TOOL, between]) == say("done")


def test_the_same_history_gets_the_same_reply_again():
    script = Script((Rule("go", (call("a"), say("done"))),))
    history = [user("go"), ASSISTANT, TOOL]

    assert script.reply_for(history) == script.reply_for(history) == say("done")


def test_after_its_end_a_rule_repeats_its_last_reply():
    script = Script((Rule("go", (call("a"), say("done"))),))

    assert script.reply_for([user("go"), *[ASSISTANT] * 7]) == say("done")


def test_a_message_without_a_rule_is_told_so():
    assert Script(()).reply_for([user("hello")]) == say("I have no script for this.")


def test_content_in_parts_is_searched_too():
    script = Script((Rule("second", (say("found"),)),))
    parts = [
        {"type": "text", "text": "first"},
        {"type": "image_url"},
        {"type": "text", "text": "second"},
    ]

    assert script.reply_for([user(parts)]).text == "found"


def test_a_failure_ends_after_its_times_and_is_no_step():
    script = Script((Rule("go", (fail(503, times=2), call("a"), garbage(), say("done"))),))
    served = ServedFailures()
    first, second = [user("go")], [user("go"), ASSISTANT, TOOL]

    assert [script.reply_for(first, served).failure for _ in range(3)] == [
        Status(503),
        Status(503),
        None,
    ]
    assert script.reply_for(first, served) == call("a")
    assert [script.reply_for(second, served) for _ in range(3)] == [
        garbage(),
        say("done"),
        say("done"),
    ]


def test_failures_are_counted_for_each_user_message_apart():
    script = Script((Rule("go", (fail(500), say("done"))),))
    served = ServedFailures()

    assert script.reply_for([user("go 1")], served).failure == Status(500)
    assert script.reply_for([user("go 2")], served).failure == Status(500)
    assert script.reply_for([user("go 1")], served) == say("done")


@pytest.mark.parametrize("replies", [(fail(500, times=None), say("never")), (fail(500),)])
def test_a_failure_can_last_for_ever(replies):
    script, served = Script((Rule("go", replies),)), ServedFailures()

    assert {script.reply_for([user("go")], served).failure for _ in range(9)} == {Status(500)}


def test_without_a_count_every_failure_is_the_first():
    script = Script((Rule("go", (fail(500), say("done"))),))

    assert script.reply_for([user("go")]) == script.reply_for([user("go")]) == fail(500)


def test_the_helpers_build_replies():
    assert say("Hi", thinking="Hm", delay=2.0) == Reply(text="Hi", thinking="Hm", delay=2.0)
    assert call("shell", tool="x") == Reply(calls=(ToolCall("shell", {"tool": "x"}),))
    assert calls(call("a", n=1), ToolCall("b", id="7")).calls == (
        ToolCall("a", {"n": 1}),
        ToolCall("b", id="7"),
    )
    assert fail(429, 3.5, "slow down").failure == Status(429, "slow down", 3.5)
    assert cut(2, "one two three") == Reply(text="one two three", failure=CutStream(2))
    assert garbage().failure == MalformedJson()
    assert hang(times=None) == Reply(failure=Hang(), times=None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (calls, "no call"),
        (lambda: calls(say("x")), "cannot join"),
        (lambda: calls(Reply(calls=(ToolCall("a"),), failure=Hang())), "cannot join"),
        (lambda: fail(200), "400 to 599"),
        (lambda: cut(-1), "0 or more"),
        (lambda: say("x", chunks=0), "1 or more"),
        (lambda: say("x", delay=-1), "0 or more"),
        (lambda: fail(500, times=0), "1 or more"),
        (lambda: Rule("(", (say("x"),)), "not a regular expression"),
        (lambda: Rule("x", ()), "no replies"),
    ],
)
def test_nonsense_is_refused_with_a_reason(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("text", ["", "one", " two  words\n\n", "ein Wörtchen mit Ümlauten"])
@pytest.mark.parametrize("chunks", [None, 1, 3, 1000])
def test_chunks_lose_no_character(text, chunks):
    pieces = Reply(text=text, chunks=chunks).text_chunks()

    assert "".join(pieces) == text
    assert all(pieces)
    if chunks is not None:
        assert len(pieces) == min(chunks, len(text))


def test_by_default_there_is_one_chunk_per_word():
    assert say("one two  three").text_chunks() == ["one ", "two  ", "three"]


def test_a_script_survives_json():
    script = Script(
        (
            Rule(
                "a|b",
                (
                    say("Grüße", thinking="Hm", delay=0.5, chunk_delay=0.1, chunks=2),
                    fail(429, 1.5, "later"),
                ),
            ),
            Rule(
                "",
                (
                    calls(ToolCall("x", {"deep": [1, {"a": None}]}, "id-1"), ToolCall("y")),
                    cut(3, times=None),
                    garbage(times=4),
                    hang(),
                    say("x", input_tokens=7, output_tokens=9),
                ),
            ),
        )
    )

    assert Script.from_json(script.to_json()) == script


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Invalid JSON"),
        ("[]", "The script is"),
        ("{}", r"The script\.rules .*required"),
        ('{"rules": {}}', r"The script\.rules is .*valid array"),
        ('{"rules": [{"replies": [{}]}]}', r"rules\[0\]\.when .*required"),
        ('{"rules": [{"when": "x"}]}', r"rules\[0\]\.replies .*required"),
        ('{"rules": [{"when": "x", "replies": []}]}', r"rules\[0\] .*no replies"),
        (
            '{"rules": [{"when": "x", "replies": [{"txt": "y"}]}]}',
            r"rules\[0\]\.replies\[0\]\.txt is",
        ),
        ('{"rules": [{"when": "x", "replies": [{"chunks": true}]}]}', "valid integer"),
        (
            '{"rules": [{"when": "x", "replies": [{"calls": [{"args": {}}]}]}]}',
            r"calls\[0\]\.tool .*required",
        ),
        (
            '{"rules": [{"when": "x", "replies": [{"failure": {"kind": "boom"}}]}]}',
            "expected tags: 'status', 'cut_stream'",
        ),
        (
            '{"rules": [{"when": "x", "replies": [{"failure": {"kind": "status"}}]}]}',
            r"failure\.status\.code .*required",
        ),
    ],
)
def test_a_broken_script_is_refused_with_the_place(text, message):
    with pytest.raises(ValueError, match=message):
        Script.from_json(text)


def test_the_testing_package_loads_nothing_heavy():
    code = (
        "import sys, long_running_agents.testing as t; t.FrozenClock(); t.say('x'); t.Quirk; "
        "t.ScriptedServer; heavy = {'pydantic_ai', 'starlette', 'uvicorn'} & set(sys.modules); "
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    import long_running_agents.testing as package  # noqa: PLC0415

    assert all(getattr(package, name) is not None for name in package.__all__)
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense
