"""What is said in the window's tests, and what the scripted model answers to whose first word."""

from long_running_agents.testing import Reply, Rule, Script, ToolCall, say

WORDS = [f"word{number}" for number in range(60)]
ENDLESS = [f"word{number}" for number in range(6000)]
"""Two minutes of words, longer than any test takes: such a turn ends when somebody stops it."""

PARAGRAPH = "Herons **stand** in `shallow` water, and [wait](https://example.org) for a fish. "
MARKDOWN = PARAGRAPH * 8 + "\n\n- one\n- two\n\n```python\n" + "print('heron')\n" * 40 + "```\n\n"
FOUND = (
    "## Found\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n"
    "<b onclick=alert(1)>no</b> **yes**\n\n" + MARKDOWN
)
COUNTED = """In **March** there were the most, 41: more than twice as many as in `February`.

| month | birds | change |
| --- | ---: | ---: |
| January | 12 | |
| February | 19 | 7 more |
| March | 41 | 22 more |
| April | 38 | 3 fewer |

Shall I keep that in a report?"""
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
"""A skill."""


def _calling(tool: str, text: str = "", **args: object) -> Reply:
    return say(text, calls=(ToolCall(tool, args),))


SCRIPT = Script(
    (
        Rule("^look", (_calling("list_files", "Let me look.", path="."), say(FOUND))),
        Rule("^write", (_calling("write_file", path="a.txt", content="x"), say("So be it."))),
        Rule(
            "^plan",
            (
                _calling("create_task", title="Count the herons"),
                _calling("create_task", title="Find", parent_id=1),
                say("So be it."),
            ),
        ),
        Rule("^slow", (say(" ".join(WORDS), chunk_delay=0.02),)),
        Rule("^endless", (say(" ".join(ENDLESS), chunk_delay=0.02),)),
        # More often than fifty times a second, since the way takes its time as well.
        Rule("^stream", (say(MARKDOWN * 2, chunk_delay=0.01),)),
        Rule(
            "^Which month",
            (
                say(
                    "I look at the file first.",
                    calls=(
                        ToolCall("create_task", {"title": "Read the counts"}),
                        ToolCall("read_file", {"path": "birds.csv"}),
                    ),
                ),
                say(COUNTED),
            ),
        ),
        Rule(
            "^Yes",
            (
                _calling("write_file", path="report.md", content="# Birds"),
                say("It is in `report.md`."),
            ),
        ),
        Rule("", (say("I hear you."),)),
    )
)
