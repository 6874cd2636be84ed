"""What you need to test an agent without a model, a network or the passing of time.

`ScriptedModel` plays a script inside the process, `ScriptedServer` plays the same one over HTTP
with the quirks of real servers, and `FrozenClock` makes time an argument.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from long_running_agents.testing.frozen_clock import FrozenClock
    from long_running_agents.testing.script import (
        CutStream,
        Failure,
        Hang,
        MalformedJson,
        Quirk,
        Reply,
        Rule,
        Script,
        Status,
        ToolCall,
        call,
        calls,
        cut,
        fail,
        garbage,
        hang,
        say,
    )
    from long_running_agents.testing.scripted_model import (
        ScriptedModel,
        ScriptUsedUpError,
        make_app,
    )
    from long_running_agents.testing.scripted_server import ScriptedServer

__all__ = [
    "CutStream",
    "Failure",
    "FrozenClock",
    "Hang",
    "MalformedJson",
    "Quirk",
    "Reply",
    "Rule",
    "Script",
    "ScriptUsedUpError",
    "ScriptedModel",
    "ScriptedServer",
    "Status",
    "ToolCall",
    "call",
    "calls",
    "cut",
    "fail",
    "garbage",
    "hang",
    "make_app",
    "say",
]

# Imported when a name is used, the light ones first: a test that needs a clock need not load more.
_MODULES = ("script", "frozen_clock", "scripted_server", "scripted_model")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in _MODULES:
            if hasattr(found := import_module(f"{__name__}.{module}"), name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
