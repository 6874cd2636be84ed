"""Running code and commands: always in a sandbox, with the workspace as its folder."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import NotConfigured
from long_running_agents.sandbox import telling
from long_running_agents.sandbox.result import UNSANDBOXED, ExecResult
from long_running_agents.sandbox.session_sandboxes import Entered, SessionSandboxes
from long_running_agents.sandbox.spec import LONGEST_CALL
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import code_powers, effect

Seconds = Annotated[float, Field(gt=0, le=LONGEST_CALL)]


def code_tools(*, network: bool = False) -> FunctionToolset[TurnDeps]:
    """The toolset of Python.

    Args:
        network: Whether code can reach anybody: then it can send, and what it says is hearsay.
    """
    tools = FunctionToolset[TurnDeps](id="code")
    _add_python(tools, network=network)
    _add_preparing(tools)
    return tools


def shell_tools(*, network: bool = False) -> FunctionToolset[TurnDeps]:
    """The toolset of the shell."""
    tools = FunctionToolset[TurnDeps](id="shell")
    running = effect(Effect.ONCE, powers=code_powers(network=network), foreign=network)

    @tools.tool(metadata=running)
    async def shell(ctx: RunContext[TurnDeps], command: str, seconds: Seconds | None = None) -> str:
        """Run a command in bash, in a sandbox whose folder is the workspace.

        Args:
            ctx: The turn that asks.
            command: The command; pipes and several lines are fine.
            seconds: How long it may take.
        """
        async with _entered(ctx.deps) as entered:
            result = await entered.sandbox.shell(command, seconds)
        return await _told(ctx.deps, result, entered)

    return tools


def _add_python(tools: FunctionToolset[TurnDeps], *, network: bool) -> None:
    powers = code_powers(network=network)

    @tools.tool(metadata=effect(Effect.ONCE, powers=powers, foreign=network))
    async def execute_code(
        ctx: RunContext[TurnDeps],
        code: str,
        sandbox_id: str | None = None,
        seconds: Seconds | None = None,
    ) -> str:
        """Run Python in a sandbox; names stay for the next call, files are in the workspace.

        The value of the last expression and plots are shown. A cell that crashes is undone.

        Args:
            ctx: The turn that asks.
            code: The Python code.
            sandbox_id: A sandbox of create_sandbox; without, the one of this conversation.
            seconds: How long it may take.
        """
        return await _execute(ctx.deps, code, sandbox_id, seconds)

    @tools.tool(metadata=effect(Effect.ONCE, alias=True, powers=powers, foreign=network))
    async def pyexe(ctx: RunContext[TurnDeps], code: str, seconds: Seconds | None = None) -> str:
        """Run Python in the persistent session of this conversation; the same as execute_code.

        Args:
            ctx: The turn that asks.
            code: The Python code.
            seconds: How long it may take.
        """
        return await _execute(ctx.deps, code, None, seconds)


def _add_preparing(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.IDEMPOTENT, powers={Power.EXECUTE}))
    async def create_sandbox(ctx: RunContext[TurnDeps]) -> str:
        """Make one more sandbox with names of its own, for code that must not meet other code.

        Args:
            ctx: The turn that asks.
        """
        made = await _sandboxes(ctx.deps).create(ctx.deps.turn.session_id)
        walls = ", ".join(made.sandbox.isolation) or UNSANDBOXED
        return f"Sandbox {made.id} is ready ({made.sandbox.backend}: {walls})."

    @tools.tool(metadata=effect(Effect.IDEMPOTENT, powers={Power.EXTEND, Power.SEND}))
    async def install_packages(ctx: RunContext[TurnDeps], packages: list[str]) -> str:
        """Fetch Python packages for the sandboxes; only wheels, and nothing in them is run.

        The Python session of this conversation starts anew.

        Args:
            ctx: The turn that asks.
            packages: Names, such as "scipy" or "scipy==1.14".
        """
        sandboxes = _sandboxes(ctx.deps)
        await sandboxes.install(ctx.deps.turn.session_id, packages)
        return f"Installed {', '.join(packages)}. The Python session begins anew."


async def _execute(deps: TurnDeps, code: str, sandbox_id: str | None, seconds: float | None) -> str:
    async with _entered(deps, sandbox_id) as entered:
        result = await entered.sandbox.execute(code, seconds)
    return await _told(deps, result, entered)


def _entered(deps: TurnDeps, sandbox_id: str | None = None) -> AbstractAsyncContextManager[Entered]:
    turn = deps.turn
    return _sandboxes(deps).entered(turn.session_id, sandbox_id, attended=turn.attended)


def _sandboxes(deps: TurnDeps) -> SessionSandboxes:
    if deps.sandboxes is None:
        raise NotConfigured(
            "No code can be run here.", hint="Open the app with a workspace and a sandbox."
        )
    return deps.sandboxes


async def _told(deps: TurnDeps, result: ExecResult, entered: Entered) -> str:
    if (workspace := deps.workspace) is None:
        return telling.told(result, [], fresh=entered.fresh)
    kept = telling.outputs(result)
    shown, whole = telling.shortened(telling.told(result, kept, fresh=entered.fresh))
    for output in [*kept, *([] if whole is None else [whole])]:
        await asyncio.to_thread(workspace.write, output.path, output.content)
    return shown
