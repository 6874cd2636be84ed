"""`lra backup`, `lra restore`, `lra verify`: the database as one file, put back, and looked at."""

from pathlib import Path

import click

from long_running_agents.cli.main import FAILED, OK, Options, command
from long_running_agents.cli.output import note, print_json
from long_running_agents.clock import SystemClock


@command()
@click.option("--to", type=click.Path(path_type=Path), help="The file; else one in 'backups/'.")
def backup(options: Options, to: Path | None) -> None:
    """Copy the database to one file, while it may be in use, and check the copy.

    The other files of the home are yours to copy: settings, secrets (.env, mcp.json), workspace.
    """
    from long_running_agents.store.backups import back_up

    made, rows = back_up(options.load(), SystemClock().now(), to)
    click.echo(made)
    note(f"checked: {rows:,} rows. Not in it: settings, .env, mcp.json, the workspace")


@command()
@click.argument("file", type=click.Path(path_type=Path))
def restore(options: Options, file: Path) -> None:
    """Make the database what it was when FILE was made by 'lra backup'.

    FILE is checked first. What is there now is kept, and its place is printed. A home that is in
    use is refused.
    """
    from long_running_agents.store.backups import restore as put_back

    loaded = options.load()
    rows, kept = put_back(loaded, file, SystemClock().now())
    click.echo(f"{loaded.home}: {rows:,} rows from {file}")
    if kept is not None:
        click.echo(f"What was there before is in {kept}.")


@command(json=True)
@click.argument("file", type=click.Path(path_type=Path), required=False)
def verify(options: Options, file: Path | None, as_json: bool) -> int:
    """Look at every page, index, reference and row of the database, or of a backup FILE.

    Exits with 1 when something is wrong.
    """
    from long_running_agents import doctor
    from long_running_agents.errors import NotFound
    from long_running_agents.store.integrity import advice
    from long_running_agents.store.schema import database_path

    loaded = options.load()
    path = file or database_path(loaded)
    if not path.is_file():
        raise NotFound(f"There is no database {path}.", hint="Begin with 'lra chat'.")
    found = doctor.verify(loaded, path)
    if as_json:
        print_json(found._asdict())
    else:
        for each in (*found.damage, *found.indexes):
            click.echo(f"{click.style('problem', fg='red')} {each}")
        if not found.damage and not found.indexes:
            click.echo(f"{path}: sound")
        elif file is None:
            note(advice(path) if found.damage else "'lra doctor --fix' makes the index again.")
    return FAILED if found.damage or found.indexes else OK
