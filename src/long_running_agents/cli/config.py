"""`lra config`: the settings in force."""

import difflib
import json
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import dim, json_option, plain, print_json, print_table
from long_running_agents.errors import NotFound

if TYPE_CHECKING:
    from pydantic import BaseModel

    from long_running_agents.config import Loaded


@click.command()
@click.argument("key", required=False)
@click.option("--origin", is_flag=True, help="Also show where each value came from.")
@json_option
@pass_options
def config(options: Options, key: str | None, origin: bool, as_json: bool) -> None:
    """Show all settings, one KEY such as agent.model.timeout, or a section such as agent.model."""
    loaded = options.load()
    values = _values(loaded, key)
    if as_json:
        shown = {
            name: {"value": value, "origin": loaded.origin(name)} if origin else value
            for name, value in values.items()
        }
        print_json(shown.get(key or "", shown))
    elif key in values and not origin:
        click.echo(_text(values[key]))
    else:
        rows = [[name, _text(value)] for name, value in values.items()]
        if origin:
            rows = [[*row, loaded.origin(row[0])] for row in rows]
        print_table(["setting", "value", "origin"][: len(rows[0])], rows)
        if key is None:
            click.echo(dim(f"home: {loaded.home}"), err=True)


def _values(loaded: "Loaded", key: str | None) -> dict[str, object]:
    from long_running_agents.config.loading import every_key, value_of

    known = every_key()
    wanted = [name for name in known if key is None or name == key or name.startswith(f"{key}.")]
    if not wanted and key is not None:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else "'lra config' lists all keys."
        raise NotFound(f"There is no setting {key!r}.", hint=hint)
    return {name: _without_secrets(loaded, value_of(loaded.settings, name)) for name in wanted}


def _without_secrets(loaded: "Loaded", value: object) -> object:
    """A URL may carry a password; nothing secret is shown."""
    return json.loads(loaded.redact(json.dumps(plain(value), default=_table)))


def _table(rule: "BaseModel") -> dict[str, object]:
    """A table within a list, as far as it says anything."""
    return rule.model_dump(exclude_defaults=True)


def _text(value: object) -> str:
    if value is None:
        return "(unset)"
    return value if isinstance(value, str) else json.dumps(value)
