"""Changing a home's config file as a person would: one line at a time, comments kept."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from long_running_agents.config.loading import CONFIG_FILES
from long_running_agents.errors import ConfigError, StorageFailed

_PRIVATE = 0o600

Value = str | bool | int | float | None
"""What can be written in one line; None takes a value away."""


def set_values(home: Path, section: str, values: Mapping[str, Value]) -> Path:
    """Set values in one section of the config file; None takes a value away.

    Args:
        home: The home, which exists.
        section: The dotted name of the section.
        values: Keys of the section and what they become.

    Returns:
        The file that was written.

    Raises:
        ConfigError: The file is written in a way that this cannot change.
    """
    path = next((home / name for name in CONFIG_FILES if (home / name).exists()), None)
    path = path or home / CONFIG_FILES[0]
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        _replace(path, _edited(path, before, section, values))
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be written: {error.strerror}.", hint="Check its permissions."
        ) from error
    return path


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
        raise _refused(path, section, values)
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


def _refused(path: Path, section: str, values: Mapping[str, Value]) -> ConfigError:
    wanted = ", ".join(
        f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None
    )
    return ConfigError(
        f"{path} is written in a way that cannot be changed here; it is as it was.",
        hint=f"Under [{section}], set {wanted}.",
    )


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
