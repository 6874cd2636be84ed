"""Putting settings together: flag > environment > .env > config file > default.

The ``.env`` of the current folder comes last but for the defaults, and is believed least: it may be
anybody's.
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin
from urllib.parse import urlsplit

import platformdirs
from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError

from long_running_agents.config.settings import Settings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import ConfigError

PREFIX = "LRA_"
"""``LRA_AGENT__MAX_LOOP_ITERATIONS`` sets ``agent.max_loop_iterations``."""

HOME = "LRA_HOME"

NAMED: dict[str, str] = {
    "AGENT_MODEL": "agent.model.model_id",
    "AGENT_MODEL_URL": "agent.model.base_url",
    "AGENT_MAX_STEPS": "agent.max_loop_iterations",
    "AGENT_TEMPERATURE": "agent.model.temperature",
    "AGENT_ENABLE_SHELL": "agent.tools.enable.shell",
    "AGENT_ENABLE_FILES": "agent.tools.enable.files",
    "AGENT_ENABLE_FETCH": "agent.tools.enable.fetch",
    "AGENT_ENABLE_DATA_VIEW": "agent.tools.enable.data_view",
    "AGENT_ENABLE_PYEXE": "agent.tools.enable.pyexe",
    "AGENT_LOG_LEVEL": "log_level",
    "SANDBOX_URL": "sandbox.url",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "telemetry.otlp_endpoint",
    "DATABASE_URL": "storage.database_url",
    "VECTOR_STORE_PATH": "storage.vector_store_path",
}
"""The short names that are also read."""

_PLAIN = {f"{PREFIX}{key.upper()}": key for key in ("owner", "log_level", "log_format")}
"""Keys in no section: without ``__``, a name may just as well be somebody else's."""

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:([^@\s/]+)@")


def settings_in(variables: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Find settings among variables: (variable, dotted key, text)."""
    for name, text in variables.items():
        if name in NAMED:
            yield name, NAMED[name], text
        elif name.startswith(PREFIX) and name != HOME and "__" in name:
            yield name, name.removeprefix(PREFIX).lower().replace("__", "."), text
        elif name in _PLAIN:
            yield name, _PLAIN[name], text


def secrets_in(environment: Mapping[str, str], env_file: Mapping[str, str]) -> set[str]:
    """Find values that must never be written down.

    In the environment those are the ones named like a secret; in ``.env`` all but plain settings.
    """
    settings = {name for name, _, _ in settings_in(env_file)}
    found = {text for name, text in environment.items() if _SECRET_NAME.search(name)}
    found |= {
        text for name, text in env_file.items() if name not in settings or _SECRET_NAME.search(name)
    }
    for text in (*environment.values(), *env_file.values()):
        found |= set(_PASSWORD_IN_URL.findall(text))
    return {text for text in found if text}


def secret_addresses(urls: Iterable[str]) -> set[str]:
    """Those addresses that let whoever knows them in: all but a mere host of the web."""
    found = set[str]()
    for url in urls:
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        if scheme.lower() not in ("http", "https"):
            found |= {url, rest}
        elif path or "?" in host or "@" in host:
            found |= {url, *_PASSWORD_IN_URL.findall(url)}
    return found - {""}


CONFIG_FILES = ("config.toml", "config.json")
ENV_FILE = ".env"
DEFAULT = "default"
_SELECTED = "agent.model.selected"
_CONFIGURED = ("agent.model.provider", "agent.model.model_id", "agent.model.base_url")
_NEARBY = "AGENT_"
"""How the names begin that are read from the current folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, with where each value came from."""

    home: Path
    settings: Settings
    origins: Mapping[str, str]
    """Dotted key to its origin, for every value that is not a default."""
    variables: Mapping[str, str]
    """The environment with ``.env`` beneath it: where providers find their keys."""
    nearby: Mapping[str, str]
    """What the ``.env`` of the current folder says beside settings."""
    redact: Redactor

    @property
    def model_variables(self) -> Mapping[str, str]:
        """The same with the keys of the current folder, for a model that somebody has chosen."""
        return {**self.nearby, **self.variables}

    def origin(self, key: str) -> str:
        """Where a value came from."""
        return self.origins.get(key, DEFAULT)


@dataclass(frozen=True, slots=True)
class _Value:
    key: str
    value: object
    origin: str

    @property
    def source(self) -> str:
        """The file or the environment, without the name of a variable."""
        return self.origin.partition(" (")[0]


def load(
    *,
    home: Path | str | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings:
    """Read all settings there are.

    Args:
        home: The home's folder; otherwise LRA_HOME, otherwise the platform's data folder.
        flags: Dotted keys from the command line; they win over everything.
        environ: The environment; this process's own unless given.
    """
    environ = os.environ if environ is None else environ
    folder = home_path(home, environ)
    env_file = _read_env(folder / ENV_FILE)
    here = _current(folder)
    nearby = {} if here == folder else _read_nearby(here / ENV_FILE)
    values = [
        # Of the agent alone: a project's own DATABASE_URL is not meant for us.
        *_variable_values(
            {name: text for name, text in nearby.items() if name.startswith(_NEARBY)},
            str(here / ENV_FILE),
        ),
        *_file_values(folder),
        *_variable_values(env_file, str(folder / ENV_FILE)),
        *_variable_values(environ, "environment"),
        *(_Value(key, value, "flag") for key, value in (flags or {}).items()),
    ]
    merged = _merged(values)
    _refuse_elsewhere(merged, here / ENV_FILE)
    settings = _validate(merged)
    secrets = secrets_in({**nearby, **environ}, env_file)
    return LoadedSettings(
        home=folder,
        settings=settings,
        origins={key: value.origin for key, value in merged.items()},
        # An empty variable is as good as none, here as for settings.
        variables={**env_file, **{name: text for name, text in environ.items() if text}},
        nearby=nearby,
        redact=Redactor(secrets | secret_addresses(settings.notices.urls)),
    )


def _merged(values: Iterable[_Value]) -> dict[str, _Value]:
    """The values that are in force; the later ones go before."""
    merged: dict[str, _Value] = {}
    for value in values:
        chosen = merged.get(_SELECTED)
        if chosen and value.key in _CONFIGURED and value.source != chosen.source:
            # Whoever names a model in the environment means that one, whatever was chosen before.
            del merged[_SELECTED]
        merged[value.key] = value
    return merged


def home_path(given: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The home's folder: the one given, LRA_HOME, or the platform's data folder."""
    variables = os.environ if environ is None else environ
    chosen = given or variables.get(HOME) or platformdirs.user_data_dir("lra")
    return Path(chosen).expanduser().absolute()


def every_key() -> list[str]:
    """All dotted keys, in the order of the settings."""
    return [key for key, _ in _keys(Settings, "")]


def value_of(settings: Settings, key: str) -> object:
    """Look a dotted key up."""
    return attrgetter(key)(settings)


def _current(otherwise: Path) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # Somebody has removed it meanwhile.
        return otherwise


def _read_env(path: Path) -> dict[str, str]:
    try:
        found = dotenv_values(path, interpolate=False) if path.exists() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    return {name: text for name, text in found.items() if text is not None}


def _read_nearby(path: Path) -> dict[str, str]:
    try:
        return _read_env(path) if path.is_file() else {}
    except ConfigError:
        # It is not ours, and may be meant for something else.
        return {}


def _refuse_elsewhere(merged: Mapping[str, _Value], nearby: Path) -> None:
    """Refuse to talk to another machine because of a folder that somebody happens to be in."""
    found = merged.get("agent.model.base_url")
    if found is None or not found.origin.startswith(f"{nearby} "):
        return
    host = urlsplit(str(found.value)).hostname or ""
    if host != "localhost" and not host.startswith("127.") and host != "::1":
        raise ConfigError(
            f"{found.origin} names a model server on another machine, {host!r}.",
            hint="If it is yours, set it in the environment or in the .env of the home.",
        )


def _variable_values(variables: Mapping[str, str], where: str) -> Iterator[_Value]:
    known = dict(_keys(Settings, ""))
    for name, key, text in settings_in(variables):
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
        raise ConfigError(f"{path} is not valid {kind}: {error}.", hint="Fix that line.") from error
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
        f"{origin}: {key} = {first['input']!r} is not accepted.", hint=f"{first['msg']}."
    )
