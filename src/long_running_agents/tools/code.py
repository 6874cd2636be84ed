"""The tools for code and commands: always in a sandbox, with the workspace as its folder."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import NotConfigured
from long_running_agents.sandbox.base import LONGEST_CALL, UNSANDBOXED, ExecResult, Sandbox
from long_running_agents.sandbox.manager import Entered, SessionSandboxes
from long_running_agents.tools.deps import TurnDeps, code_powers, effect
from long_running_agents.tools.files import after_code
from long_running_agents.tools.middleware import CodeFailed

_TICK = 0.1
"""File systems tell the time in steps."""
Seconds = Annotated[float, Field(gt=0, le=LONGEST_CALL)]


def code_tools(*, network: bool = False) -> FunctionToolset[TurnDeps]:
    """The toolset of Python; code with a network can send, and what it says is hearsay."""
    tools = FunctionToolset[TurnDeps](id="code")
    _add_python(tools, network=network)
    tools.add_function(create_sandbox, metadata=effect(Effect.IDEMPOTENT, powers=[Power.EXECUTE]))
    tools.add_function(
        install_packages, metadata=effect(Effect.IDEMPOTENT, powers=[Power.EXTEND, Power.SEND])
    )
    return tools


def shell_tools(*, network: bool = False) -> FunctionToolset[TurnDeps]:
    """The toolset of the shell."""
    tools = FunctionToolset[TurnDeps](id="shell")
    running = effect(Effect.ONCE, powers=code_powers(network=network), foreign=network)
    online = "tool:shell" if network else ""

    @tools.tool(metadata=running)
    async def shell(ctx: RunContext[TurnDeps], command: str, seconds: Seconds | None = None) -> str:
        """Run a bash command in a sandbox, in the workspace.

        Args:
            command: The command.
            seconds: How long at most.
        """
        return await _run(ctx, lambda sandbox: sandbox.shell(command, seconds), online)

    return tools


def _add_python(tools: FunctionToolset[TurnDeps], *, network: bool) -> None:
    powers = code_powers(network=network)
    online = "tool:execute_code" if network else ""

    @tools.tool(metadata=effect(Effect.ONCE, powers=powers, foreign=network))
    async def execute_code(
        ctx: RunContext[TurnDeps],
        code: str,
        sandbox_id: str | None = None,
        seconds: Seconds | None = None,
    ) -> str:
        """Run Python in a sandbox; names stay for the next call, files are in the workspace.

        The value of the last expression and plots are shown.

        Args:
            code: The Python code.
            sandbox_id: One of create_sandbox.
            seconds: How long at most.
        """
        return await _run(ctx, lambda sandbox: sandbox.execute(code, seconds), online, sandbox_id)

    @tools.tool(metadata=effect(Effect.ONCE, alias="execute_code", powers=powers, foreign=network))
    async def pyexe(ctx: RunContext[TurnDeps], code: str, seconds: Seconds | None = None) -> str:
        """Run Python in the persistent session of this conversation; the same as execute_code.

        Args:
            code: The Python code.
            seconds: How long at most.
        """
        return await _run(ctx, lambda sandbox: sandbox.execute(code, seconds), online)


async def create_sandbox(ctx: RunContext[TurnDeps]) -> str:
    """Make one more sandbox with its own names."""
    made = await _sandboxes(ctx.deps).create(ctx.deps.turn.session_id)
    walls = ", ".join(made.sandbox.isolation) or UNSANDBOXED
    return f"Sandbox {made.id} is ready ({made.sandbox.backend}: {walls})."


async def install_packages(ctx: RunContext[TurnDeps], packages: list[str]) -> str:
    """Fetch Python packages for the sandboxes; the Python session then starts anew.

    Args:
        packages: Such as "scipy==1.14".
    """
    sandboxes = _sandboxes(ctx.deps)
    await sandboxes.install(ctx.deps.turn.session_id, packages)
    return f"Installed {', '.join(packages)}. The Python session begins anew."


async def _run(
    ctx: RunContext[TurnDeps],
    work: Callable[[Sandbox], Awaitable[ExecResult]],
    online: str,
    sandbox_id: str | None = None,
) -> str:
    """Run code, and look after whose words it has read and written, also when it fails."""
    deps, turn = ctx.deps, ctx.deps.turn
    # A little earlier, as the file system tells the time.
    begun = deps.clock.now().timestamp() - _TICK
    entering = _sandboxes(deps).entered(turn.session_id, sandbox_id, attended=turn.attended)
    async with entering as entered:
        result = await work(entered.sandbox)
    told = await _told(deps, result, entered)
    await after_code(deps, ctx.tool_call_id, told, begun, online=online)
    if not result.success:
        raise CodeFailed(told)
    return told


def _sandboxes(deps: TurnDeps) -> SessionSandboxes:
    if deps.sandboxes is None:
        raise NotConfigured(
            "No code can be run here.", hint="Open the app with a workspace and a sandbox."
        )
    return deps.sandboxes


async def _told(deps: TurnDeps, result: ExecResult, entered: Entered) -> str:
    from long_running_agents.sandbox import kernel_sandbox  # noqa: PLC0415 - for who runs code

    if (workspace := deps.workspace) is None:
        return kernel_sandbox.told(result, [], fresh=entered.fresh)
    kept = kernel_sandbox.outputs(result)
    words = kernel_sandbox.told(result, kept, fresh=entered.fresh)
    if missing := kernel_sandbox.missing_module(result):
        supplied = await _sandboxes(deps).supply(deps.turn.session_id, missing)
        words += f"\n[{supplied}]" if supplied else ""
    shown, whole = kernel_sandbox.shortened(words)
    for output in [*kept, *([] if whole is None else [whole])]:
        await asyncio.to_thread(workspace.write, output.path, output.content)
    return shown
