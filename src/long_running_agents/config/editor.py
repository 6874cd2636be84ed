"""Changing a home's config file as a person would: one line at a time, comments kept."""

import asyncio
import json
import os
import re
import tomllib
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from long_running_agents.config.loader import CONFIG_FILES, ENV_FILE
from long_running_agents.errors import ConfigError, UsageError, storing

_PRIVATE = 0o600

Value = str | bool | int | float | list[str] | None
"""What can be written in one line; None takes a value away."""


def set_values(home: Path, section: str, values: Mapping[str, Value]) -> Path:
    """Set values in one section of the config file, which is returned; None takes a value away."""
    path = next((home / name for name in CONFIG_FILES if (home / name).exists()), None)
    path = path or home / CONFIG_FILES[0]
    with storing(path, "Check its permissions."):
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        _replace(path, _edited(path, before, section, values))
    return path


def set_variables(
    home: Path, values: Mapping[str, str | None], known: Mapping[str, str]
) -> dict[str, str]:
    """Set variables in the home's ``.env`` file, which is private from then on; None removes one.

    A value has no quotes, blanks and backslashes. `known` are those that were read at the start,
    from the environment and the file; what is returned is in force now.
    """
    path = (home / ENV_FILE).resolve()
    with storing(path, "Check its permissions."):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        before = _variables(text)
        for name in values:
            if known.get(name, before.get(name)) != before.get(name):
                raise UsageError(
                    f"{name} is set in the environment, which goes before the .env file.",
                    hint="Change it there, and start again.",
                )
        ours = re.compile(rf"\s*(export\s+)?({'|'.join(map(re.escape, values))})\s*=")
        given = {name: value for name, value in values.items() if value is not None}
        lines = [line for line in text.splitlines() if not ours.match(line)]
        after = "\n".join([*lines, *(f"{name}='{value}'" for name, value in given.items()), ""])
        wanted = {name: value for name, value in before.items() if name not in values} | given
        if _variables(after) != wanted:
            raise _refused(path, f"Set {', '.join(values)} by hand.")
        _replace(path, after, _PRIVATE)
    return {name: value for name, value in known.items() if name not in values} | given


def _variables(text: str) -> dict[str, str | None]:
    return dict(dotenv_values(stream=StringIO(text), interpolate=False))


def _edited(path: Path, text: str, section: str, values: Mapping[str, Value]) -> str:
    try:
        if path.suffix == ".json":
            whole = _changed(json.loads(text), section, values)
            return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"
        wanted = _changed(tomllib.loads(text), section, values)
        edited = _toml(text, section, values)
        # Lines were matched, not parsed: see that nothing else has changed.
        good = tomllib.loads(edited) == wanted
    except (ValueError, AttributeError):
        good, edited = False, text
    if not good:
        given = {key: value for key, value in values.items() if value is not None}
        wanted = ", ".join(f"{key} = {json.dumps(value)}" for key, value in given.items())
        raise _refused(path, f"Under [{section}], set {wanted}.")
    return edited


def _toml(text: str, section: str, values: Mapping[str, Value]) -> str:
    lines = text.splitlines()
    header = re.compile(rf"^\s*\[\s*{re.escape(section)}\s*\]\s*(#.*)?$")
    begin = next((place for place, line in enumerate(lines) if header.match(line)), None)
    if begin is None:
        lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        begin = len(lines) - 1
    for key, value in values.items():
        _set_line(lines, begin, key, value)
    return "\n".join(lines) + "\n"


def _set_line(lines: list[str], begin: int, key: str, value: Value) -> None:
    end = next(
        (place for place in range(begin + 1, len(lines)) if lines[place].lstrip().startswith("[")),
        len(lines),
    )
    places = range(begin + 1, end)
    now = re.compile(rf"^\s*{re.escape(key)}\s*=")
    commented = re.compile(rf"^\s*#\s*{re.escape(key)}\s*=")
    place = next((p for p in places if now.match(lines[p])), None)
    if value is None:
        if place is not None:
            lines[place] = f"# {lines[place].lstrip()}"
        return
    # JSON text is spelled as TOML spells it.
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    if place is None:
        place = next((p for p in places if commented.match(lines[p])), None)
    if place is None:
        lines.insert(begin + 1, line)
    else:
        lines[place] = line


def _changed(whole: dict[str, Any], section: str, values: Mapping[str, Value]) -> Any:
    table = whole
    for name in section.split("."):
        table = table.setdefault(name, {})
    for key, value in values.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return whole


def _refused(path: Path, hint: str) -> ConfigError:
    return ConfigError(
        f"{path} is written in a way that cannot be changed here; it is as it was.", hint=hint
    )


def _replace(path: Path, text: str, mode: int | None = None) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(handle)
    beside.replace(path)


class ConfigFile:
    """Writes settings; nobody's change is lost to somebody else's."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._turn = asyncio.Lock()

    async def write(self, sections: Mapping[str, Mapping[str, Value]]) -> None:
        """Set values by section; None takes one away."""
        async with self._turn:
            for section, values in sections.items():
                await asyncio.to_thread(set_values, self._home, section, values)

    async def keep(
        self, values: Mapping[str, str | None], known: Mapping[str, str]
    ) -> dict[str, str]:
        """Set variables of the ``.env`` file and return all in force; None takes one away."""
        async with self._turn:
            return await asyncio.to_thread(set_variables, self._home, values, known)
