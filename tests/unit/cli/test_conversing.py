"""Answers and commands, as they are typed."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from long_running_agents.cli import follow, slash
from long_running_agents.cli.follow import Verdict
from long_running_agents.domain.approval import Approval, ApprovalState, GrantDuration, GrantScope
from long_running_agents.errors import UsageError


def approval(args):
    return Approval(
        id="approval_1",
        session_id="s",
        turn_id="t",
        call_id="c",
        tool="shell",
        args=args,
        question="",
        state=ApprovalState.OPEN,
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        ("y", Verdict(allowed=True)),
        (" YES ", Verdict(allowed=True)),
        ("n", Verdict(allowed=False)),
        ("no", Verdict(allowed=False)),
        ("use the other file", Verdict(allowed=False, reason="use the other file")),
        ("yes, but later", Verdict(allowed=False, reason="yes, but later")),
        ("", None),
        ("  ", None),
    ],
)
def test_an_answer_is_yes_no_or_a_reason(typed, verdict):
    assert follow.verdict(typed) == verdict


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        ("s", Verdict(allowed=True, lasting=GrantDuration.SESSION)),
        ("Session", Verdict(allowed=True, lasting=GrantDuration.SESSION)),
        ("a", Verdict(allowed=True, lasting=GrantDuration.ALWAYS)),
        ("always", Verdict(allowed=True, lasting=GrantDuration.ALWAYS)),
        ("y", Verdict(allowed=True)),
        ("a little later", Verdict(allowed=False, reason="a little later")),
    ],
)
def test_an_answer_can_be_good_for_longer_where_that_is_offered(typed, verdict):
    assert follow.verdict(typed, lasting=True) == verdict


def test_an_answer_that_was_not_offered_is_a_no():
    assert follow.verdict("a") == Verdict(allowed=False, reason="a")


def test_the_question_says_why_it_is_asked_and_what_can_be_granted():
    asked = replace(
        approval('{"command":"git push -f"}'),
        question="git push overwrites what others may have",
        offer=GrantScope(tool="shell", programs=("git push",)),
    )
    assert follow.question(asked).endswith(
        "? [y]es / for this [s]ession / [a]lways / [n]o / reason: "
    )
    assert follow.details(asked).splitlines() == [
        "It asks because git push overwrites what others may have.",
        '"Session" and "always" are for: shell with git push.',
    ]


def test_short_arguments_are_in_the_question():
    short = approval('{"command":"ls"}')
    assert follow.question(short) == 'Allow shell {"command":"ls"}? [y]es / [n]o / reason: '
    assert follow.details(short) == ""


def test_nothing_of_long_arguments_is_left_out():
    command = "x" * 300 + "rm -rf /"
    long = approval(f'{{"command":"{command}"}}')
    assert "arguments above" in follow.question(long)
    assert command in follow.details(long)


def test_arguments_cannot_command_the_terminal():
    assert "\x1b" not in follow.question(approval("\x1b[2J"))
    assert "\x1b" not in follow.details(approval("\x1b[2J" * 100))


def test_code_is_shown_as_code_and_not_as_a_string():
    code = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
    asked = replace(
        approval(json.dumps({"name": "double", "code": code, "examples": [{"args": {}}]})),
        tool="generate_tool",
    )
    assert follow.question(asked).startswith("Allow generate_tool (arguments above)?")
    assert follow.details(asked).splitlines() == [
        "generate_tool wants to run with",
        'name: "double"',
        "code:",
        "    def double(number: int) -> int:",
        '        """Twice as much."""',
        "        return 2 * number",
        'examples: [{"args": {}}]',
    ]


def test_no_line_of_the_code_can_pass_for_another_argument():
    code = "x = 1\nexamples: nothing\rdoc: harmless\x1b[2K\u2028safe: yes\u202e"
    told = follow.details(approval(json.dumps({"code": code, "a\nb": 1}))).splitlines()
    assert told[0] == "shell wants to run with"
    assert told[1] == "code:"
    assert told[2] == "    x = 1"
    assert told[3].startswith("    examples: nothing\N{REPLACEMENT CHARACTER}doc: harmless")
    assert told[3].endswith("[2K\\u2028safe: yes\\u202e")
    assert told[4:] == [r'"a\nb": 1']


def test_what_is_asked_in_whole_sentences_is_left_as_it_is():
    asked = replace(approval("{}"), question="May double (version 1) be used as a tool? Tried.")
    assert follow.details(asked) == "May double (version 1) be used as a tool? Tried."


def test_slash_commands_are_recognised():
    command = slash.parse(" /title  A new name ")
    assert command is not None
    assert command.rest == "A new name"


@pytest.mark.parametrize("text", ["hello", "/etc/hosts is what?", "what is /help"])
def test_ordinary_messages_are_no_commands(text):
    assert slash.parse(text) is None


def test_a_mistyped_command_is_not_sent_to_the_model():
    with pytest.raises(UsageError, match="/help"):
        slash.parse("/helo")


def test_the_promised_commands_are_there():
    promised = (
        "help new sessions tasks model agent memory remember forget pin rules skills deep plan"
        " usage context compact clear tools copy steer stop retry continue title fork export quit"
    )
    assert list(slash.REGISTRY) == promised.split()


def test_a_write_is_shown_as_the_lines_that_it_would_write():
    given = json.dumps({"path": "a.txt", "content": "one\ntwo\n"})
    asked = replace(approval(given), tool="write_file")
    assert follow.details(asked) == 'write_file path: "a.txt"\n    + one\n    + two'
    assert follow.question(asked).startswith("Allow write_file (arguments above)?")


def test_a_long_write_says_how_much_is_not_shown():
    text = "\n".join(f"line {number}" for number in range(100))
    asked = replace(approval(json.dumps({"path": "a", "content": text})), tool="write_file")
    assert "… 40 more lines" in follow.details(asked)
    assert "line 60" not in follow.details(asked)


def test_an_edit_is_shown_as_a_diff():
    given = json.dumps({"path": "a.txt", "old_text": "old", "new_text": "new\nand \x1b[31mred"})
    shown = follow.details(replace(approval(given), tool="edit_file"))
    assert shown.startswith('edit_file path: "a.txt"\n    - old\n    + new\n    + and ')
    assert "\x1b" not in shown
    diff = json.dumps({"path": "a.txt", "diff": "@@ -1 +1 @@\n-old\n+new"})
    shown = follow.details(replace(approval(diff), tool="edit_file"))
    assert shown == 'edit_file path: "a.txt"\n    @@ -1 +1 @@\n    -old\n    +new'
