"""`lra init`: make a home."""

import itertools
import os
from pathlib import Path

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.errors import StorageFailed

_PRIVATE = 0o600


@click.command()
@click.option("--force", is_flag=True, help="Write the files anew; old ones become NAME.bak.")
@pass_options
def init(options: Options, force: bool) -> None:
    """Make a home: settings, key file, who the agent is.

    What exists is left alone.
    """
    from long_running_agents.cli import template
    from long_running_agents.config.loading import home_path
    from long_running_agents.home import Home

    # The folder alone: a home whose settings are broken can be made anew with --force.
    home = Home(home_path(options.home))
    home.create()
    click.echo(f"Home: {home.path}")
    files = {
        home.path / "config.toml": template.config_toml(),
        home.env_file: template.ENV,
        home.workspace / "SOUL.md": template.SOUL,
        home.workspace / "USER.md": template.USER,
    }
    try:
        home.path.chmod(0o700)
        home.workspace.mkdir(mode=0o700, exist_ok=True)
        for path, text in files.items():
            click.echo(f"  {path.relative_to(home.path)}: {_write(path, text, force=force)}")
    except OSError as error:
        raise StorageFailed(
            f"{error.filename} cannot be written: {error.strerror}.",
            hint="Check the permissions, or choose another home with --home or LRA_HOME.",
        ) from error
    click.echo("\nNext:")
    click.echo(f"  1. write a key and a model to {home.env_file}")
    click.echo("  2. lra doctor     checks that everything is in order")
    click.echo("  3. lra chat       begins to talk")


def _write(path: Path, text: str, *, force: bool) -> str:
    # config.json has the same keys; two config files would contradict each other.
    if path.name == "config.toml" and (path.parent / "config.json").exists():
        return "left out, because config.json is there"
    if not path.exists():
        _put(path, text)
        return "written"
    if not force or path.read_text(encoding="utf-8", errors="replace") == text:
        return "left as it is"
    backup = _free(path)
    path.replace(backup)
    _put(path, text)
    return f"written anew, the old one is {backup.name}"


def _free(path: Path) -> Path:
    """A name for the old file; an older backup is not overwritten."""
    names = itertools.chain(
        [f"{path.name}.bak"], (f"{path.name}.bak{n}" for n in itertools.count(2))
    )
    return next(backup for name in names if not (backup := path.with_name(name)).exists())


def _put(path: Path, text: str) -> None:
    # Private from its first moment on, not after a chmod.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
