"""A screen that is two streams: the answer on stdout, everything else on stderr."""

import sys

import click

from long_running_agents.cli.output import dim, safe, shown


class PlainScreen:
    """Writes as things come, and never takes anything back."""

    def __init__(self, *, words: bool = True) -> None:
        """Make a screen.

        Args:
            words: Whether to write the words while they come.
        """
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
        click.echo(dim(safe(text)), err=True)

    async def alarm(self, text: str) -> None:
        """Write a line that must not be overlooked."""
        await self.end_words()
        click.echo(click.style(safe(text), fg="yellow"), err=True)
