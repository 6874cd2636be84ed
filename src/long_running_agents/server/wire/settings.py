"""Settings, models and the log level."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from long_running_agents.domain.ids import SessionId
from long_running_agents.models.listing import Listed
from long_running_agents.models.trying import Tried
from long_running_agents.server.parameters import PLAIN, SESSION_ID, Line
from long_running_agents.server.wire.shapes import Asked, Told


class SettingTold(Told):
    """One setting."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "key": "agent.model.temperature",
                "value": None,
                "origin": "default",
                "description": "Sampling temperature.",
                "changeable": True,
                "pending": None,
            }
        }
    )

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


class SettingList(Told):
    """Every setting."""

    settings: list[SettingTold]


class SettingsChange(Asked):
    """Settings and what they become; null takes a value away."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"values": {"agent.max_loop_iterations": 20}}}
    )

    values: dict[str, JsonValue] = Field(min_length=1, max_length=100)


class SettingsChanged(Told):
    """What was written."""

    changed: list[str]
    restart: list[str]
    """Those that are in force only after the server was started again."""


class ModelTold(Told):
    """A model that can be asked, or could be."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "ollama:qwen3",
                "source": "Ollama at 127.0.0.1:11434",
                "current": True,
                "context_window": 32768,
                "installed": True,
                "note": "loaded",
            }
        }
    )

    name: str
    """What it is chosen by, as provider:model."""
    source: str
    current: bool
    """Whether it answers where a session has not chosen its own."""
    context_window: int | None
    installed: bool
    note: str
    """What is special about it, or what it lacks."""

    @classmethod
    def of(cls, listed: Listed, current: str) -> "ModelTold":
        """A model, told."""
        return cls(
            name=listed.name,
            source=listed.source,
            current=bool(listed.name) and listed.name == current,
            context_window=listed.context_window,
            installed=listed.installed,
            note=listed.note,
        )


class ModelList(Told):
    """Models, and the one that answers."""

    current: str
    """The model that answers; empty when none is chosen."""
    models: list[ModelTold]


class ModelChoice(Asked):
    """The model to ask from the next step on."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"provider": "lmstudio", "model_id": "your-model-id"}}
    )

    provider: str = Field(default="", max_length=100, pattern=PLAIN)
    """Such as openai, openrouter, lmstudio or ollama; empty when ``model_id`` has it."""
    model_id: Line
    session_id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    """Only for this session; for all that have not chosen their own unless given."""

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.provider}:{self.model_id}" if self.provider else self.model_id


class ModelChosen(Told):
    """What is asked now."""

    model: str
    session_id: SessionId | None
    note: str = ""
    """What a person should know."""


class ModelTrial(Asked):
    """The model to try."""

    model_config = ConfigDict(json_schema_extra={"example": {"model": "ollama:qwen3"}})

    model: Line
    """What it is chosen by, as provider:model."""


class ModelTried(Told):
    """Whether a model answers."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "model": "ollama:qwen3",
                "ok": False,
                "seconds": 0.02,
                "error": "ollama:qwen3 does not answer: it cannot be reached.",
                "hint": "Is it running?",
            }
        }
    )

    model: str
    ok: bool
    seconds: float
    """How long it took."""
    error: str
    """Why it does not answer; empty when it does."""
    hint: str
    """What to do about it."""

    @classmethod
    def of(cls, tried: Tried) -> "ModelTried":
        """A trial, told."""
        return cls.model_validate(tried, from_attributes=True)


class LogLevel(Asked):
    """How much the log says."""

    model_config = ConfigDict(json_schema_extra={"example": {"level": "INFO"}})

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"]
