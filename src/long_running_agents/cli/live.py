"""A screen with a prompt at its foot that is always there: words scroll by above it."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import get_terminal_size

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.utils import get_cwidth

from long_running_agents.cli.output import dim, safe

PROMPT = "> "


class LeaveError(Exception):
    """The person leaves."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class LiveScreen:
    """Lines that are complete scroll away; the line in the making stays just above the prompt."""

    def __init__(
        self, *, history: Path | None, interrupt: Callable[[], None], colored: bool
    ) -> None:
        """Make a screen.

        Args:
            history: The file that keeps what was typed.
            interrupt: Called for Ctrl-C.
            colored: Whether to use colours.
        """
        self._growing = ""
        self._turn_to_write = asyncio.Lock()
        self.status = ""
        """What the agent does right now."""
        self.question = ""
        """What the person is asked instead of the usual prompt."""
        self._colored = colored
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            history=InMemoryHistory() if history is None else FileHistory(str(history)),
            key_bindings=_keys(interrupt),
            prompt_continuation="  ",
            color_depth=None if colored else ColorDepth.DEPTH_1_BIT,
        )

    async def read(self, draft: str = "") -> str:
        """Wait for what the person types next.

        Raises:
            EOFError: Ctrl-D.
            LeaveError: Someone called `leave`.
        """
        # SIGINT itself is for whoever owns the screen; the key arrives through the bindings.
        return await self._session.prompt_async(default=draft, handle_sigint=False)

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
        """End the reading."""
        if self._session.app.is_running:
            self._session.app.exit(exception=LeaveError(exit_code))

    def refresh(self) -> None:
        """Draw the prompt anew."""
        self._session.app.invalidate()

    async def words(self, text: str) -> None:
        """Add a few words to the answer."""
        async with self._turn_to_write:
            lines, rest = flow(self._growing + safe(text), get_terminal_size().columns)
            if lines:
                await self._print("".join(f"{line}\n" for line in lines), rest)
            else:
                self._growing = rest
                self.refresh()

    async def end_words(self) -> None:
        """Finish the line the words are on."""
        async with self._turn_to_write:
            if self._growing:
                await self._print(f"{self._growing}\n", "")

    async def note(self, text: str) -> None:
        """Write a line about what happens."""
        await self.end_words()
        await self.aside(text)

    async def aside(self, text: str) -> None:
        """Write a note that has nothing to do with the words in the making; they go on."""
        async with self._turn_to_write:
            line = dim(safe(text)) if self._colored else safe(text)
            await self._print(f"{line}\n", self._growing)

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""
        await self.end_words()
        async with self._turn_to_write:
            line = click.style(safe(text), fg="yellow") if self._colored else safe(text)
            await self._print(f"{line}\n", self._growing)

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
            if self._growing:
                parts.append(("", f"{self._growing}\n"))
            if self.status and not self.question:
                parts.append(("fg:ansibrightblack", f"{self.status}\n"))
        parts.append(("bold", self.question or PROMPT))
        return parts


def flow(text: str, columns: int) -> tuple[list[str], str]:
    """Break text into complete lines that fit, and the line in the making."""
    *whole, last = text.split("\n")
    lines: list[str] = []
    for line in whole:
        *full, rest = _broken(line, columns)
        lines += [*full, rest]
    *full, growing = _broken(last, columns)
    return [*lines, *full], growing


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


def _keys(interrupt: Callable[[], None]) -> KeyBindings:
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

    del send, new_line, stop
    return keys
