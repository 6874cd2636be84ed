"""What a person sees of a turn."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.utils import get_cwidth
from rich.console import Console

from long_running_agents.cli.live import LeaveError, LiveScreen, flow
from long_running_agents.cli.output import fitted, safe
from long_running_agents.cli.render import Renderer, blocks, rendered
from long_running_agents.domain import events

pytestmark = pytest.mark.anyio


class FakeScreen:
    def __init__(self):
        self.written = ""
        self.in_line = False

    async def words(self, text):
        self.written += text
        self.in_line = bool(self.written) and not self.written.endswith("\n")

    async def end_words(self):
        if self.in_line:
            self.written += "\n"
        self.in_line = False

    async def note(self, text):
        await self.end_words()
        self.written += f"[{text}]\n"

    alarm = note


async def shown(*items):
    screen = FakeScreen()
    renderer = Renderer(screen, usage=True)
    for seq, item in enumerate(items, start=1):
        if isinstance(item, (events.StepBegan, events.WordsArrived, events.RequestRetried)):
            heard = events.DeltaEnvelope(session_id="s", turn_id="t", owner="me", delta=item)
        else:
            heard = events.EventEnvelope(
                seq=seq,
                session_id="s",
                turn_id="t",
                owner="me",
                at=datetime(2026, 1, 1, tzinfo=UTC),
                event=item,
            )
        await renderer.show(heard)
    return screen.written


def words(text):
    return events.WordsArrived(text=text, iteration=1)


async def test_words_are_shown_once():
    text = events.TextWritten(text="Hello there")
    assert await shown(words("Hello "), words("there"), text) == "Hello there\n"


async def test_words_that_were_missed_are_added():
    assert await shown(words("Hello "), events.TextWritten(text="Hello there")) == "Hello there\n"
    assert await shown(events.TextWritten(text="Hello there")) == "Hello there\n"


async def test_words_that_turn_out_different_are_shown_anew():
    text = events.TextWritten(text="Something else")
    assert await shown(words("Hello"), text) == "Hello\nSomething else\n"


async def test_a_retry_voids_the_words():
    retried = events.RequestRetried(model="m", reason="cut", wait_seconds=2, iteration=1)
    written = await shown(words("He"), retried, words("Hello"), events.TextWritten(text="Hello"))
    assert written == "He\n[asking m again in 2 s: cut; the words above do not count]\nHello\n"


async def test_a_message_accepted_in_between_does_not_break_the_line():
    accepted = events.MessageAccepted(content="next", origin="user")
    assert await shown(words("one "), accepted, words("two")) == "one two"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            events.ToolCalled(tool="t", input={"a": 1}, tool_call_id="c", effect="once"),
            '→ t {"a": 1}',
        ),
        (events.TurnResumed(attempt=2), "goes on by itself (attempt 2)"),
        (events.TurnResumed(attempt=1, asked=True), "[↻ this turn goes on]"),
        (events.TurnStopped(text=""), "stopped, history kept"),
        (events.TurnFailed(code="c", message="No model.", hint="Set one."), "Set one."),
        (events.TurnLimited(limit="steps", text="I had to stop"), "I had to stop"),
        (events.ModelFellBack(asked="a", answered="b", reason="r"), "b answers instead of a: r"),
        (
            events.PromptTruncated(model="m", sent_tokens=9000, window=4096, hint="Give it more."),
            "m has read only 4,096 of about 9,000 tokens: it does not know how this began",
        ),
        (events.ModelChanged(model="m"), "model: m"),
        (
            events.SkillChanged(name="double", version=1, change="proposed"),
            "skill double (version 1) is proposed: lra skills approve double",
        ),
        (
            events.SkillChanged(name="double", version=2, change="enabled"),
            "skill double (version 2) is in use",
        ),
        (
            events.SkillChanged(
                name="double", version=2, change="disabled", note="it failed\ntwice"
            ),
            "skill double (version 2) is disabled: it failed twice",
        ),
        (
            events.ApprovalResolved(approval_id="a", tool_call_id="c", allowed=False, reason="r"),
            "denied: r",
        ),
        (
            events.ApprovalResolved(approval_id="a", tool_call_id="c", allowed=True),
            "allowed",
        ),
        (events.TasksChanged(tasks=[], summary="1 of 2"), "1 of 2"),
        (
            events.ToolReturned(
                tool="t",
                tool_call_id="c",
                result_preview="UNCERTAIN: t was cut off",
                duration_ms=1,
                success=False,
                outcome="uncertain",
            ),
            "UNCERTAIN",
        ),
        (
            events.ToolReturned(
                tool="t",
                tool_call_id="c",
                result_preview="no\nway",
                duration_ms=1,
                success=False,
                outcome="denied",
            ),
            "✗ t denied: no way",
        ),
    ],
)
async def test_each_event_has_its_line(event, line):
    assert line in await shown(event)


def recalled(number, text="My dog is called Rex", **about):
    fields = {"kind": "fact", "trust": "user", "source": "user", **about}
    return events.RecalledMemory(
        id=number, at=datetime(2025, 5, 3, 12, tzinfo=UTC), text=text, **fields
    )


async def test_what_came_to_mind_is_one_line_with_its_sources(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    page = recalled(31, "Dogs dislike\nthunder", trust="web", source="web:dogs.example")
    line = '[recalled #12 "My dog is called Rex" (you, 3 May 2025), '
    line += '#31 "Dogs dislike thunder" (web:dogs.example, 3 May 2025)]\n'
    assert await shown(events.MemoriesRecalled(memories=[recalled(12), page])) == line


async def test_many_memories_stay_on_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    several = [recalled(number, "x" * 200) for number in range(5)]
    written = await shown(events.MemoriesRecalled(memories=several))
    assert written.count("\n") == 1
    assert len(written) <= 83


async def test_a_search_that_saw_only_a_part_says_so():
    event = events.MemoriesRecalled(memories=[recalled(12)], degraded="there is no embedder")
    assert "\n  only a part was searched: there is no embedder]" in await shown(event)


async def test_the_end_shows_what_it_took():
    usage = events.UsageTotals(input_tokens=1000, output_tokens=234, cost=0.5)
    done = events.TurnDone(text="x", iterations=2, model="m", usage=usage, mode="bounded")
    assert await shown(done) == "[2 steps, 1,234 tokens, $0.5000]\n"


async def test_the_end_shows_what_no_call_has_seen():
    usage = events.UsageTotals(input_tokens=1, output_tokens=1, cost=None)
    done = events.TurnDone(
        text="x", iterations=1, model="m", usage=usage, mode="bounded", not_seen=["a.md", "b"]
    )
    assert "Not seen in any tool call of this session: a.md, b" in await shown(done)


def test_foreign_text_cannot_command_the_terminal():
    assert "\x1b" not in safe("\x1b[31mred\x1b]0;title\x07\r\n\x9b0m\ttab")
    assert safe("a\r\nb\tc") == "a\nb\tc"


def printed(titles, rows, columns):
    console = Console(width=columns, file=io.StringIO(), color_system=None)
    console.print(fitted(titles, rows, columns))
    return console.file.getvalue().splitlines()


def test_a_narrow_table_keeps_ids_whole_and_shortens_texts():
    titles, text = ["id", "kind", "day", "text", "why"], "word " * 50
    rows = [["#12345", "conversation", "2026-05-03", text, "words 1.00, meaning 0.50 " * 4]]
    head, row = printed(titles, rows, 80)
    assert row.startswith("#12345  conversation  2026-05-03  word word")
    assert "…" in row
    assert len(row) <= 80
    assert head.split() == titles


def test_a_table_that_fits_is_no_wider_than_its_words():
    assert printed(["id", "text"], [["#1", "a\x1b[2J\nb"]], 80)[1].rstrip() == "#1  a\ufffd[2J b"


def test_lines_break_between_words():
    assert flow("one two three", 9) == ["one two", "three"]
    assert flow("one\n\ntwo", 80) == ["one", "", "two"]
    assert flow("abcdefghij", 5) == ["abcd", "efgh", "ij"]


@given(st.text(alphabet="ab 漢é\n", max_size=60), st.integers(3, 20))
def test_lines_fit_and_lose_no_letter(text, columns):
    lines = flow(text, columns)
    assert all(get_cwidth(line) < columns for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
async def test_leaving_before_the_prompt_is_up_is_not_forgotten(monkeypatch, terminal):
    monkeypatch.setenv("TERM", terminal)
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        screen = LiveScreen(history=None, interrupt=lambda: None, colored=False)
        screen.leave(75)
        with pytest.raises(LeaveError):
            await screen.read()


PARTS = ["One.\n\n", "Two\nlines.\n\n", "- a\n\n- b\n\n", "```\nx\n\ny\n```\n", "After it, more."]


def test_blocks_are_complete_when_the_next_one_begins():
    assert blocks("".join(PARTS)) == (PARTS[:-1], PARTS[-1])
    assert blocks("```\nx\n\ny\n") == ([], "```\nx\n\ny\n")


@given(st.text(alphabet="a1.-# `\n", max_size=60))
def test_blocks_lose_nothing_however_they_arrive(text):
    finished, rest = [], ""
    for character in text:
        found, rest = blocks(rest + character)
        finished += found
    assert "".join([*finished, rest]) == text


def test_nothing_that_was_said_is_missing_from_what_is_rendered():
    shown = rendered("# Use <b> here\nand there\n\n`<i>` [x](http://a.b)", 80, colored=False)
    assert shown == "Use <b> here\nand there\n\n<i> x (http://a.b)"


@pytest.mark.parametrize("columns", [80, 120])
def test_rendered_lines_fit(columns):
    text = "word " * 60 + "\n\n> " + "quoted " * 40 + "\n\n" + "- item " * 30
    assert all(len(line) <= columns for line in rendered(text, columns, colored=False).split("\n"))
