"""`lra list-tools`, `inspect-tool`, `export-tools`: all tools, built in or made."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli import skill_showing as showing
from long_running_agents.cli.code import seen
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, plain, print_json, print_table
from long_running_agents.cli.reading import has_database, with_skills
from long_running_agents.cli.skill_transfer import export, force_option, output_option
from long_running_agents.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.skill import Skill, Version
    from long_running_agents.skills.library import Library
    from long_running_agents.tools.listing import Listed

_SKILL, _BUILT_IN = "skill", "built_in"


@click.command("list-tools")
@json_option
@pass_options
def list_tools(options: Options, as_json: bool) -> None:
    """List every tool, built in or made, and whether the agent may use it."""
    from long_running_agents.tools.listing import listed

    settings = options.load().settings
    skills = with_skills(options, _functions) if has_database(options) else ()
    tools = settings.agent.tools
    rows = [_built_in(each) for each in listed(settings)]
    rows += [
        {
            "name": skill.name,
            "kind": _SKILL,
            "family": "",
            "enabled": skill.enabled
            and tools.enable.skills
            and (tools.allow is None or skill.name in tools.allow),
            "state": skill.state,
            "version": skill.version,
            "description": skill.description,
        }
        for skill in skills
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["name", "on", "kind", "family", "what it does"],
        [
            [
                row["name"],
                "on" if row["enabled"] else "off",
                row["kind"].replace("_", "-"),
                row["family"],
                row["description"],
            ]
            for row in rows
        ],
    )
    note("Tools of foreign servers: lra mcp list")


@click.command("inspect-tool")
@click.argument("name")
@json_option
@pass_options
def inspect_tool(options: Options, name: str, as_json: bool) -> None:
    """Show one tool: what it takes, what it can do, and of one that was made, its code."""
    from long_running_agents.tools.listing import listed

    found = next((each for each in listed(options.load().settings) if each.name == name), None)
    if found is not None:
        _inspect_built_in(found, as_json)
        return
    skill, version = _made(options, name)
    about = _nature(options)
    if as_json:
        print_json(
            {
                "name": name,
                "kind": _SKILL,
                **about,
                "skill": showing.as_json(skill),
                "version": version,
            }
        )
        return
    showing.print_skill(skill, version, [f"{_SKILL}; {_can(about['effect'], about['powers'])}"])


@click.command("export-tools")
@output_option
@force_option
@pass_options
def export_tools(options: Options, output: Path | None, force: bool) -> None:
    """Write all tools that were made and are in use as one plain Python module."""
    export(options, (), output, force=force)


async def _functions(library: "Library") -> "Sequence[Skill]":
    from long_running_agents.domain.skill import Kind

    return [each for each in await library.every() if each.kind is Kind.FUNCTION]


def _made(options: Options, name: str) -> "tuple[Skill, Version]":
    async def work(library: "Library") -> "tuple[Skill, Version] | None":
        known = next((each for each in await library.every() if each.name == name), None)
        return None if known is None else (known, await library.version(name))

    found = with_skills(options, work) if has_database(options) else None
    if found is None:
        raise NotFound(f"No tool {name!r}.", hint="'lra list-tools' shows them.")
    return found


def _nature(options: Options) -> dict[str, Any]:
    """What every skill can do."""
    from long_running_agents.domain.tool import Effect
    from long_running_agents.tools.effects import code_powers

    network = bool(options.load().settings.sandbox.network)
    return {"effect": Effect.ONCE, "powers": code_powers(network=network)}


def _built_in(tool: "Listed") -> dict[str, Any]:
    return {"name": tool.name, "kind": _BUILT_IN, **plain(tool)}


def _inspect_built_in(tool: "Listed", as_json: bool) -> None:
    if as_json:
        print_json(_built_in(tool))
        return
    state = "on" if tool.enabled else "off in the settings"
    click.echo(click.style(tool.name, bold=True) + f": built-in ({tool.family}), {state}")
    click.echo(f"  {_can(tool.effect, tool.powers)}")
    for line in showing.told("does", tool.description.split("\n")):
        click.echo(seen(line))
    for line in showing.call_lines(tool.parameters):
        click.echo(seen(line))


def _can(effect: str, powers: "frozenset[str]") -> str:
    also = f"; it can {', '.join(sorted(powers))}" if powers else ""
    return f"effect: {effect}{also}"
