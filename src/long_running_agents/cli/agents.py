"""`lra agents`: list, show, make, edit, publish, retire, compare, import, export, route, stats."""

import difflib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.access import with_agents
from long_running_agents.cli.main import CommandGroup, Options
from long_running_agents.cli.output import (
    block,
    confirmed,
    note,
    output_option,
    plain,
    print_code,
    print_either,
    print_json,
    print_list,
    private_file,
    read_text,
    seen,
    visible,
    yes_option,
)
from long_running_agents.domain.agent import AgentSpec, AgentStage, content, label_parts
from long_running_agents.errors import LraError, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from long_running_agents.agent.agent_files import ImportedAgent
    from long_running_agents.api import AgentApi
    from long_running_agents.domain.routing import RouteCandidate, Routing

FOLDERS = (".claude/agents", ".agents/agents", "agents")
"""Where projects keep agents."""
_MOST_FILES = 5000
VERSION = click.IntRange(1, (1 << 31) - 1)

label_argument = click.argument("label", metavar="NAME[@VERSION]")
file_option = click.option(
    "--file", "path", type=click.Path(path_type=Path), help="Markdown or JSON; '-' for stdin."
)
publish_option = click.option("--publish", "use", is_flag=True, help="Use it from now on.")


@click.group(cls=CommandGroup)
def agents() -> None:
    """List, make, publish, import and export agents."""


@agents.subcommand("list", json=True)
def list_agents(options: Options, as_json: bool) -> None:
    """List the agents: of each the version in use, or else the newest."""
    print_list(
        with_agents(options, lambda service: service.every()),
        "agent, stage, from, model, what it is for",
        lambda spec: (spec.label, spec.stage, spec.origin, spec.model or "", spec.description),
        as_json=as_json,
    )


@agents.subcommand(json=True)
@label_argument
def show(options: Options, label: str, as_json: bool) -> None:
    """Show an agent: the version in use, or the newest, or the one that is named."""
    _print(with_agents(options, lambda service: service.get(*label_parts(label))), as_json=as_json)


@agents.subcommand(json=True)
@click.argument("name", required=False)
@click.option("--description", help="What it is for.")
@click.option("--instructions", help="What its model is told first.")
@click.option("--model", help="The model it asks, as provider:model; the session's unless given.")
@click.option("--tool", "tools", multiple=True, help="A tool it may use; the usual unless given.")
@click.option("--example", "examples", multiple=True, help="A sentence that is for it.")
@file_option
@publish_option
def new(  # noqa: PLR0913, PLR0917 - one for each option
    options: Options,
    name: str | None,
    description: str | None,
    instructions: str | None,
    model: str | None,
    tools: tuple[str, ...],
    examples: tuple[str, ...],
    path: Path | None,
    use: bool,
    as_json: bool,
) -> None:
    """Make an agent, or the next version of one, from options or a file of yours."""
    told = {
        "name": name,
        "description": description,
        "instructions": instructions,
        "model": model,
        "tools": {"allow": tools} if tools else None,
        "examples": examples or None,
    }
    said = {} if path is None else _from_file(options, path, read_text(path))
    said |= {key: value for key, value in told.items() if value is not None}
    if "name" not in said:
        raise UsageError("The agent has no name.", hint="'lra agents new NAME' or --file FILE.")
    _saved(options, said, use=use, as_json=as_json)


@agents.subcommand(json=True)
@label_argument
@file_option
@publish_option
def edit(options: Options, label: str, path: Path | None, use: bool, as_json: bool) -> None:
    """Make the next version of an agent: in your editor, or from a file."""
    name, version = label_parts(label)
    if path is not None:
        said = _from_file(options, path, read_text(path))
    else:
        if not (sys.stdin.isatty() and (os.environ.get("VISUAL") or os.environ.get("EDITOR"))):
            raise UsageError("There is no editor: EDITOR is not set.", hint="Give a --file.")
        text = with_agents(options, lambda service: service.export(name, version))
        changed = click.edit(text, extension=".md")
        if changed is None or changed == text:
            note("Nothing has changed.")
            return
        said = _from_file(options, Path(f"{name}.md"), changed)
    _saved(options, {**said, "name": name}, use=use, as_json=as_json)


@agents.subcommand(json=True)
@label_argument
@yes_option
def publish(options: Options, label: str, yes: bool, as_json: bool) -> None:
    """Use a version of an agent, the newest unless one is named.

    What others wrote is shown first, with the tools that it would have.
    """
    name, version = label_parts(label)

    async def look(service: "AgentApi") -> AgentSpec:
        return (await service.history(name))[0] if version is None else await service.get(label)

    spec = with_agents(options, look)
    question = f"Use {spec.label} from now on?"
    unheard = f"{spec.label} is from {spec.origin}; there is no terminal to confirm it."
    foreign = spec.origin.startswith(("import:", "agent:"))
    if (
        foreign
        and not yes
        and not confirmed(question, unheard, lambda: _print(spec, as_json=False))
    ):
        note("Nothing has changed.")
        return
    # The very version that was shown, whatever was stored meanwhile.
    _done(options, lambda service: service.publish(name, spec.version), as_json)


@agents.subcommand(json=True)
@click.argument("name")
def retire(options: Options, name: str, as_json: bool) -> None:
    """Use an agent no more; its versions stay."""
    _done(options, lambda service: service.retire(name), as_json)


@agents.subcommand(json=True)
@click.argument("name")
def history(options: Options, name: str, as_json: bool) -> None:
    """List all versions of an agent, the newest first."""
    print_list(
        with_agents(options, lambda service: service.history(name)),
        "agent, stage, from, made, digest",
        lambda spec: (spec.label, spec.stage, spec.origin, spec.created_at, spec.digest),
        as_json=as_json,
    )


@agents.subcommand(json=True)
@click.argument("name")
@click.argument("old", type=VERSION)
@click.argument("new", type=VERSION)
def diff(options: Options, name: str, old: int, new: int, as_json: bool) -> None:
    """Show how two versions of an agent differ."""

    async def both(service: "AgentApi") -> list[list[str]]:
        found = [await service.export(name, version) for version in (old, new)]
        return [text.splitlines(keepends=True) for text in found]

    before, after = with_agents(options, both)
    labels = (f"{name}@{old}", f"{name}@{new}")
    text = "".join(difflib.unified_diff(before, after, *labels))
    if as_json:
        print_json({"diff": text})
    elif text:
        print_code(text, "diff")
    else:
        note(f"{labels[0]} and {labels[1]} do not differ.")


@agents.subcommand("import", json=True)
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER", type=click.Path())
def import_agents(options: Options, paths: tuple[str, ...], as_json: bool) -> None:
    """Take agents of others in, as drafts: Markdown with front matter, or Letta's .af.

    Of a project, those in .claude/agents, .agents/agents and agents are taken. 'lra agents publish'
    shows one and lets it be used.
    """
    files = [file for path in paths for file in _files(Path(path))]

    async def work(service: "AgentApi") -> tuple[list[AgentSpec], list[str]]:
        found: list[AgentSpec] = []
        skipped: list[str] = []
        for file in files:
            try:
                found += await service.bring_in(read_text(file), file=file.name)
            except (UsageError, NotFound) as error:
                if len(files) == 1:
                    raise
                skipped.append(error.message)
        return found, skipped

    found, skipped = with_agents(options, work)
    print_list(
        found,
        "agent, stage, tools, what it is for",
        lambda spec: (spec.label, spec.stage, _tools(spec), spec.description),
        as_json=as_json,
    )
    warnings = [f"{spec.label}: {each}" for spec in found for each in spec.warnings]
    for line in [*([] if as_json else warnings), *(f"left out: {each}" for each in skipped)]:
        note(line)
    if not found:
        raise UsageError("None of the files is an agent.", hint="See docs/how-to/make-agents.md.")


@agents.subcommand("export", json=True)
@label_argument
@output_option
def export_agent(options: Options, label: str, output: Path | None, as_json: bool) -> None:
    """Write an agent as Markdown with front matter, which other programs read, too."""
    text = with_agents(options, lambda service: service.export(*label_parts(label)))
    if as_json:
        print_json({"text": text})
    elif output is None:
        click.echo(seen(text), nl=False)
    else:
        with private_file(output) as file:
            file.write(text)
        note(f"Written to {output}.")


@agents.subcommand(json=True)
@click.argument("text")
@click.option("--needs", multiple=True, help="A capability that the agent must have.")
def route(options: Options, text: str, needs: tuple[str, ...], as_json: bool) -> None:
    """Say which agent a message is for, and why; nothing is sent."""
    found = with_agents(options, lambda service: service.route(text, needs=needs))
    print_either(found, as_json, lambda routing: click.echo(visible(routing_text(routing))))


@agents.subcommand(json=True)
@click.argument("name")
def stats(options: Options, name: str, as_json: bool) -> None:
    """Say how each version of an agent has done, the newest first."""
    print_list(
        with_agents(options, lambda service: service.stats(name)),
        "agent, turns, done, refuted, tokens, cost, p50, p95, unusual",
        lambda each: (
            each.agent,
            each.turns,
            each.done,
            each.refuted,
            each.tokens,
            f"${each.cost:.4f}",
            f"{each.p50_seconds:.1f} s",
            f"{each.p95_seconds:.1f} s",
            "; ".join(each.anomalies),
        ),
        as_json=as_json,
        nothing=f"No turn was run with {name} yet.",
    )


def own_agent(options: Options, file: Path, text: str) -> "ImportedAgent":
    """The agent that a person's own file describes."""
    from long_running_agents.agent.agent_files import read_agents
    from long_running_agents.agent.registry import file_words

    found = read_agents(text, file=file.name, words=file_words(options.load().settings))
    return found[0]


def _from_file(options: Options, path: Path, text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise UsageError(f"{path} is not JSON: {error}.", hint="Give an object.") from error
    found = own_agent(options, path, text)
    for warning in found.warnings:
        note(warning)
    return content(found.draft)


def _saved(options: Options, said: dict[str, Any], *, use: bool, as_json: bool) -> None:
    async def work(service: "AgentApi") -> AgentSpec:
        spec = await service.save(said)
        return await service.publish(spec.name, spec.version) if use else spec

    spec = _done(options, work, as_json)
    if spec.stage is AgentStage.DRAFT:
        note(f"'lra agents publish {spec.name}' lets it be used.")


def _done(
    options: Options, work: "Callable[[AgentApi], Awaitable[AgentSpec]]", as_json: bool
) -> AgentSpec:
    spec = with_agents(options, work)
    print_either(spec, as_json, lambda each: click.echo(f"{each.label}: {each.stage}"))
    return spec


def _files(path: Path) -> list[Path]:
    """The files that may be agents: this one, or those in a folder."""
    from long_running_agents.agent.agent_files import SUFFIXES

    if not path.is_dir():
        return [path]
    inside = [path / folder for folder in FOLDERS if (path / folder).is_dir()] or [path]
    found = sorted(file for each in inside for file in each.rglob("*") if file.suffix in SUFFIXES)
    if not found or len(found) > _MOST_FILES:
        raise UsageError(f"{path} has {len(found)} files that may be agents.", hint="Name them.")
    return found


def _tools(spec: AgentSpec) -> str:
    allow, deny = spec.tools.allow, spec.tools.deny
    told = "the usual ones" if allow is None else ", ".join(allow) or "none"
    return f"{told}; never {', '.join(deny)}" if deny else told


def _print(spec: AgentSpec, *, as_json: bool) -> None:
    if as_json:
        print_json({**plain(spec), "digest": spec.digest})
        return
    policy, said = spec.policy, content(spec)
    lines = {
        "for": spec.description,
        "from": spec.origin,
        "model": spec.model or "the session's",
        "tools": _tools(spec),
        "workspace": policy.workspace,
        "asks for": ", ".join(policy.approvals),
        "network": "" if policy.network is None else ", ".join(policy.network) or "none",
        "can": ", ".join(spec.capabilities),
        "examples": "; ".join(spec.examples),
    }
    lines |= {key: json.dumps(said[key]) for key in ("sampling", "budget", "chain") if key in said}
    click.echo(f"{spec.label}: {spec.stage}, {spec.digest}")
    for key, value in lines.items():
        if value:
            click.echo(f"  {key:<10} {visible(' '.join(value.split()))}")
    for warning in spec.warnings:
        click.echo(f"  {'warning':<10} {visible(warning)}")
    if spec.instructions:
        click.echo(block(spec.instructions))


def reason(candidate: "RouteCandidate") -> str:
    """Why a message may be for an agent."""
    why = [f"words: {', '.join(candidate.words)}"] if candidate.words else []
    why += [f"like: {candidate.near_example!r}"] if candidate.near_example else []
    return f"{candidate.agent} ({candidate.score:.2f}) {'; '.join(why)}".rstrip()


def routing_text(routing: "Routing") -> str:
    """Which agent a message is for, and why."""
    to = routing.to or "the home's own agent"
    lines = [f"{to}, by {routing.by}, margin {routing.margin:.2f}"]
    return "\n".join([*lines, *(f"  {reason(each)}" for each in routing.candidates)])


_ASKED = 3


def question_text(routing: "Routing") -> str:
    """What a person is asked who has to say for whom a message is."""
    lines = [f"  {n}  {reason(each)}" for n, each in enumerate(_best(routing), start=1)]
    return "\n".join(["Who shall answer?", *lines, "  0  the home's own agent"])


def chosen(routing: "Routing", answer: str) -> str | None:
    """The agent that a person has chosen, "" for the home's own; None when it is no answer."""
    names = ["", *(label_parts(each.agent)[0] for each in _best(routing))]
    number = answer.strip()
    return names[int(number)] if number in map(str, range(len(names))) else None


def _best(routing: "Routing") -> "Sequence[RouteCandidate]":
    return routing.candidates[:_ASKED]


async def taught(service: "AgentApi", name: str, text: str) -> str:
    """Have the router know whom a message was for."""
    if name:
        try:
            await service.learn(name, text)
        except LraError as error:
            # The message matters more than what is learned from it.
            note(f"not learned: {error.message}")
    return name
