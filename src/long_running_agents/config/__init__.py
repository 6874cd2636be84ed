"""Settings: what can be set, where each value came from, and which values are secret."""

from long_running_agents.config.loading import Loaded, load
from long_running_agents.config.settings import Settings

__all__ = ["Loaded", "Settings", "load"]
