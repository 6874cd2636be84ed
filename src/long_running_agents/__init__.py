"""Long Running Agents: a self-hosted agent whose conversations survive kill -9."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from long_running_agents.agent_registry import Agent, AgentRegistry
    from long_running_agents.app import App, open_app
    from long_running_agents.config import Settings, load
    from long_running_agents.domain.agent import AgentSpec
    from long_running_agents.errors import LraError
    from long_running_agents.function_store import FunctionStore
    from long_running_agents.library import (
        AgentDeps,
        StructuredMemoryStore,
        VectorMemoryStore,
        run_agent,
    )

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentDeps",
    "AgentRegistry",
    "AgentSpec",
    "App",
    "FunctionStore",
    "LraError",
    "Settings",
    "StructuredMemoryStore",
    "VectorMemoryStore",
    "__version__",
    "load",
    "open_app",
    "run_agent",
]

# Names are imported when they are used: `lra --help` need not load an agent.
_HOMES: dict[str, str] = {
    "Agent": "agent_registry",
    "AgentDeps": "library",
    "AgentRegistry": "agent_registry",
    "AgentSpec": "domain.agent",
    "App": "app",
    "FunctionStore": "function_store",
    "LraError": "errors",
    "Settings": "config",
    "StructuredMemoryStore": "library",
    "VectorMemoryStore": "library",
    "load": "config",
    "open_app": "app",
    "run_agent": "library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
