"""From what is heard of a turn to what a person sees."""

import json
import sys
from shutil import get_terminal_size
from typing import Protocol

from long_running_agents.cli.memories import said_by
from long_running_agents.domain.events import (
    ApprovalResolved,
    ClientCalled,
    Delta,
    Event,
    FellBehind,
    MemoriesRecalled,
    MessageAccepted,
    ModelChanged,
    ModelFellBack,
    Passing,
    PromptTruncated,
    RecalledMemory,
    Recorded,
    RequestRetried,
    SkillChanged,
    StepBegan,
    TasksChanged,
    TextWritten,
    ToolCalled,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnResumed,
    TurnStopped,
    WordsArrived,
)
from long_running_agents.domain.grant import Lasting

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
        ...

    async def end_words(self) -> None:
        """Finish the line the words are on."""
        ...

    async def note(self, text: str) -> None:
        """Write a line about what happens."""
        ...

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""
        ...


class Renderer:
    """Shows a session's events and deltas on a screen."""

    def __init__(self, screen: Screen, *, usage: bool = False, skills: str = _SKILLS) -> None:
        """Show on a screen.

        Args:
            screen: The screen.
            usage: Whether to say what a turn took.
            skills: The command by which a person decides about skills.
        """
        self._screen = screen
        self._usage = usage
        self._skills = skills
        self._streamed = ""

    async def show(self, heard: Recorded | Passing) -> None:
        """Show one thing."""
        if isinstance(heard, Passing):
            await self._passing(heard.delta)
        elif isinstance(heard.event, TextWritten):
            await self._text(heard.event.text)
        elif not isinstance(heard.event, MessageAccepted):
            # A message may be accepted while the words of the turn before still come.
            await self._screen.end_words()
            await self._event(heard.event)

    async def _passing(self, delta: Delta) -> None:
        match delta:
            case WordsArrived():
                self._streamed += delta.text
                await self._screen.words(delta.text)
            case StepBegan() | FellBehind():
                await self._begin()
            case RequestRetried():
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

    async def _event(self, event: Event) -> None:
        match event:
            case TurnLimited(text=text):
                await self._screen.alarm(text)
            case TurnFailed(message=message, hint=hint):
                await self._screen.alarm(f"error: {message}\n  {hint}".rstrip())
            case ToolReturned(outcome="uncertain", result_preview=preview):
                await self._screen.alarm(one_line(preview))
            case PromptTruncated():
                await self._screen.alarm(
                    f"{event.model} has read only {event.window:,} of about"
                    f" {event.sent_tokens:,} tokens: it does not know how this began, its"
                    f" instructions included.\n  {event.hint}"
                )
            case TurnResumed(asked=False):
                await self._screen.alarm(
                    f"{sign('resumed')} this turn was cut off and goes on by itself"
                    f" (attempt {event.attempt})"
                )
            case TurnDone() if self._usage:
                await self._screen.note(usage_line(event))
            case _:
                if line := self._line(event):
                    await self._screen.note(line)

    def _line(self, event: Event) -> str:
        return skill_line(event, self._skills) if isinstance(event, SkillChanged) else _line(event)


def _line(event: Event) -> str:
    """An event on one line; empty for one that needs none."""
    match event:
        case ToolCalled(tool=tool, input=given):
            line = _fitted(f"{sign('call')} {tool} {arguments(given)}")
        case ToolReturned(tool=tool):
            how = f"{event.duration_ms} ms" if event.success else event.outcome
            mark = sign("done" if event.success else "failed")
            line = _fitted(f"{mark} {tool} {how}: {event.result_preview}")
        case TasksChanged(summary=summary):
            line = f"  {summary}"
        case TurnStopped():
            line = "stopped, history kept"
        case TurnResumed():
            line = f"{sign('resumed')} this turn goes on"
        case _:
            line = _rare_line(event)
    return line


def _rare_line(event: Event) -> str:
    match event:
        case ApprovalResolved(allowed=True, lasting=lasting):
            line = "allowed" if lasting == Lasting.ONCE else f"allowed ({lasting})"
        case ApprovalResolved(reason=reason):
            line = f"denied: {reason}" if reason else "denied"
        case ModelFellBack():
            line = f"{event.answered} answers instead of {event.asked}: {event.reason}"
        case ClientCalled(tool=tool):
            line = f"{tool} waits for the program that asked"
        case ModelChanged(model=model):
            line = f"model: {model}"
        case MemoriesRecalled():
            line = recalled_line(event, get_terminal_size((_PIPE_COLUMNS, 24)).columns - 1)
        case _:
            line = ""
    return line


def _fitted(line: str) -> str:
    """A line that does not wrap."""
    return one_line(line, get_terminal_size((_PIPE_COLUMNS, 24)).columns - 1)


def recalled_line(event: MemoriesRecalled, columns: int) -> str:
    """What came to mind, with who said it and when, on a line; a second one if a part is missing.

    Args:
        event: What came to mind.
        columns: How wide the line may be.
    """
    room = max(_LEAST_TEXT, columns // max(1, len(event.memories)) - _ABOUT)
    told = ", ".join(_recalled(memory, room) for memory in event.memories)
    line = one_line(f"recalled {told}", columns)
    return f"{line}\n  only a part was searched: {event.degraded}" if event.degraded else line


def skill_line(event: SkillChanged, command: str = _SKILLS) -> str:
    """What has become of a skill, on one line.

    Args:
        event: What has.
        command: By which a person decides about skills.
    """
    what = f"skill {event.name} (version {event.version})"
    match event.change:
        case "proposed":
            return f"{what} is proposed: {command} approve {event.name}"
        case "enabled":
            line = f"{what} is in use"
        case "disabled":
            line = f"{what} is disabled"
        case _:
            line = f"{what} is {event.change}"
    return one_line(f"{line}: {event.note}" if event.note else line, _PIPE_COLUMNS)


def _recalled(memory: RecalledMemory, longest: int) -> str:
    day = f"{memory.at.astimezone().day} {memory.at.astimezone():%b %Y}"
    # A file or a page is named; who said something in a conversation is enough.
    source = memory.source if ":" in memory.source else said_by(memory.trust)
    return f'#{memory.id} "{one_line(memory.text, longest)}" ({one_line(source, 30)}, {day})'


def usage_line(done: TurnDone) -> str:
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


_SIGNS = {
    "call": ("→", "->"),
    "done": ("✓", "ok"),
    "failed": ("✗", "x"),
    "resumed": ("↻", "*"),
}


def sign(name: str) -> str:
    """A mark, in ASCII where the terminal knows no more."""
    fancy, simple = _SIGNS[name]
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return fancy if unicode else simple
