"""Settings, of which a few that do no harm can be changed, and the log level."""

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from long_running_agents.config.loader import every_key, value_of
from long_running_agents.config.settings import Settings
from long_running_agents.domain.events import meanings
from long_running_agents.errors import Denied, NotFound, UsageError
from long_running_agents.observe import logs
from long_running_agents.server.auth import Administering, Reading
from long_running_agents.server.http import Routes, ServerContext, route
from long_running_agents.server.wire import WireRequest, WireResponse, example


class SettingResponse(WireResponse):
    """One setting."""

    model_config = example("""{"key": "agent.model.temperature", "value": null, "origin": "default",
      "description": "Sampling temperature.", "changeable": true, "pending": null}""")

    key: str
    value: JsonValue
    """What is in force, without secrets."""
    origin: str
    """Where it came from."""
    description: str
    changeable: bool
    """Whether it can be changed over HTTP."""
    pending: JsonValue = None
    """What was set since, and is in force after a restart; null when nothing was."""


class SettingList(WireResponse):
    """Every setting."""

    settings: list[SettingResponse]


class SettingsChange(WireRequest):
    """Settings and what they become; null takes a value away."""

    model_config = example('{"values": {"agent.max_loop_iterations": 20}}')

    values: dict[str, JsonValue] = Field(min_length=1, max_length=100)


class SettingsChanged(WireResponse):
    """What was written."""

    changed: list[str]
    restart: list[str]
    """Those that are in force only after the server was started again."""


class LogLevel(WireRequest):
    """How much the log says."""

    model_config = example('{"level": "INFO"}')

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"]


CHANGEABLE = frozenset(
    {
        "agent.model.max_tokens",
        "agent.model.temperature",
        "agent.model.timeout",
        "agent.model.retries",
        "agent.max_loop_iterations",
        "agent.limits.tokens",
        "agent.limits.tool_calls",
        "agent.limits.seconds",
        "agent.deep_work.max_iterations",
        "agent.deep_work.token_budget",
        "agent.deep_work.warning_threshold",
        "sessions.max_history_tokens",
        "sessions.max_history_messages",
        "memory.recall",
        "memory.top_k",
        "memory.recall_tokens",
        "reflection.enabled",
        "reflection.max_tokens",
        "reflection.max_sessions_per_startup",
    }
)
"""Settings that name no program, path, address or tool, and ask nobody less often.

Whoever can write those could have anything run; they are changed on the server's machine.
"""

_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s/]+@")
_ANYTHING: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class SettingRoutes(Routes, tag="settings"):
    """The settings in force, and the log level."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._pending: dict[str, JsonValue] = {}

    @route("GET /api/settings")
    async def list_all(self, _: Reading) -> SettingList:
        """Show every setting, where it came from and what it is for."""
        loaded = self._app.loaded
        return SettingList(
            settings=[
                SettingResponse(
                    key=key,
                    value=self._shown(value_of(loaded.settings, key)),
                    origin=loaded.origin(key),
                    description=_description(key),
                    changeable=key in CHANGEABLE,
                    pending=self._pending.get(key),
                )
                for key in every_key()
            ]
        )

    @route("PATCH /api/settings")
    async def change(self, _: Administering, change: SettingsChange) -> SettingsChanged:
        """Write settings to the config file; they are in force after a restart."""
        for key in change.values:
            if key not in every_key():
                hint = "GET /api/settings lists them."
                raise NotFound(f"There is no setting {key[:100]!r}.", hint=hint)
            if key not in CHANGEABLE:
                hint = "Edit config.toml on the server's machine."
                raise Denied(f"{key} cannot be changed from outside.", hint=hint)
        _validate(self._app.settings, change.values)
        sections: dict[str, dict[str, Any]] = {}
        for key, value in change.values.items():
            section, name = key.rsplit(".", 1)
            sections.setdefault(section, {})[name] = value
        await self._context.file.write(sections)
        self._pending |= change.values
        changed = sorted(change.values)
        return SettingsChanged(changed=changed, restart=changed)

    @route("GET /api/log-level")
    async def log_level(self, _: Reading) -> LogLevel:
        """Say how much the log says."""
        return LogLevel.model_validate({"level": logs.level()})

    @route("PUT /api/log-level")
    async def set_log_level(self, _: Administering, wanted: LogLevel) -> LogLevel:
        """Let the log say more or less at once, until the server is stopped."""
        logs.set_level(wanted.level)
        return wanted

    def _shown(self, value: object) -> JsonValue:
        text = json.dumps(value, default=_plain)
        return _ANYTHING.validate_json(
            _PASSWORD.sub(r"\1[redacted]@", self._app.loaded.redact(text))
        )


def _plain(value: object) -> object:
    """A table within a list as far as it says anything; a sum of money as a text."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_defaults=True)
    return str(value)


def _description(key: str) -> str:
    model: type[BaseModel] = Settings
    *sections, name = key.split(".")
    for section in sections:
        model = cast("type[BaseModel]", model.model_fields[section].annotation)
    return meanings(model).get(name, "")


def _validate(settings: Settings, values: Mapping[str, JsonValue]) -> None:
    """See that the server would start with these."""
    whole = settings.model_dump(exclude_unset=True)
    for key, value in values.items():
        *sections, name = key.split(".")
        table = whole
        for section in sections:
            table = table.setdefault(section, {})
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
    try:
        Settings.model_validate(whole)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where} cannot be that: {first['msg']}.") from None
