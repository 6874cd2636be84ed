"""An app for tests: a temporary home, a scripted model, a clock that stands still if you like."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.app import App, open_app
from long_running_agents.config import load
from long_running_agents.domain.ports import Clock
from long_running_agents.tools.deps import TurnDeps


@asynccontextmanager
async def make_app(
    home: Path,
    *,
    model: Model | None = None,
    toolsets: Sequence[AbstractToolset[TurnDeps]] = (),
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: object,
) -> AsyncGenerator[App]:
    """Open an app in a folder, touching nothing outside it.

    Args:
        home: The folder.
        model: Usually a ScriptedModel.
        toolsets: Tools beside the built-in ones.
        clock: Usually a FrozenClock, where time matters.
        environ: The environment the app sees; empty unless given.
        settings: Dotted keys, with ``__`` for the dot: ``agent__max_loop_iterations=3``.
    """
    flags = {key.replace("__", "."): value for key, value in settings.items()}
    loaded = load(home=home, environ=environ or {}, flags=flags)
    async with open_app(loaded, model=model, toolsets=toolsets, clock=clock) as app:
        yield app
