"""`lra memory export` and `import`: memories as files."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json
from long_running_agents.cli.reading import with_memories
from long_running_agents.errors import StorageFailed

if TYPE_CHECKING:
    from long_running_agents.domain.memory import Viewer
    from long_running_agents.memory.importing import Imported
    from long_running_agents.memory.memories import Memories

FORMS = ("export", "lines", "transcript", "database", "chroma", "notes")
"""What can be imported, for help that loads nothing."""

_REASONS = 10


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file."
)
@pass_options
def export(options: Options, output: Path | None) -> None:
    """Write everything that is remembered as JSON, one memory a line."""

    async def work(memories: "Memories", viewer: "Viewer") -> int:
        with _opened(output) as file:
            return await _write(memories, viewer, file)

    count = with_memories(options, work)
    if output is not None:
        note(f"Written to {output}: {count:,}.")


@contextmanager
def _opened(output: Path | None) -> Generator[TextIO]:
    """Where the lines go: stdout, or a file that only its owner can read."""
    if output is None:
        yield sys.stdout
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise StorageFailed(
            f"{output} cannot be written: {error.strerror}.", hint="Choose another file."
        ) from error


async def _write(memories: "Memories", viewer: "Viewer", file: TextIO) -> int:
    from long_running_agents.memory.exporting import export_lines

    count = 0
    async for line in export_lines(memories, viewer.owner):
        file.write(f"{line}\n")
        count += 1
    return count


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--form", type=click.Choice(FORMS), help="What it is; found out unless given.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@json_option
@pass_options
def import_memories(
    options: Options, path: Path, form: str | None, dry_run: bool, as_json: bool
) -> None:
    """Take over the memories of a file: an export, JSON lines, SQLite, ChromaDB, Markdown."""
    from long_running_agents.memory.formats import Format
    from long_running_agents.memory.importing import import_file

    chosen = None if form is None else Format(form)

    async def work(memories: "Memories", viewer: "Viewer") -> "Imported":
        return await import_file(memories, viewer.owner, path, form=chosen, rehearse=dry_run)

    done = with_memories(options, work, writes=True)
    if as_json:
        print_json(done)
        return
    would = "Would add" if dry_run else "Added"
    click.echo(
        f"{would} {done.added:,}, known already {done.merged:,}, refused {len(done.refused):,}."
    )
    for refusal in done.refused[:_REASONS]:
        note(f"  line {refusal.line}: {refusal.reason}")
    if len(done.refused) > _REASONS:
        note(f"  … and {len(done.refused) - _REASONS:,} more; --json shows them all")
