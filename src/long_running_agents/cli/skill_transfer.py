"""`lra skills import` and `export`: skills as plain Python modules."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.code import seen
from long_running_agents.cli.files import read_text, write_text
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json, print_table
from long_running_agents.cli.reading import changing_skills, with_skills
from long_running_agents.cli.skill_names import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.skill import Version
    from long_running_agents.skills.library import Library

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write to this file."
)
force_option = click.option("--force", is_flag=True, help="Replace a file that is there.")


@click.command("import")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@json_option
@pass_options
def import_skills(options: Options, path: Path, as_json: bool) -> None:
    """Propose every public function of a Python file; each is reviewed and tried."""
    text = read_text(path)
    found = changing_skills(options, lambda desk: desk.bring_in(text), making=True)
    if as_json:
        print_json(found)
        return
    print_table(
        ["name", "version", "standing"],
        [[each.name, str(each.number), each.standing] for each in found],
    )
    for each in _proposed(found):
        note(f"{each.name} waits for approval: lra skills approve {each.name}")


def _proposed(found: "Sequence[Version]") -> "list[Version]":
    from long_running_agents.domain.skill import Standing

    return [each for each in found if each.standing is Standing.PROPOSED]


@click.command("export")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@output_option
@force_option
@pass_options
def export_skills(
    options: Options, names: tuple[str, ...], output: Path | None, force: bool
) -> None:
    """Write all functions in use, or those named, as one plain Python module."""
    export(options, names, output, force=force)


def export(options: Options, names: "Sequence[str]", output: Path | None, *, force: bool) -> None:
    """Write skills to stdout, or to a file."""
    chosen = [checked(name) for name in names]

    async def work(library: "Library") -> str:
        return await library.export(chosen or None)

    text = with_skills(options, work)
    if output is None:
        click.echo(seen(text), nl=False)
    else:
        write_text(output, text, force=force)
        note(f"Written to {output}.")
