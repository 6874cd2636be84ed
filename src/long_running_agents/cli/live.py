"""A screen with a prompt at its foot that is always there: words scroll by above it."""

import asyncio
import base64
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import get_terminal_size

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.utils import get_cwidth

from long_running_agents.cli import render
from long_running_agents.cli.output import dim, safe

PROMPT = "> "
_TAIL = 10
"""Lines of the block in the making that are shown."""


class LeaveError(Exception):
    """The person leaves."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class LiveScreen:
    """Blocks that are complete scroll away; the one in the making stays just above the prompt."""

    def __init__(
        self,
        *,
        history: Path | None,
        interrupt: Callable[[], None],
        colored: bool,
        commands: Sequence[str] = (),
    ) -> None:
        """Make a screen."""
        self._growing = ""
        self._leaving: LeaveError | None = None
        self._reading: asyncio.Task[str] | None = None
        self._parted = False
        """Whether an empty line parts the next block from the one before."""
        self._turn_to_write = asyncio.Lock()
        self.status = ""
        """What the agent does right now."""
        self.question = ""
        """What the person is asked instead of the usual prompt."""
        self.steer = False
        """Whether what was read last is for the turn that runs."""
        self._colored = colored
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            history=InMemoryHistory() if history is None else FileHistory(str(history)),
            key_bindings=_keys(interrupt, self._steer),
            prompt_continuation="  ",
            completer=WordCompleter(list(commands), sentence=True),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            color_depth=None if colored else ColorDepth.DEPTH_1_BIT,
        )

    async def read(self, draft: str = "") -> str:
        """Wait for what the person types next.

        Raises:
            EOFError: Ctrl-D.
            LeaveError: Someone called `leave`.
        """
        self.steer = False
        # SIGINT itself is for whoever owns the screen; the key arrives through the bindings.
        self._reading = asyncio.create_task(
            self._session.prompt_async(default=draft, handle_sigint=False)
        )
        self._end_reading()
        try:
            return await self._reading
        except asyncio.CancelledError:
            if self._leaving is not None:
                raise self._leaving from None
            raise

    @property
    def typed(self) -> str:
        """What has been typed and not yet sent."""
        return self._session.default_buffer.text

    def take_typed(self) -> str:
        """Clear the prompt and return what was there."""
        text = self.typed
        self._session.default_buffer.reset()
        return text

    def leave(self, exit_code: int) -> None:
        """End the reading, also one that has yet to begin."""
        self._leaving = LeaveError(exit_code)
        self._end_reading()

    def _end_reading(self) -> None:
        # Not by the application's own exit: in a dumb terminal it is another application.
        if self._leaving is not None and self._reading is not None:
            self._reading.cancel()

    def _steer(self) -> None:
        self.steer = True
        self._session.default_buffer.validate_and_handle()

    def refresh(self) -> None:
        """Draw the prompt anew."""
        self._session.app.invalidate()

    async def words(self, text: str) -> None:
        """Add a few words to the answer."""
        async with self._turn_to_write:
            finished, rest = render.blocks(self._growing + safe(text))
            if finished:
                await self._print("".join(map(self._block, finished)), rest)
            else:
                self._growing = rest
                self.refresh()

    async def end_words(self) -> None:
        """Finish the block the words are in."""
        async with self._turn_to_write:
            if self._growing:
                await self._print(self._block(self._growing), "")
            self._parted = False

    def _block(self, text: str) -> str:
        if not text.strip():
            return ""
        columns = get_terminal_size().columns
        parting, self._parted = "\n" if self._parted else "", True
        return f"{parting}{render.rendered(text, columns, colored=self._colored)}\n"

    async def note(self, text: str) -> None:
        """Write a line about what happens."""
        await self.end_words()
        await self.aside(text)

    async def aside(self, text: str) -> None:
        """Write a note that has nothing to do with the words in the making; they go on."""
        async with self._turn_to_write:
            line = _wrapped(safe(text))
            await self._print(f"{dim(line) if self._colored else line}\n", self._growing)

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""
        await self.end_words()
        async with self._turn_to_write:
            line = _wrapped(safe(text))
            line = click.style(line, fg="yellow") if self._colored else line
            await self._print(f"{line}\n", self._growing)

    async def copy(self, text: str) -> None:
        """Have the terminal put text on the clipboard (OSC 52)."""
        coded = base64.b64encode(text.encode()).decode()
        async with self._turn_to_write:
            await self._print(f"\x1b]52;c;{coded}\x07", self._growing)

    async def _print(self, text: str, rest: str) -> None:
        def write() -> None:
            # Together, so that no word is ever seen twice or not at all.
            self._growing = rest
            sys.stdout.write(text)
            sys.stdout.flush()

        await run_in_terminal(write)

    def _message(self) -> StyleAndTextTuples:
        # What stays on the screen after Enter is the person's own line alone.
        parts: StyleAndTextTuples = []
        if not self._session.app.is_done:
            if self._growing.strip():
                tail = _wrapped(self._growing.strip("\n")).split("\n")[-_TAIL:]
                parts.append(("", "\n".join(tail) + "\n"))
            if self.status and not self.question:
                parts.append(("fg:ansibrightblack", f"{self.status}\n"))
        parts.append(("bold", _wrapped(self.question) or PROMPT))
        return parts


def _wrapped(text: str) -> str:
    """Text in lines that fit into the terminal."""
    return "\n".join(flow(text, get_terminal_size().columns))


def flow(text: str, columns: int) -> list[str]:
    """Break text into lines that fit."""
    return [piece for line in text.split("\n") for piece in _broken(line, columns)]


def _broken(line: str, columns: int) -> list[str]:
    """Break a line between words, or within one that is too long."""
    pieces: list[str] = []
    while get_cwidth(line) >= columns:
        end = _fitting(line, columns - 1)
        space = line.rfind(" ", 0, end + 1)
        cut = space if space > 0 and line[:space].strip() else end
        pieces.append(line[:cut])
        line = line[cut:].lstrip(" ") if cut == space else line[cut:]
    return [*pieces, line]


def _fitting(line: str, columns: int) -> int:
    """How many characters fit into that many columns; at least one."""
    width = 0
    for place, character in enumerate(line):
        width += get_cwidth(character)
        if width > columns:
            return max(place, 1)
    return len(line)


def _keys(interrupt: Callable[[], None], steer: Callable[[], None]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    @keys.add("c-c")
    def stop(_: KeyPressEvent) -> None:
        interrupt()

    @keys.add("c-g")
    def steer_turn(_: KeyPressEvent) -> None:
        steer()

    del send, new_line, stop, steer_turn
    return keys
