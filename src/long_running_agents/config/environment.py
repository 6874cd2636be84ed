"""Environment variables: which setting each one sets, and which are secret."""

import re
from collections.abc import Iterator, Mapping

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
