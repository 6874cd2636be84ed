"""Putting settings together: flag > environment > .env > config file > default."""

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

import platformdirs
from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError

from long_running_agents.config import environment
from long_running_agents.config.settings import Settings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import ConfigError

CONFIG_FILES = ("config.toml", "config.json")
ENV_FILE = ".env"
DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings, with where each value came from."""

    home: Path
    settings: Settings
    origins: Mapping[str, str]
    """Dotted key to its origin, for every value that is not a default."""
    variables: Mapping[str, str]
    """The environment with ``.env`` beneath it: where providers find their keys."""
    redact: Redactor

    def origin(self, key: str) -> str:
        """Where a value came from."""
        return self.origins.get(key, DEFAULT)


@dataclass(frozen=True, slots=True)
class _Value:
    key: str
    value: object
    origin: str


def load(
    *,
    home: Path | str | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read all settings there are.

    Args:
        home: The home's folder; otherwise LRA_HOME, otherwise the platform's data folder.
        flags: Dotted keys from the command line; they win over everything.
        environ: The environment; this process's own unless given.
    """
    environ = os.environ if environ is None else environ
    folder = _home(home, environ)
    env_file = _read_env(folder / ENV_FILE)
    values = [
        *_file_values(folder),
        *_variable_values(env_file, str(folder / ENV_FILE)),
        *_variable_values(environ, "environment"),
        *(_Value(key, value, "flag") for key, value in (flags or {}).items()),
    ]
    merged = {value.key: value for value in values}
    return Loaded(
        home=folder,
        settings=_validate(merged),
        origins={key: value.origin for key, value in merged.items()},
        # An empty variable is as good as none, here as for settings.
        variables={**env_file, **{name: text for name, text in environ.items() if text}},
        redact=Redactor(environment.secrets_in(environ, env_file)),
    )


def home_path(given: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The home's folder: the one given, LRA_HOME, or the platform's data folder."""
    return _home(given, os.environ if environ is None else environ)


def every_key() -> list[str]:
    """All dotted keys, in the order of the settings."""
    return [key for key, _ in _keys(Settings, "")]


def value_of(settings: Settings, key: str) -> object:
    """Look a dotted key up."""
    found: object = settings
    for name in key.split("."):
        found = getattr(found, name)
    return found


def _home(given: Path | str | None, environ: Mapping[str, str]) -> Path:
    chosen = given or environ.get(environment.HOME) or platformdirs.user_data_dir("lra")
    return Path(chosen).expanduser().absolute()


def _read_env(path: Path) -> dict[str, str]:
    try:
        found = dotenv_values(path, interpolate=False) if path.exists() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    return {name: text for name, text in found.items() if text is not None}


def _variable_values(variables: Mapping[str, str], where: str) -> Iterator[_Value]:
    known = dict(_keys(Settings, ""))
    for name, key, text in environment.settings_in(variables):
        if text == "":
            continue
        parsed = _as_list(text) if _takes_list(known.get(key)) else text
        yield _Value(key, parsed, f"{where} ({name})")


def _as_list(text: str) -> object:
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return [item.strip() for item in text.split(",") if item.strip()]


def _file_values(folder: Path) -> list[_Value]:
    present = [folder / name for name in CONFIG_FILES if (folder / name).exists()]
    if len(present) > 1:
        raise ConfigError(
            f"{present[0]} and {present[1]} are both there.", hint="Keep one of them."
        )
    return [
        _Value(key, value, str(path))
        for path in present
        for key, value in _flatten(_read_file(path), "")
    ]


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        kind = path.suffix[1:].upper()
        raise ConfigError(
            f"{path} is not valid {kind}: {error}.", hint="Mend that line."
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no table of settings.", hint='Expected {"agent": {…}, …}.')
    return cast("dict[str, Any]", found)


def _unreadable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"{path} cannot be read: {error}.", hint="Check its permissions and encoding."
    )


def _flatten(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(cast("dict[str, Any]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _keys(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, object]]:
    for name, field in model.model_fields.items():
        annotation = cast("object", field.annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _keys(annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", annotation


def _takes_list(annotation: object) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return any(_takes_list(part) for part in get_args(annotation))
    return get_origin(annotation) is tuple


def _validate(merged: Mapping[str, _Value]) -> Settings:
    known = every_key()
    nested: dict[str, Any] = {}
    for key, value in merged.items():
        if key not in known:
            _refuse_unknown(value, known)
        *sections, name = key.split(".")
        table = nested
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = value.value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        raise _explain(error, merged) from error


def _refuse_unknown(value: _Value, known: list[str]) -> None:
    sections = {key.rpartition(".")[0] for key in known}
    if value.key in sections:
        raise ConfigError(f"{value.origin}: {value.key} is a section.", hint="Expected a table.")
    near = difflib.get_close_matches(value.key, known, n=1)
    hint = f"Did you mean {near[0]}?" if near else "'lra config' lists all keys."
    raise ConfigError(f"{value.origin}: unknown setting {value.key!r}.", hint=hint)


def _explain(error: ValidationError, merged: Mapping[str, _Value]) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
    key = next((known for known in merged if key == known or key.startswith(f"{known}.")), key)
    origin = merged[key].origin if key in merged else "settings"
    return ConfigError(
        f"{origin}: {key} = {first['input']!r} is not accepted.",
        hint=f"{first['msg']}.",
    )
