"""`lra demo`: the agent at work, played by a scripted model."""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.output import note
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId

if TYPE_CHECKING:
    from long_running_agents.cli.access import AgentApi
    from long_running_agents.cli.follow import Verdict
    from long_running_agents.domain.approval import Approval
    from long_running_agents.testing import Reply, ScriptedModel

_PACE = 0.03
"""Seconds between words."""

_EARLIER = "My cat is called Ada, and she loves tuna. Please keep that in mind."
_NOW = "Ada's birthday is on Sunday. What do you know about her? Plan a small party."
_GATED = "update_task_status"


@click.command()
def demo() -> int:
    """See it work, without key or network: a plan, tools, an approval, recall."""
    click.echo(
        click.style("This is a demo: the model is SCRIPTED. ", bold=True)
        + "Everything else is real: the log, the tools, the approval, the recall."
    )
    with tempfile.TemporaryDirectory(prefix="lra-demo-") as folder:
        asyncio.run(_play(folder))
    click.echo("\nThat was the demo; its home is gone again. Next: 'lra init', then 'lra chat'.")
    return 0


async def _play(folder: str) -> None:
    from long_running_agents.app import open_app
    from long_running_agents.cli.access import LocalApi
    from long_running_agents.config import load

    # An empty environment: nothing of the person's own is read or asked.
    loaded = load(home=folder, environ={}, flags={"agent.tools.require_approval": (_GATED,)})
    clock = SystemClock()
    async with open_app(loaded, model=_model()) as app:
        agent = LocalApi(app, clock, clock.now())
        await _say(agent, "monday", _EARLIER)
        await _say(agent, "friday", _NOW)


async def _say(agent: "AgentApi", session: str, text: str) -> None:
    from long_running_agents.cli.follow import follow
    from long_running_agents.cli.render import PlainScreen, Renderer

    click.echo(f"\n{click.style(f'[session {session}]', dim=True)}\n> {text}")
    sys.stdout.flush()
    key = SessionId(session)
    await follow(
        agent,
        key,
        lambda: agent.turns.start(key, text),
        show=Renderer(PlainScreen()).show,
        ask=_ask,
    )


async def _ask(approval: "Approval") -> "Verdict":
    from long_running_agents.cli import follow

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        note(f"{follow.question(approval)}yes (nobody is at a terminal, so the demo says yes)")
        return follow.Verdict(allowed=True)
    from prompt_toolkit import PromptSession

    prompt: PromptSession[str] = PromptSession()
    while True:
        typed = await prompt.prompt_async(follow.question(approval))
        verdict = follow.verdict(typed, lasting=approval.offer is not None)
        if verdict is not None:
            return verdict


def _model() -> "ScriptedModel":
    from long_running_agents.testing import ScriptedModel, ToolCall, call, calls, say

    return ScriptedModel(
        [
            say("Ada, and tuna. Noted; I will find it again when you ask.", chunk_delay=_PACE),
            call("get_recent_conversations", all_sessions=True, limit=5),
            _recalled,
            calls(
                ToolCall("create_task", {"title": "Buy tuna and a candle"}),
                ToolCall("create_task", {"title": "Invite the neighbours' cat"}),
                ToolCall("create_task", {"title": "Sing, quietly"}),
            ),
            say(
                "The plan stands. The shopping is done, I will tick it off.",
                calls=(ToolCall(_GATED, {"task_id": 1, "status": "completed"}),),
                chunk_delay=_PACE,
            ),
            _outcome,
        ]
    )


def _recalled(messages: Sequence[Any]) -> "Reply":
    """Say what the tool really found."""
    from long_running_agents.testing import ToolCall, say

    words = "I found nothing about her in earlier sessions, so I will plan from scratch."
    if "tuna" in str(messages[-1]):
        words = "You told me in an earlier session: Ada loves tuna. So I will plan around that."
    return say(words, calls=(ToolCall("list_tasks"),), chunk_delay=_PACE)


def _outcome(messages: Sequence[Any]) -> "Reply":
    """Say what really came of the approval."""
    from long_running_agents.testing import say

    words = "One of three is done. Two are left: the invitation and the song."
    if "denied" in str(messages[-1]):
        words = "You said no, so the task stays open. Two more wait after it."
    return say(words, chunk_delay=_PACE)
