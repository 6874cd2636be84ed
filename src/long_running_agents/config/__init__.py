"""Settings: what can be set, where each value came from, and which values are secret."""

from long_running_agents.config.loader import LoadedSettings, load
from long_running_agents.config.settings import Settings

__all__ = ["SANDBOX_URL", "LoadedSettings", "Settings", "load"]

SANDBOX_URL: str
"""The sandbox server of the settings, read when it is asked for; empty when there is none."""


def __getattr__(name: str) -> str:
    if name == "SANDBOX_URL":
        return load().settings.sandbox.url
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
