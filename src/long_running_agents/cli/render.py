"""From what is heard of a turn to what a person sees."""

import io
import json
import re
import sys
from shutil import get_terminal_size
from typing import Protocol

import click

from long_running_agents.cli.output import note, safe, said_by, shown
from long_running_agents.domain import events
from long_running_agents.domain.approval import GrantDuration

_ARGUMENTS = 100
_PIPE_COLUMNS = 140
_LEAST_TEXT = 16
_SKILLS = "lra skills"
_ABOUT = 30
"""Columns that number, source and day of a memory take."""


class Screen(Protocol):
    """Where words and notes appear."""

    async def words(self, text: str) -> None:
        """Add a few words to the answer."""

    async def end_words(self) -> None:
        """Finish the line the words are on."""

    async def note(self, text: str) -> None:
        """Write a line about what happens."""

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""


class Renderer:
    """Shows a session's events and deltas on a screen."""

    def __init__(self, screen: Screen, *, usage: bool = False, skills: str = _SKILLS) -> None:
        """Show on a screen."""
        self._screen = screen
        self._usage = usage
        self._skills = skills
        self._streamed = ""

    async def show(self, heard: events.EventEnvelope | events.DeltaEnvelope) -> None:
        """Show one thing."""
        if isinstance(heard, events.DeltaEnvelope):
            await self._passing(heard.delta)
        elif isinstance(heard.event, events.TextWritten):
            await self._text(heard.event.text)
        elif not isinstance(heard.event, events.MessageAccepted):
            # A message may be accepted while the words of the turn before still come.
            await self._screen.end_words()
            await self._event(heard.event)

    async def _passing(self, delta: events.Delta) -> None:
        match delta:
            case events.WordsArrived():
                self._streamed += delta.text
                await self._screen.words(delta.text)
            case events.StepBegan() | events.FellBehind():
                await self._begin()
            case events.RequestRetried():
                void = "; the words above do not count" if self._streamed else ""
                await self._begin()
                wait = f" in {delta.wait_seconds:.0f} s" if delta.wait_seconds >= 1 else ""
                await self._screen.note(f"asking {delta.model} again{wait}: {delta.reason}{void}")

    async def _begin(self) -> None:
        self._streamed = ""
        await self._screen.end_words()

    async def _text(self, text: str) -> None:
        # The whole text is a fact, the words were only passing: whatever was missed is added.
        if not text.startswith(self._streamed) and text.strip() != self._streamed.strip():
            await self._begin()
        await self._screen.words(text[len(self._streamed) :])
        await self._begin()

    async def _event(self, event: events.Event) -> None:
        match event:
            case events.TurnLimited(text=text):
                await self._screen.alarm(text)
            case events.TurnFailed(message=message, hint=hint):
                await self._screen.alarm(f"error: {message}\n  {hint}".rstrip())
            case events.ToolReturned(outcome="uncertain", result_preview=preview):
                await self._screen.alarm(one_line(preview))
            case events.PromptTruncated():
                await self._screen.alarm(
                    f"{event.model} has read only {event.window:,} of about"
                    f" {event.sent_tokens:,} tokens: it does not know how this began, its"
                    f" instructions included.\n  {event.hint}"
                )
            case events.TurnResumed(asked=False):
                await self._screen.alarm(
                    f"{sign('resumed')} this turn was cut off and goes on by itself"
                    f" (attempt {event.attempt})"
                )
            case events.TurnDone():
                await self._done(event)
            case _:
                if line := _line(event, self._skills):
                    await self._screen.note(line)

    async def _done(self, done: events.TurnDone) -> None:
        if done.not_seen:
            told = ", ".join(done.not_seen)
            await self._screen.alarm(f"Not seen in any tool call of this session: {told}")
        if self._usage:
            await self._screen.note(usage_line(done))


def _line(event: events.Event, skills: str) -> str:
    """An event on one line; empty for one that needs none."""
    match event:
        case events.ToolCalled(tool=tool, input=given):
            line = one_line(f"{sign('call')} {tool} {arguments(given)}", _columns())
        case events.ToolReturned(tool=tool):
            how = f"{event.duration_ms} ms" if event.success else event.outcome
            mark = sign("done" if event.success else "failed")
            line = one_line(f"{mark} {tool} {how}: {event.result_preview}", _columns())
        case events.TasksChanged(summary=summary):
            line = f"  {summary}"
        case events.TurnStopped():
            line = "stopped, history kept"
        case events.MessageSteered(content=text):
            line = f"{sign('done')} given to the running turn: {one_line(text)}"
        case events.TurnResumed():
            line = f"{sign('resumed')} this turn goes on"
        case events.RuleChanged():
            line = rule_line(event, skills)
        case _:
            line = _rare_line(event, skills)
    return line


def _rare_line(event: events.Event, skills: str) -> str:
    match event:
        case events.BudgetTight():
            end = "; the agent is told to finish" if event.wrap_up else ""
            line = f"most of the {event.resource} for this {event.scope} is used{end}"
        case events.SkillChanged():
            line = skill_line(event, skills)
        case events.ApprovalResolved():
            line = _answer_line(event)
        case events.ModelFellBack():
            line = f"{event.answered} answers instead of {event.asked}: {event.reason}"
        case events.ClientCalled(tool=tool):
            line = f"{tool} waits for the program that asked"
        case events.ModelChanged(model=model):
            line = f"model: {model}"
        case events.MemoriesRecalled():
            line = recalled_line(event, _columns())
        case _:
            line = _work_line(event)
    return line


def _work_line(event: events.Event) -> str:
    match event:
        case events.WorkPhaseChanged():
            paused = f", paused ({event.pause}): {event.note}" if event.pause else ""
            return f"work {event.work_id}: {event.phase}{paused}"
        case events.PlanReady(tasks=tasks, forecast=forecast, reason=reason):
            why = f": a change, because {reason}" if reason else ""
            return f"a plan of {len(tasks)} tasks waits for you ({forecast}){why}"
        case events.EvidenceFound(task=task, state=state, proof=proof):
            mark = sign("failed" if state == "refuted" else "done")
            return one_line(f"{mark} #{task} {state}: {proof}", _columns())
        case events.WorkStuck(detail=detail):
            return f"going in circles: {detail}"
        case _:
            return ""


def _answer_line(event: events.ApprovalResolved) -> str:
    if event.allowed:
        return "allowed" if event.lasting == GrantDuration.ONCE else f"allowed ({event.lasting})"
    return f"denied: {event.reason}" if event.reason else "denied"


def _columns() -> int:
    """How long a line may be that does not wrap."""
    return get_terminal_size((_PIPE_COLUMNS, 24)).columns - 1


def recalled_line(event: events.MemoriesRecalled, columns: int) -> str:
    """What came to mind, and who said it when, on a line; a second one if a part is missing."""
    room = max(_LEAST_TEXT, columns // max(1, len(event.memories)) - _ABOUT)
    told = ", ".join(_recalled(memory, room) for memory in event.memories)
    line = one_line(f"recalled {told}", columns)
    return f"{line}\n  only a part was searched: {event.degraded}" if event.degraded else line


def skill_line(event: events.SkillChanged, command: str = _SKILLS) -> str:
    """What has become of a skill, on one line."""
    state = "in use" if event.change == "enabled" else event.change
    line = f"skill {event.name} (version {event.version}) is {state}"
    if event.change == "proposed":
        return f"{line}: {command} approve {event.name}"
    return one_line(f"{line}: {event.note}" if event.note else line, _PIPE_COLUMNS)


def rule_line(event: events.RuleChanged, skills: str = _SKILLS) -> str:
    """What the person has to know of a rule, unless they have just done it themselves."""
    rules = f"{skills.removesuffix('skills')}rules"
    if event.state == "suggested":
        return f"is this a rule? '{rules} accept {event.rule_id}' pins it: {event.text}"
    quoted = event.source == "quotation" and event.state == "active" and not event.enforced
    return f"pinned as rule #{event.rule_id}: {event.text}" if quoted else ""


def _recalled(memory: events.RecalledMemory, longest: int) -> str:
    day = f"{memory.at.astimezone().day} {memory.at.astimezone():%b %Y}"
    # A file or a page is named; who said something in a conversation is enough.
    source = memory.source if ":" in memory.source else said_by(memory.trust)
    return f'#{memory.id} "{one_line(memory.text, longest)}" ({one_line(source, 30)}, {day})'


def usage_line(done: events.TurnDone) -> str:
    """What a turn took, in a few words."""
    tokens = done.usage.input_tokens + done.usage.output_tokens
    cost = "" if done.usage.cost is None else f", ${done.usage.cost:.4f}"
    steps = "1 step" if done.iterations == 1 else f"{done.iterations} steps"
    return f"{steps}, {tokens:,} tokens{cost}"


def arguments(given: object) -> str:
    """A call's arguments as text; nothing for none."""
    return "" if given in ({}, None) else json.dumps(given, ensure_ascii=False)


def one_line(text: str, longest: int = _ARGUMENTS) -> str:
    """Text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


_SIGNS = {"call": ("→", "->"), "done": ("✓", "ok"), "failed": ("✗", "x"), "resumed": ("↻", "*")}


def sign(name: str) -> str:
    """A mark, in ASCII where the terminal knows no more."""
    fancy, simple = _SIGNS[name]
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return fancy if unicode else simple


class PlainScreen:
    """Writes as things come, and never takes anything back."""

    def __init__(self, *, words: bool = True) -> None:
        """Make a screen."""
        self._words = words
        self._in_line = False

    async def words(self, text: str) -> None:
        """Add a few words to the answer."""
        if self._words and text:
            click.echo(shown(text), nl=False)
            sys.stdout.flush()
            self._in_line = not text.endswith("\n")

    async def end_words(self) -> None:
        """Finish the line the words are on."""
        if self._in_line:
            click.echo()
            self._in_line = False

    async def note(self, text: str) -> None:
        """Write a line about what happens."""
        await self.end_words()
        note(text)

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""
        await self.end_words()
        click.echo(click.style(safe(text), fg="yellow"), err=True)


_FENCE = re.compile(r"(`{3,}|~{3,})")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])\s")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*)$", re.MULTILINE)
_DECIDED = 12
"""Characters of a line after which it is clear what kind of line it is."""


def blocks(text: str) -> tuple[list[str], str]:
    """Divide what has arrived of an answer into complete blocks, and the one in the making."""
    finished: list[str] = []
    current, fence, blank = "", "", False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        whole = line.endswith("\n") or len(line) >= _DECIDED
        begins = mark is not None or (
            blank and not line[0].isspace() and not _goes_on(line, current)
        )
        if not fence and current.strip() and begins and whole:
            finished.append(current)
            current = ""
        current += line
        if fence:
            closed = line.strip().startswith(fence) and line.endswith("\n")
            fence = "" if closed else fence
            if closed:
                finished.append(current)
                current = ""
        elif mark is not None:
            fence = mark[1]
        blank = not line.strip()
    return finished, current


def _goes_on(line: str, block: str) -> bool:
    """Whether a line after an empty one is the next item of the same list."""
    return _ITEM.match(line) is not None and _ITEM.match(block) is not None


def rendered(text: str, columns: int, *, colored: bool) -> str:
    """Markdown, safe for a terminal, as a block for one."""
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    if not _FENCE.match(text.lstrip("\n")):
        # Models mean the ends of their lines; and a heading need not be in the middle.
        text = _HEADING.sub(lambda found: f"**{found[1].strip(' *#')}**", text)
        text = re.sub(r"(?<=\S)\n(?=\S)", "  \n", text)
    shown = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
    # Tags are words here: nothing that was said may be missing.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.parsed = parser.parse(text)
    console = Console(
        file=io.StringIO(),
        width=columns,
        force_terminal=colored,
        color_system="auto" if colored else None,
        highlight=False,
        theme=Theme({"markdown.code": "cyan", "markdown.code_block": "default"}),
    )
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n")
