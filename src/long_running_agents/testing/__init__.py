"""What you need to test an agent without a model, a network or the passing of time.

`ScriptedModel` plays a script inside the process, `ScriptedServer` plays the same one over HTTP
with the quirks of real servers, `FakeEmbedder` embeds without a model, and `FrozenClock` makes time
an argument.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from long_running_agents.testing.apps import make_app
    from long_running_agents.testing.fake_embedder import FakeEmbedder
    from long_running_agents.testing.frozen_clock import FrozenClock
    from long_running_agents.testing.model_process import scripted_process
    from long_running_agents.testing.model_server import ScriptedServer
    from long_running_agents.testing.quirks import Quirk
    from long_running_agents.testing.reply import (
        CutStream,
        Failure,
        Hang,
        MalformedJson,
        Reply,
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
    from long_running_agents.testing.script import Rule, Script
    from long_running_agents.testing.scripted_model import ScriptedModel, ScriptUsedUpError

__all__ = [
    "CutStream",
    "Failure",
    "FakeEmbedder",
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
    "scripted_process",
]

# Names are imported when they are used: a test that needs a clock need not load a web server.
_MODULES: dict[str, tuple[str, ...]] = {
    "apps": ("make_app",),
    "fake_embedder": ("FakeEmbedder",),
    "frozen_clock": ("FrozenClock",),
    "model_process": ("scripted_process",),
    "model_server": ("ScriptedServer",),
    "quirks": ("Quirk",),
    "reply": (
        "CutStream",
        "Failure",
        "Hang",
        "MalformedJson",
        "Reply",
        "Status",
        "ToolCall",
        "call",
        "calls",
        "cut",
        "fail",
        "garbage",
        "hang",
        "say",
    ),
    "script": ("Rule", "Script"),
    "scripted_model": ("ScriptedModel", "ScriptUsedUpError"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
