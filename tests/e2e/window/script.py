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


def _tasks(*given: dict[str, object], text: str = "") -> Reply:
    """A reply that adds tasks to a plan."""
    calls = (ToolCall("manage_tasks", {"action": "create", **each}) for each in given)
    return say(text, calls=tuple(calls))


def _complete(task: int, result: str) -> Reply:
    return _calling("manage_tasks", action="complete", task_id=task, result=result)


_OWN = r"^\[From the work[^\n]*"
"""How the turns begin that a work has by itself; what is recalled comes later."""
_REPORT = {"kind": "file", "path": "herons.md", "contains": "grey"}
_COUNTS = {"kind": "file", "path": "birds.csv", "contains": "heron"}
_WORKS = (
    Rule(
        "^Report on",
        (
            _tasks({"title": "The report", "description": "What is known of herons."}),
            _tasks(
                {
                    "title": "Write it down",
                    "parent_id": 1,
                    "criterion": _REPORT,
                    "paths": ["herons.md"],
                    "estimate": 3,
                },
            ),
            _tasks(
                {
                    "title": "Read it over",
                    "parent_id": 1,
                    "criterion": {"kind": "human", "text": "it reads well"},
                    "depends_on": [2],
                    "paths": ["herons.md"],
                },
            ),
            say("I write the report, and then you read it over."),
        ),
    ),
    Rule(
        "^Only the grey",
        (
            _calling("manage_tasks", action="update", task_id=2, title="Write about the grey one"),
            say("Then only the grey one."),
        ),
    ),
    Rule(
        f"{_OWN}Next is task #2: Write",
        (
            _complete(2, "A heron is in herons.md."),
            _calling("edit_file", path="herons.md", old_text="white", new_text="grey"),
            _calling("manage_tasks", action="note", task_id=2, note="The white one was an egret."),
            _calling("edit_file", path="birds.csv", old_text="3", new_text="4"),
            _complete(2, "A grey heron is in herons.md."),
            say("It is written."),
        ),
    ),
    Rule(
        f"{_OWN}Next is task #3: Read",
        (_complete(3, "It is ready to be read."), say("Please read it.")),
    ),
    Rule("^Count with", (_tasks({"title": "Count", "criterion": _COUNTS}), say("I count them."))),
    Rule(
        f"{_OWN}Next is task #1: Count them twice", (_complete(1, "Counted twice."), say("Twice."))
    ),
    Rule(
        f"{_OWN}Next is task #1: Count",
        (
            _calling(
                "propose_change",
                reason="They fly around.",
                patch=[{"op": "change", "task": 1, "title": "Count them twice"}],
            ),
            say("They fly around, so I would count twice."),
        ),
    ),
    Rule("^Wait for", (_tasks({"title": "Wait", "criterion": _COUNTS}), say("I wait."))),
    Rule(f"{_OWN}Next is task #1: Wait", (say(" ".join(ENDLESS), chunk_delay=0.02),)),
    Rule("^Draw", (say("Which heron shall I draw?"),)),
    Rule("^The grey one", (_tasks({"title": "Draw it", "criterion": _COUNTS}), say("I draw it."))),
    Rule(f"{_OWN}Every task is proven", (say("All of it is there."),)),
)
"""Works: to each message its plan, and to each task what is done for it.

They have a file herons.md with a white heron, and one of them in birds.csv.
"""

_AGENTS = (
    Rule("^A poem", (say("Herons stand in the *rain*."),)),
    Rule(
        "^Ask the coder",
        (
            _calling("delegate", agent="coder", task="Put a heron into heron.txt."),
            say("The coder has done it."),
        ),
    ),
    Rule(
        "^Put a heron",
        (_calling("write_file", path="heron.txt", content="grey"), say("It is in heron.txt.")),
    ),
    Rule(
        "^Ask the reviewer",
        (
            _calling("delegate", agent="reviewer", task="Read report.txt and run the tests."),
            say("I would not rely on that."),
        ),
    ),
    Rule("^Read report", (say("I read it, and all is well."),)),
    Rule("^Find herons", (say("There are two grey ones."),)),
    Rule("^Check", (_calling("list_files", path="."), say("So it is."))),
)
"""Agents: what those say that are asked, and what they do who work for them."""
RELAY = {
    "name": "relay",
    "description": "Finds things out and has them checked.",
    "instructions": "Unused: a chain asks no model of its own.",
    "chain": {
        "strategy": "sequential",
        "links": [
            {"agent": "researcher", "input": "Find {{input}}"},
            {"agent": "reviewer", "input": "Check this: {{1.output}}"},
            {"agent": "coder", "when": {"field": "2.output", "contains": "wrong"}},
        ],
    },
}
"""An agent that is a chain."""

COUNT = {"name": "Count the herons", "schedule": "daily 02:30", "prompt": "How many herons?"}
"""A job."""
FEED = {
    "name": "Feed the herons",
    "schedule": "daily 08:00",
    "prompt": "Say whom to feed.",
    "zone": "Europe/Berlin",
}
"""A job that the agent proposes."""

SCRIPT = Script(
    (
        *_WORKS,
        *_AGENTS,
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
        Rule("^Every morning", (_calling("propose_job", **FEED), say("I have proposed it."))),
        Rule("^pretend", (say("I wrote `report.md`, and all 12 tests pass."),)),
        Rule("", (say("I hear you."),)),
    )
)
