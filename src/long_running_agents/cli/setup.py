"""`lra init`: make a home."""

import asyncio
import difflib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from long_running_agents.cli.main import FAILED, OK, Options, command
from long_running_agents.cli.output import dim, plain, print_json, print_table
from long_running_agents.clock import SystemClock
from long_running_agents.config.settings import Settings
from long_running_agents.domain.events import meanings
from long_running_agents.errors import LraError, NotConfigured, NotFound, StorageFailed
from long_running_agents.home import Home

if TYPE_CHECKING:
    from long_running_agents.cli.models import ModelExamined
    from long_running_agents.config import LoadedSettings
    from long_running_agents.doctor import Check


_PRIVATE = 0o600


@command()
@click.option("--force", is_flag=True, help="Overwrite the files; old ones become NAME.bak.")
def init(options: Options, force: bool) -> None:
    """Make a home: settings, key file, who the agent is.

    What exists is left alone.
    """
    from long_running_agents.config.loader import home_path

    # The folder alone: a home whose settings are broken can be made anew with --force.
    home = Home(home_path(options.home))
    home.create()
    click.echo(f"Home: {home.path}")
    files = {
        home.path / "config.toml": config_toml(),
        home.env_file: ENV,
        home.workspace / "SOUL.md": SOUL,
        home.workspace / "USER.md": USER,
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
    click.echo("  2. lra doctor     checks the setup")
    click.echo("  3. lra chat       starts a conversation")


def _write(path: Path, text: str, *, force: bool) -> str:
    # config.json has the same keys; two config files would contradict each other.
    if path.name == "config.toml" and (path.parent / "config.json").exists():
        return "left out, because config.json is there"
    if not path.exists():
        _put(path, text)
        return "written"
    if not path.stat().st_size:
        # Only a placeholder, which a sandbox may be holding: it stays the same file.
        path.write_text(text, encoding="utf-8")
        return "written"
    if not force or path.read_text(encoding="utf-8", errors="replace") == text:
        return "left as it is"
    backup = _free(path)
    path.replace(backup)
    _put(path, text)
    return f"overwritten; the old one is {backup.name}"


def _free(path: Path) -> Path:
    """A name for the old file; an older backup is not overwritten."""
    numbers = itertools.chain([""], itertools.count(2))
    names = (path.with_name(f"{path.name}.bak{number}") for number in numbers)
    return next(name for name in names if not name.exists())


def _put(path: Path, text: str) -> None:
    # Private from its first moment on, not after a chmod.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


ENV = """\
# Keys and other secrets: one NAME=value a line, for your eyes only (chmod 600).
# Take the '#' away from the one you use.

# OPENAI_API_KEY=
# OPENROUTER_API_KEY=
# ANTHROPIC_API_KEY=
# GEMINI_API_KEY=

# The model, as provider:model.
# AGENT_MODEL=openai:gpt-5-mini

# Or any OpenAI-compatible server; AGENT_MODEL is then its bare model name.
# AGENT_MODEL_URL=http://127.0.0.1:1234/v1
# AGENT_MODEL_KEY=
"""

SOUL = """\
# Who you are

You are a calm, capable assistant that works for one person over a long time.

- Say what you did, what you found and what you do not know.
- Keep answers short; give details when asked.
- Plan longer work as tasks and tick them off.
- Before anything that cannot be undone, ask.
"""

USER = """\
# Who you work for

Write here what the agent should always know about you: your name, what you work on,
how you like to be answered, what it must never touch.
"""

_HEAD = """\
# Settings of this home. Every key is shown with its default and does nothing until you take the
# '#' away. 'lra config --origin' shows what is in force and why. Secrets belong in .env.
"""


def config_toml() -> str:
    """Every setting with its description, commented out."""
    return "\n".join([_HEAD, *_section(Settings, "")]).rstrip() + "\n"


def _section(model: type[BaseModel], path: str) -> Iterator[str]:
    # In TOML a table's own keys must come before its sub-tables.
    described = meanings(model)
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        annotation = cast("object", field.annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            inner.append((f"{path}{name}", annotation))
        else:
            yield from _key(name, field, described.get(name, ""))
    for name, section in inner:
        yield from (f"# {section.__doc__}", f"[{name}]")
        yield from _section(section, f"{name}.")


def _key(name: str, field: FieldInfo, meaning: str) -> Iterator[str]:
    default: Any = field.default
    yield f"# {meaning}"
    # An unset value has no spelling in TOML.
    # All others are spelled alike in JSON and TOML.
    yield f"# {name} = {'' if default is None else json.dumps(default)}".rstrip()
    yield ""


@command(json=True)
@click.argument("key", required=False)
@click.option("--origin", is_flag=True, help="Also show where each value came from.")
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


def _values(loaded: "LoadedSettings", key: str | None) -> dict[str, object]:
    from long_running_agents.config.loader import every_key, value_of

    known = every_key()
    wanted = [name for name in known if key is None or name == key or name.startswith(f"{key}.")]
    if not wanted and key is not None:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else "'lra config' lists all keys."
        raise NotFound(f"There is no setting {key!r}.", hint=hint)
    return {name: _without_secrets(loaded, value_of(loaded.settings, name)) for name in wanted}


def _without_secrets(loaded: "LoadedSettings", value: object) -> object:
    """A URL may carry a password; nothing secret is shown."""

    def table(rule: BaseModel) -> dict[str, object]:
        return rule.model_dump(exclude_defaults=True)

    return json.loads(loaded.redact(json.dumps(plain(value), default=table)))


def _text(value: object) -> str:
    if value is None:
        return "(unset)"
    return value if isinstance(value, str) else json.dumps(value)


_MCP_SECONDS = 30.0
_STARTING = "It has not answered yet: 'lra mcp test {} --wait 120' waits longer."
_COLORS = {"ok": "green", "warning": "yellow", "problem": "red"}


@command(json=True)
@click.option("--deep", is_flag=True, help="Also ask each model what it can do; keeps the cards.")
@click.option("--fix", "mend", is_flag=True, help="Mend the database and its indexes first.")
def doctor(options: Options, deep: bool, mend: bool, as_json: bool) -> int:
    """Check that everything is in order; exit 1 when there is a problem.

    --fix saves what can be read of a damaged database, makes the indexes of memories again, and
    says what is lost. The damaged file is kept. A home that is in use is refused.
    """
    from long_running_agents.doctor import CheckState, examine_all, fix

    loaded = options.load()
    for line in fix(loaded, SystemClock()) or ["nothing to mend"] if mend else ():
        click.echo(f"mended   {line}", err=as_json)
    found = [*examine_all(loaded, SystemClock()), *_mcp_servers(loaded)]
    cards = asyncio.run(_deep(loaded)) if deep else []
    if as_json:
        print_json({"checks": found, "models": cards} if deep else found)
    else:
        for check in found:
            state = click.style(f"{check.state:<8}", fg=_COLORS[check.state])
            click.echo(f"{state} {check.name}: {check.detail}")
            if check.fix:
                click.echo(f"         {check.fix}")
        for examined in cards:
            from long_running_agents.cli.models import print_examined

            print_examined(examined)
    unsound = any(check.state is CheckState.PROBLEM for check in found)
    return FAILED if unsound or any(each.card is None for each in cards) else OK


def _mcp_servers(loaded: "LoadedSettings") -> "list[Check]":
    """Start each server of mcp.json, and say what it offers, or why not."""
    from long_running_agents.cli.serve import statuses
    from long_running_agents.doctor import Check, CheckState

    if not Home(loaded.home).mcp_file.exists():
        return []
    try:
        found = asyncio.run(statuses(loaded, _MCP_SECONDS))
    except LraError:
        # The check of the file has said so.
        return []
    return [
        Check(
            f"mcp {each.name}",
            ": ".join(filter(None, (each.state, ", ".join(o.name for o in each.listing.offers)))),
            each.reason or (_STARTING.format(each.name) if each.state == "starting" else ""),
            state=CheckState.OK if each.state in ("ready", "disabled") else CheckState.WARNING,
        )
        for each in found
    ]


async def _deep(loaded: "LoadedSettings") -> "list[ModelExamined]":
    from long_running_agents.cli.models import examine_models, names_to_examine

    try:
        names = await names_to_examine(loaded)
    except NotConfigured:
        # The check of the model has said so.
        return []
    return await examine_models(loaded, SystemClock(), names)
