"""`lra chat`: talk with the agent, at a terminal or through a pipe."""

import asyncio
import dataclasses
import os
import sys
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.joining import joined
from long_running_agents.cli.offering import gemini_option, named, settle
from long_running_agents.cli.options import Options, pass_options, unsafe_local_option
from long_running_agents.cli.output import note
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from long_running_agents.cli.conversation import Wishes
    from long_running_agents.cli.desk import Desk
    from long_running_agents.config import Loaded


@click.command()
@click.option("--session", metavar="ID", help="Talk in this session; a new one unless given.")
@click.option("--continue", "newest", is_flag=True, help="Go on in the newest session.")
@click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
@gemini_option
@click.option("--yes", is_flag=True, help="Allow every tool call that needs an approval.")
@unsafe_local_option
@pass_options
def chat(
    options: Options,
    session: str | None,
    newest: bool,
    model: str | None,
    gemini: bool,
    yes: bool,
) -> int:
    """Talk with the agent.

    Without a terminal, each line that is piped in is a message, and calls that need an approval
    are refused unless --yes is given.

    When no model is set, one is looked for: a key, a model server on this machine, the embedded
    model. '--model local:' asks the embedded model, and fetches it if need be.

    When a server runs in the same home, the conversation joins it.
    """
    if session is not None and newest:
        raise UsageError("--session and --continue contradict each other.", hint="Give one.")
    from long_running_agents.cli.conversation import Wishes
    from long_running_agents.domain.ids import session_id

    wishes = Wishes(
        session=None if session is None else session_id(session),
        newest=newest,
        model=named(model, gemini=gemini),
        yes=yes,
        colored=options.colored() is not False,
    )
    return asyncio.run(_chat(options.load(), wishes, terminal=_at_a_terminal()))


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


async def _chat(loaded: "Loaded", wishes: "Wishes", *, terminal: bool) -> int:
    talk = _converse if terminal else _lines
    async with joined(loaded, announce=True) as desk:
        if desk is not None:
            return await talk(desk, wishes)
    loaded, model = await settle(
        loaded,
        wishes.model,
        terminal=terminal,
        eager=True,
        resuming=wishes.newest or wishes.session is not None,
    )
    from long_running_agents.cli.own_desk import opened

    async with opened(loaded) as desk:
        return await talk(desk, dataclasses.replace(wishes, model=model))


async def _converse(desk: "Desk", wishes: "Wishes") -> int:
    from long_running_agents.cli.conversation import Conversation

    return await Conversation(desk, wishes).run()


async def _lines(desk: "Desk", wishes: "Wishes") -> int:
    from long_running_agents.cli import following, skill_asking
    from long_running_agents.cli.failures import OK
    from long_running_agents.cli.plain import PlainScreen
    from long_running_agents.cli.render import Renderer
    from long_running_agents.clock import SystemClock
    from long_running_agents.domain.ids import SessionId, new_id

    newest = await desk.sessions.newest() if wishes.newest else None
    fresh = SessionId(new_id("session", SystemClock().now()))
    key = wishes.session or (newest.id if newest else fresh)
    await following.refuse_if_waiting(desk, key)
    if told := await skill_asking.waiting_at(desk):
        note(told)
    renderer = Renderer(PlainScreen())
    code = OK
    while line := await asyncio.to_thread(sys.stdin.readline):
        if not line.strip():
            continue
        text = line.strip()
        try:
            ended = await following.follow(
                desk,
                key,
                lambda text=text: desk.turns.start(
                    key, text, attended=wishes.yes, model=wishes.model
                ),
                show=renderer.show,
                ask=following.by_rule(desk, yes=wishes.yes, approved=()),
            )
        except asyncio.CancelledError:
            await desk.turns.stop(key)
            raise
        code = ended.exit_code or code
    return code
