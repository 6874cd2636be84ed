"""`lra chat` and `lra ask`: talk with the agent, and see before that there is a model."""

import asyncio
import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from typing_extensions import override

from long_running_agents.cli.access import open_agent
from long_running_agents.cli.main import CommandGroup, Options, command, unsafe_local_option
from long_running_agents.cli.output import note, shown
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId, new_id, session_id
from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.home import Home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from long_running_agents.cli.access import AgentApi
    from long_running_agents.cli.conversation import ChatOptions
    from long_running_agents.config import LoadedSettings
    from long_running_agents.domain.events import DeltaEnvelope, EventEnvelope
    from long_running_agents.models.embedded import Embedded
    from long_running_agents.models.local.catalog import WeightsFile
    from long_running_agents.models.selection import ModelChoice


SMALL = "{name} is small: it chats, but errs often and uses tools poorly ('lra models list')."
"""The banner of an embedded model: nobody should expect more of it than it can give."""

_LOCAL = "local:"
AUTO = "auto"
"""The agent that a message is for, whoever that is."""
T = TypeVar("T")

agent_option = click.option(
    "--agent", metavar="NAME", help="Who answers: an agent, or 'auto' for the one it is for."
)
model_option = click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
_gemini_option = click.option(
    "--gemini", is_flag=True, help="Short for --model google:gemini-flash-latest."
)
_yes_option = click.option(
    "--yes", is_flag=True, help="Allow every tool call that needs an approval."
)


def _named(model: str | None, *, gemini: bool) -> str | None:
    if not gemini:
        return model
    from long_running_agents.models.names import GEMINI

    if model not in (None, GEMINI):
        raise UsageError("--model and --gemini contradict each other.", hint="Give one.")
    return GEMINI


async def settle(
    loaded: "LoadedSettings", model: str | None, *, terminal: bool, resuming: bool = False
) -> "tuple[LoadedSettings, str | None]":
    """See that there is a model: the settings to use, and the name to ask.

    A session that is resumed may have a model of its own.
    """
    from long_running_agents.models import names, selection

    if model is not None and f"{model}:".startswith(_LOCAL):
        return loaded, await _embedded(loaded, model.partition(":")[2])
    if model is not None:
        settings = loaded.settings.agent.model
        # Refused now rather than in the middle of the first turn.
        names.require(names.parse(model, settings), settings, loaded.model_variables)
        return loaded, model
    try:
        chosen = await selection.decide(loaded)
    except NotConfigured:
        if resuming:
            return loaded, None
        _tell_of_keys(loaded)
        chosen = await _offer(loaded) if terminal else None
        if chosen is None:
            raise
    _tell(loaded, chosen)
    return selection.settled(loaded, chosen), None


def _tell_of_keys(loaded: "LoadedSettings") -> None:
    """Say that a key lies in the current folder: it is not used unless somebody says so."""
    from long_running_agents.models.names import USUAL, key_of

    for provider, usual in USUAL.items():
        if key_of(provider, loaded.nearby):
            note(f"The .env of this folder has a key of {provider}; '--model {usual}' uses it.")


def _tell(loaded: "LoadedSettings", chosen: "ModelChoice") -> None:
    origin = loaded.origin("agent.model.model_id")
    if chosen.small:
        note(SMALL.format(name=chosen.name))
    elif chosen.why != "settings":
        note(f"{chosen.why}: asking {chosen.name}. 'lra models use {chosen.name}' keeps that.")
    elif origin.startswith(str(Path.cwd() / ".env")) and Path.cwd() != loaded.home:
        note(f"asking {chosen.name}, as {origin} says")


async def _embedded(loaded: "LoadedSettings", name: str) -> str:
    """Have the weights of an embedded model here: naming it was agreeing to the download."""
    from long_running_agents.models.names import own_weights

    embedded = embedded_of(loaded)
    if (own := own_weights(name)) is not None:
        embedded.check(name)
        # Whole, since the session may go on somewhere else.
        return f"{_LOCAL}{own.absolute()}"
    weights = embedded.weights(name)
    embedded.require_runtime()
    if not embedded.path(weights).is_file():
        await fetch(embedded, weights)
    note(SMALL.format(name=f"{_LOCAL}{weights.name}"))
    return f"{_LOCAL}{weights.name}"


async def _offer(loaded: "LoadedSettings") -> "ModelChoice | None":
    """Ask the person whether the small model will do."""
    from long_running_agents.models.selection import ModelChoice

    embedded = embedded_of(loaded)
    catalog = embedded.catalog()
    if not catalog:
        return None
    try:
        embedded.require_runtime()
    except NotConfigured as error:
        # What could not be run is not offered.
        note(f"{error.message} {error.hint}")
        return None
    weights = next(iter(catalog.values()))
    click.echo("There is no key, no model server on this machine and no model in the settings.")
    if not click.confirm(f"Download a small model, {describe(weights)}?", default=True):
        return None
    await fetch(embedded, weights)
    return ModelChoice(f"{_LOCAL}{weights.name}", "embedded", small=True)


def embedded_of(loaded: "LoadedSettings") -> "Embedded":
    """The embedded models of a home."""
    from long_running_agents.models.embedded import Embedded

    return Embedded(Home(loaded.home).models)


def describe(weights: "WeightsFile") -> str:
    """Name, size and licence of weights."""
    return f"{weights.name} ({size(weights.size)}, {weights.licence})"


def size(count: int) -> str:
    """Bytes, for a person."""
    return f"{count / 1e9:.1f} GB" if count >= 1_000_000_000 else f"{count / 1e6:.0f} MB"  # noqa: PLR2004 - a GB


async def fetch(embedded: "Embedded", weights: "WeightsFile", source: Path | None = None) -> Path:
    """Fetch weights, with a bar that shows how far it is."""
    note(f"Downloading {describe(weights)} to {embedded.path(weights).parent}.")
    with click.progressbar(length=weights.size, label=weights.name, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return await embedded.pull(weights.name, progress=progress, source=source)


@command()
@click.option("--session", metavar="ID", help="Talk in this session; a new one unless given.")
@click.option("--continue", "newest", is_flag=True, help="Go on in the newest session.")
@agent_option
@model_option
@_gemini_option
@_yes_option
@unsafe_local_option
def chat(
    options: Options,
    session: str | None,
    newest: bool,
    agent: str | None,
    model: str | None,
    gemini: bool,
    yes: bool,
) -> int:
    """Talk with the agent.

    Without a terminal, each line that is piped in is a message, and calls that need an approval
    are refused unless --yes is given.

    When no model is set, one is looked for: a key, a model server on this machine, the embedded
    model. '--model local:' asks the embedded model, and fetches it if need be.

    When a server or another chat runs in the same home, the conversation joins it.

    While a turn runs, Enter queues a message, and Ctrl-G gives it to the turn at its next step.
    """
    if session is not None and newest:
        raise UsageError("--session and --continue contradict each other.", hint="Give one.")
    from long_running_agents.cli.conversation import ChatOptions

    wanted = ChatOptions(
        session=None if session is None else session_id(session),
        newest=newest,
        model=_named(model, gemini=gemini),
        yes=yes,
        colored=options.colored() is not False,
        agent=agent,
    )
    return talk(options, wanted)


def talk(options: Options, wanted: "ChatOptions") -> int:
    """Hold a conversation, with a person at a terminal or with lines that are piped in."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return asyncio.run(_chat(options.load(), wanted, terminal=terminal))


async def _chat(loaded: "LoadedSettings", wanted: "ChatOptions", *, terminal: bool) -> int:
    async with open_agent(
        loaded,
        wanted.model,
        terminal=terminal,
        resuming=wanted.newest or wanted.session is not None,
        announce=True,
    ) as (agent, model):
        wanted = dataclasses.replace(wanted, model=model)
        if not terminal:
            return await _lines(agent, wanted)
        from long_running_agents.cli.conversation import ChatLoop

        return await ChatLoop(agent, wanted).run()


async def _lines(agent: "AgentApi", wanted: "ChatOptions") -> int:
    from long_running_agents.cli import follow
    from long_running_agents.cli.main import OK
    from long_running_agents.cli.render import PlainScreen, Renderer
    from long_running_agents.domain.turn import Terms

    newest = await agent.sessions.newest() if wanted.newest else None
    fresh = SessionId(new_id("session", SystemClock().now()))
    key = wanted.session or (newest.id if newest else fresh)
    await follow.refuse_if_waiting(agent, key)
    if line := await follow.waiting_at(agent):
        note(line)
    terms = Terms(agent=wanted.agent)
    renderer, rule = Renderer(PlainScreen()), follow.by_rule(agent, yes=wanted.yes, approved=())
    code = OK
    while line := await asyncio.to_thread(sys.stdin.readline):
        if text := line.strip():
            ended = await follow.follow(
                agent,
                key,
                lambda text=text: agent.turns.start(
                    key, text, attended=wanted.yes, model=wanted.model, terms=terms
                ),
                show=renderer.show,
                ask=rule,
            )
            code = ended.exit_code or code
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    text: str
    session: str | None
    model: str | None
    as_json: bool
    yes: bool
    approved: tuple[str, ...]
    agent: str | None = None

    @property
    def attended(self) -> bool:
        """Whether questions have an answer."""
        return self.yes or bool(self.approved)


@command(json=True)
@click.argument("text", required=False)
@click.option("--session", metavar="ID", help="Ask in this session; a new one unless given.")
@click.option("--retry", is_flag=True, help="Go on with the last turn of --session instead.")
@agent_option
@model_option
@_gemini_option
@_yes_option
@click.option("--approve", multiple=True, metavar="TOOL", help="Allow the calls of this tool.")
@unsafe_local_option
def ask(  # noqa: PLR0913, PLR0917 - one for each option
    options: Options,
    text: str | None,
    session: str | None,
    retry: bool,
    agent: str | None,
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
    if retry and (session is None or text is not None):
        raise UsageError("--retry needs a --session and no text.", hint="'lra sessions list'")
    question = _Question(
        text="" if retry else _whole(text),
        session=session,
        model=_named(model, gemini=gemini),
        as_json=as_json,
        yes=yes,
        approved=approve,
        agent=agent,
    )
    return asyncio.run(_ask(options.load(), question))


def _whole(text: str | None) -> str:
    # A word of the shell may have bytes in it that are no text.
    parts = [] if text in (None, "-") else [str(text).encode(errors="replace").decode()]
    if text == "-" or not sys.stdin.isatty():
        piped = sys.stdin.read()
        if "\N{REPLACEMENT CHARACTER}" in piped:
            note("Some of what was piped in is not UTF-8: \N{REPLACEMENT CHARACTER} stands for it.")
        parts.append(piped)
    whole = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if not whole:
        raise UsageError("There is no question.", hint='Try: lra ask "What can you do?"')
    return whole


async def _ask(loaded: "LoadedSettings", question: _Question) -> int:
    from long_running_agents.cli import follow
    from long_running_agents.cli.render import PlainScreen, Renderer
    from long_running_agents.domain.turn import Terms, TurnStatus

    chosen, now = question.session, SystemClock().now()
    key = SessionId(new_id("session", now)) if chosen is None else session_id(chosen)
    terminal, streaming = sys.stdin.isatty() and sys.stderr.isatty(), sys.stdout.isatty()
    show = _print_event if question.as_json else Renderer(PlainScreen(words=streaming)).show
    async with open_agent(
        loaded, question.model, terminal=terminal, resuming=chosen is not None
    ) as (agent, model):
        await follow.refuse_if_waiting(agent, key)
        terms = Terms(agent=await _answering(agent, question, terminal=terminal))
        ended = await follow.follow(
            agent,
            key,
            lambda: (
                agent.turns.start(
                    key, question.text, attended=question.attended, model=model, terms=terms
                )
                if question.text
                else agent.turns.retry(key)
            ),
            show=show,
            ask=follow.by_rule(agent, yes=question.yes, approved=question.approved),
        )
        # A pipe gets the answer alone, whole; what was said on the way there is for people.
        if not streaming and not question.as_json and ended.turn.status is TurnStatus.DONE:
            click.echo(shown(ended.turn.answer))
        if sys.stderr.isatty() and not question.as_json:
            note(f"session {key}")
    return ended.exit_code


async def _answering(agent: "AgentApi", question: _Question, *, terminal: bool) -> str | None:
    """Who is to answer; a person says it where the router is not sure."""
    if question.agent != AUTO or not question.text or not terminal:
        return question.agent
    from long_running_agents.cli import agents

    routing = await agent.agents.route(question.text)
    if not routing.unsure:
        return AUTO
    note(agents.question_text(routing))
    while (name := agents.chosen(routing, click.prompt("Number", default="1", err=True))) is None:
        note("That is none of them.")
    return await agents.taught(agent.agents, name, question.text)


async def _print_event(heard: "EventEnvelope | DeltaEnvelope") -> None:
    click.echo(json.dumps(heard.wire(), ensure_ascii=False))


class _ContextGroup(CommandGroup):
    """Shows where no command is named."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if {*known} & {*args} else ["show", *args])


@click.group(cls=_ContextGroup)
def context() -> None:
    """Show or check what the next request of a session contains; without a command, show it."""


@context.subcommand("show", json=True)
@click.argument("session", required=False)
def show_context(options: Options, session: str | None, as_json: bool) -> None:
    """Show what the next request of a session contains, the newest unless one is given."""
    from long_running_agents.cli.output import print_json
    from long_running_agents.cli.slash import context_lines

    found = asyncio.run(_of_session(options, session, lambda agent, key: agent.context(key)))
    if as_json:
        print_json(found)
        return
    click.echo(context_lines(found))
    rules = [part["text"] for part in found["instructions"] if part["source"] == "rules"]
    for part in filter(None, [*rules, found["block"]]):
        click.echo(f"\n{shown(part)}")


@context.subcommand("check", json=True)
@click.argument("session", required=False)
def check_context(options: Options, session: str | None, as_json: bool) -> int:
    """Ask the model about rules, files, tasks and decisions, shown only what the next request has.

    The answers are compared with what is stored. The exit code is 1 when one lacks something.
    """
    from long_running_agents.cli.output import print_json

    found = asyncio.run(_of_session(options, session, lambda agent, key: agent.check(key)))
    if as_json:
        print_json(found)
    elif not found:
        note("Nothing was said yet that could be asked for.")
    for each in () if as_json else found:
        outcome = f"missing: {'; '.join(each.missing)}" if each.missing else "passed"
        click.echo(f"{each.kind:<13} {each.question} {' '.join(shown(outcome).split())}")
    return int(any(each.missing for each in found))


async def _of_session(
    options: Options,
    session: str | None,
    work: "Callable[[AgentApi, SessionId], Awaitable[T]]",
) -> "T":
    """Do something with a session, the newest unless one is given, wherever its home is open."""
    async with open_agent(options.load(), None, terminal=False, resuming=True) as (agent, _):
        newest = None if session else await agent.sessions.newest()
        return await work(agent, newest.id if newest else session_id(session or ""))
