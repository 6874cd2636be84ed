"""`lra ask`: one turn."""

import asyncio
import json
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.joining import joined
from long_running_agents.cli.offering import gemini_option, named, settle
from long_running_agents.cli.options import Options, pass_options, unsafe_local_option
from long_running_agents.cli.output import json_option, note
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from long_running_agents.cli.desk import Desk
    from long_running_agents.cli.following import Ended
    from long_running_agents.config import Loaded
    from long_running_agents.domain.events import Passing, Recorded
    from long_running_agents.domain.ids import SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    text: str
    session: str | None
    model: str | None
    as_json: bool
    yes: bool
    approved: tuple[str, ...]

    @property
    def attended(self) -> bool:
        """Whether questions have an answer."""
        return self.yes or bool(self.approved)


@click.command()
@click.argument("text", required=False)
@click.option("--session", metavar="ID", help="Ask in this session; a new one unless given.")
@click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
@gemini_option
@click.option("--yes", is_flag=True, help="Allow every tool call that needs an approval.")
@click.option("--approve", multiple=True, metavar="TOOL", help="Allow the calls of this tool.")
@unsafe_local_option
@json_option
@pass_options
def ask(
    options: Options,
    text: str | None,
    session: str | None,
    model: str | None,
    gemini: bool,
    yes: bool,
    approve: tuple[str, ...],
    as_json: bool,
) -> int:
    """Ask one question and print the answer.

    The question is TEXT, or what is piped in ("-"), or both: piped text is added at the end.
    With --json, everything that happens is printed as JSON Lines.
    """
    question = _Question(
        text=_whole(text),
        session=session,
        model=named(model, gemini=gemini),
        as_json=as_json,
        yes=yes,
        approved=approve,
    )
    return asyncio.run(_ask(options.load(), question))


def _whole(text: str | None) -> str:
    parts = [] if text in (None, "-") else [str(text)]
    if text == "-" or not sys.stdin.isatty():
        try:
            parts.append(sys.stdin.read())
        except UnicodeDecodeError as error:
            raise UsageError(
                f"What was piped in is not text: {error}.", hint="Expected UTF-8."
            ) from error
    whole = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not whole:
        raise UsageError("There is no question.", hint='Try: lra ask "What can you do?"')
    return whole


async def _ask(loaded: "Loaded", question: _Question) -> int:
    async with joined(loaded) as desk:
        if desk is not None:
            return await _asked(desk, question)
    from long_running_agents.cli.own_desk import opened

    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    loaded, model = await settle(
        loaded, question.model, terminal=terminal, resuming=question.session is not None
    )
    async with opened(loaded) as desk:
        return await _asked(desk, replace(question, model=model))


async def _asked(desk: "Desk", question: _Question) -> int:
    from long_running_agents.clock import SystemClock
    from long_running_agents.domain.ids import SessionId, new_id, session_id

    chosen, now = question.session, SystemClock().now()
    key = SessionId(new_id("session", now)) if chosen is None else session_id(chosen)
    try:
        ended = await _one_turn(desk, key, question)
    except asyncio.CancelledError:
        # Ctrl-C: a turn that was given up must not go on by itself.
        await desk.turns.stop(key)
        raise
    if sys.stderr.isatty() and not question.as_json:
        note(f"session {key}")
    return ended.exit_code


async def _one_turn(desk: "Desk", key: "SessionId", question: _Question) -> "Ended":
    from long_running_agents.cli import following
    from long_running_agents.cli.plain import PlainScreen
    from long_running_agents.cli.render import Renderer
    from long_running_agents.domain.turn import TurnStatus

    await following.refuse_if_waiting(desk, key)
    streaming = sys.stdout.isatty()
    show = _print_event if question.as_json else Renderer(PlainScreen(words=streaming)).show
    ended = await following.follow(
        desk,
        key,
        lambda: desk.turns.start(
            key, question.text, attended=question.attended, model=question.model
        ),
        show=show,
        ask=following.by_rule(desk, yes=question.yes, approved=question.approved),
    )
    # A pipe gets the answer alone, whole; what was said on the way there is for people.
    if not streaming and not question.as_json and ended.turn.status is TurnStatus.DONE:
        click.echo(ended.turn.answer)
    return ended


async def _print_event(heard: "Recorded | Passing") -> None:
    click.echo(json.dumps(heard.wire(), ensure_ascii=False))
