"""Reading mcp.json: which foreign servers a person wants, and on which terms."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from long_running_agents.errors import ConfigError
from long_running_agents.mcp import base
from long_running_agents.mcp.base import TIMEOUT, Endpoint, Program, ServerSpec

_ROOT = "mcpServers"
_LONGEST_NAME = 40
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_INHERITED = re.compile(r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|TMPDIR")
"""The variables that say where one is; a key of ours is never among them."""
_SECRET = re.compile(r"auth|cookie|credential|key|passw|secret|session|token", re.IGNORECASE)


class _Entry(BaseModel):
    """A server as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["stdio", "http", "streamable-http", "streamable_http"] | None = None
    command: str | None = Field(default=None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = Field(default=None, pattern=r"^(https?://|\$\{)")
    headers: dict[str, str] = {}
    disabled: bool = False
    allow: list[str] | None = None
    deny: list[str] = []
    require_approval: list[str] = []
    timeout: float = Field(default=TIMEOUT, gt=0, le=3600, strict=False)


_OF_PROGRAMS = ("args", "env", "cwd")
_OF_ENDPOINTS = ("headers",)


@dataclass(frozen=True, slots=True)
class ServersFile:
    """What stands in the file."""

    servers: tuple[ServerSpec, ...] = ()
    secrets: frozenset[str] = frozenset()
    """Values that must never be written down."""


def read(path: Path, variables: Mapping[str, str]) -> ServersFile:
    """Read the file; a home without one has no servers.

    Variables are what ``${NAME}`` stands for, and the few that a program is given.

    Raises:
        ConfigError: It cannot be read, or a server in it is not described as it has to be.
    """
    servers: dict[str, ServerSpec] = {}
    for name, entry in _entries(path).items():
        spec = _spec(_Place(path, name), entry, variables)
        taken = servers.setdefault(base.prefix(name), spec)
        if taken is not spec:
            raise ConfigError(
                f"{path}: the tools of {taken.name!r} and {name!r} would have the same names.",
                hint="Rename one of the servers.",
            )
    return ServersFile(
        tuple(servers.values()),
        frozenset(secret for spec in servers.values() for secret in _secrets(spec)),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    server: str

    def wrong(self, key: str, what: str, hint: str) -> ConfigError:
        return ConfigError(f"{self.path}: {_ROOT}.{self.server}{key}: {what}.", hint=hint)


def _entries(path: Path) -> dict[str, object]:
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}.", hint="Check its permissions and encoding."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}.", hint="Fix that line.") from error
    servers = cast("dict[str, Any]", found).get(_ROOT) if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise ConfigError(
            f"{path} has no table {_ROOT!r}.",
            hint=f'Expected {{"{_ROOT}": {{"NAME": {{"command": …}}}}}}.',
        )
    return cast("dict[str, object]", servers)


def _spec(place: _Place, given: object, variables: Mapping[str, str]) -> ServerSpec:
    if not 0 < len(place.server) <= _LONGEST_NAME:
        raise place.wrong("", "the name is too long", f"Take up to {_LONGEST_NAME} characters.")
    try:
        entry = _Entry.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        key = "".join(f".{part}" for part in first["loc"])
        raise place.wrong(key, first["msg"], _hint(first["loc"])) from error
    _check_kind(place, entry)
    missing = sorted(set(_unset(entry, variables)))
    return ServerSpec(
        name=place.server,
        way=_way(entry, variables, place.path.parent),
        disabled=entry.disabled,
        allow=None if entry.allow is None else tuple(entry.allow),
        deny=tuple(entry.deny),
        require_approval=tuple(entry.require_approval),
        timeout=entry.timeout,
        problem=f"{', '.join(missing)} is not set" if missing else "",
    )


def _hint(location: tuple[int | str, ...]) -> str:
    if location and location[0] == "type":
        return 'Only "stdio" and "http" are spoken; the older "sse" is not.'
    return f"A server has these keys: {', '.join(_Entry.model_fields)}."


def _check_kind(place: _Place, entry: _Entry) -> None:
    """A server is a program or an address, and has no keys of the other kind."""
    if (entry.command is None) == (entry.url is None):
        raise place.wrong("", "exactly one of 'command' and 'url' is needed", "Keep one of them.")
    foreign = _OF_PROGRAMS if entry.command is None else _OF_ENDPOINTS
    for key in foreign:
        if key in entry.model_fields_set:
            other = "a program" if key in _OF_PROGRAMS else "an address"
            raise place.wrong(f".{key}", f"only {other} has this", "Remove it.")
    stdio = entry.type in (None, "stdio")
    if entry.type is not None and stdio != (entry.command is not None):
        raise place.wrong(".type", f"{entry.type!r} does not fit the other keys", "Remove it.")


def _way(entry: _Entry, variables: Mapping[str, str], home: Path) -> Program | Endpoint:
    def filled(text: str) -> str:
        return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2] or "", text)

    if entry.url is not None:
        headers = {name: filled(text) for name, text in entry.headers.items()}
        return Endpoint(url=filled(entry.url), headers=headers)
    given = {name: filled(text) for name, text in entry.env.items()}
    person = variables.get("HOME") or str(home)
    folder = Path(filled(entry.cwd)).expanduser() if entry.cwd else Path(person)
    return Program(
        command=filled(entry.command or ""),
        args=tuple(map(filled, entry.args)),
        env={**inherited(variables), **given},
        cwd=str(home / folder),
    )


def inherited(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program is given without being asked for."""
    return {name: text for name, text in variables.items() if _INHERITED.fullmatch(name)}


def _unset(entry: _Entry, variables: Mapping[str, str]) -> Iterator[str]:
    texts = [entry.command or "", entry.url or "", entry.cwd or "", *entry.args]
    for text in (*texts, *entry.env.values(), *entry.headers.values()):
        for found in _VARIABLE.finditer(text):
            if found[2] is None and not variables.get(found[1]):
                yield found[1]


def _secrets(spec: ServerSpec) -> Iterator[str]:
    """The values that are named like a secret, and what follows "Bearer" in them."""
    named = spec.way.headers if isinstance(spec.way, Endpoint) else spec.way.env
    for name, text in named.items():
        if _SECRET.search(name) and not _INHERITED.fullmatch(name):
            yield text
            yield text.split(" ")[-1]
