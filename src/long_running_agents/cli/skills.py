"""`lra skills`: the tools that were made; `list-tools`, `inspect-tool`, `export-tools`: all."""

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from long_running_agents.cli import skill_output as showing
from long_running_agents.cli.access import changing_skills, has_database, with_database, with_skills
from long_running_agents.cli.main import FAILED, OK, CommandGroup, Options, command
from long_running_agents.cli.output import (
    confirmed,
    moment,
    note,
    output_option,
    plain,
    print_code,
    print_json,
    print_list,
    private_file,
    read_text,
    seen,
    yes_option,
)
from long_running_agents.errors import Busy, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from long_running_agents.api import SkillApi
    from long_running_agents.domain.skill import Attempt, Problem, Skill, Version
    from long_running_agents.skills.library import SkillLibrary
    from long_running_agents.tools.catalog import ListedTool


BY = "person"
"""Who decides at the terminal."""
NUMBER = click.IntRange(1, (1 << 31) - 1)
"""The number of a version."""
STATES = ("enabled", "disabled", "proposed")
_NOTHING = "There are no skills yet: 'lra create-tool' makes one, and so does the agent."
_SKILL, _BUILT_IN = "skill", "built_in"

version_option = click.option(
    "--version", "number", type=NUMBER, metavar="N", help="This version of it."
)
force_option = click.option("--force", is_flag=True, help="Replace a file that is there.")


def checked(name: str) -> str:
    """A name that a skill can have; no other text can be looked for."""
    from long_running_agents.domain.skill import GUIDE_NAME, NAME

    if not NAME.fullmatch(name) and not GUIDE_NAME.fullmatch(name):
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")
    return name


def _known(_: click.Context, __: click.Parameter, name: str) -> str:
    return checked(name)


name_argument = click.argument("name", callback=_known)
"""A skill; refused when nothing can have this name."""


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def skills(context: click.Context) -> None:
    """List, show, approve, run and delete the tools that were made; without a command, list."""
    if context.invoked_subcommand is None:
        context.invoke(list_skills, state=None, as_json=False)


@skills.subcommand()
@name_argument
@version_option
@yes_option
def approve(options: Options, name: str, number: int | None, yes: bool) -> None:
    """Let a version be used, the one that waits unless another is named; it is shown first."""

    async def look(library: "SkillLibrary") -> "Version":
        skill = await library.get(name)
        return await library.version(name, number or _waiting(skill))

    version = with_skills(options, look)
    question = f"Use {name} version {version.number} from now on?"
    if not (yes or _confirmed(question, lambda: showing.print_proposal(version))):
        note(f"Nothing has changed. 'lra skills reject {name}' says no for good.")
        return
    # The very version that was shown, whatever was proposed meanwhile.
    _change(options, "approved", lambda library: library.approve(name, version.number, by=BY))


@skills.subcommand()
@name_argument
@version_option
def reject(options: Options, name: str, number: int | None) -> None:
    """Say no to a version, the one that waits unless another is named."""
    _change(options, "rejected", lambda library: library.reject(name, number, by=BY))


@skills.subcommand()
@name_argument
@click.argument("number", metavar="[VERSION]", type=NUMBER, required=False)
def rollback(options: Options, name: str, number: int | None) -> None:
    """Use an earlier version again, the one before unless another is named."""
    _change(options, "rolled back", lambda library: library.roll_back(name, number, by=BY))


@skills.subcommand()
@name_argument
def enable(options: Options, name: str) -> None:
    """Use a skill again that was disabled."""
    _change(options, "enabled", lambda library: library.enable(name, by=BY))


@skills.subcommand()
@name_argument
@click.option("--reason", default="", help="Why, for whoever looks at it later.")
def disable(options: Options, name: str, reason: str) -> None:
    """Let a skill rest; nothing of it is lost."""
    # A terminal may send what is no text; nothing of that can be kept.
    why = reason.encode("utf-8", "replace").decode()
    _change(options, "disabled", lambda library: library.disable(name, why, by=BY))


@skills.subcommand()
@name_argument
@yes_option
def delete(options: Options, name: str, yes: bool) -> None:
    """Delete a skill with all its versions, and its file; this cannot be undone."""
    skill = with_skills(options, lambda library: library.get(name))
    count = "its version" if skill.newest == 1 else f"all {skill.newest} versions of it"
    if not (yes or _confirmed(f"Delete {name} with {count}? This cannot be undone.")):
        note("Nothing was deleted.")
        return
    changing_skills(options, lambda library: library.delete(name, by=BY))
    note(f"deleted: {name}")


def _confirmed(question: str, show: Callable[[], object] = lambda: None) -> bool:
    return confirmed(question, f"{question} There is no terminal to confirm it.", show)


def _waiting(skill: "Skill") -> int:
    if skill.proposed is None:
        raise Busy(
            f"No version of {skill.name!r} waits for an answer.",
            hint=f"'lra skills versions {skill.name}' shows them; name one with --version.",
        )
    return skill.proposed


def _change(options: Options, done: str, work: "Callable[[SkillApi], Awaitable[Skill]]") -> None:
    showing.print_change(changing_skills(options, work), done)


@skills.subcommand("list", json=True)
@click.option(
    "--state",
    type=click.Choice(STATES),
    help="Only those in this state; 'proposed' are all with a version that waits.",
)
def list_skills(options: Options, state: str | None, as_json: bool) -> None:
    """List the skills: what they are, whether they are in use, how often they were."""
    found, problems = _everything(options)
    chosen = [
        each
        for each in found
        if state in (None, each.state) or (state == "proposed" and each.proposed is not None)
    ]
    if as_json:
        print_json([showing.as_json(each) for each in chosen])
        return
    if not found:
        note(_NOTHING)
    elif not chosen:
        note(f"No skill is {state}.")
    else:
        showing.print_skills(chosen)
    lines = (
        showing.waiting_line(found),
        showing.problems_line(len(problems)),
        showing.unseen_line(_unseen(options, problems)),
    )
    for line in filter(None, lines):
        note(line)
    if not options.load().settings.agent.tools.enable.skills:
        note("Skills are switched off: the agent is offered none (agent.tools.enable.skills).")


@skills.subcommand(json=True)
@name_argument
@version_option
def show(options: Options, name: str, number: int | None, as_json: bool) -> None:
    """Show a skill: what it takes, where it came from, how its trial went, and its code."""

    async def work(library: "SkillLibrary") -> "tuple[Skill, Version]":
        return await library.get(name), await library.version(name, number)

    skill, version = with_skills(options, work)
    if as_json:
        print_json({"skill": showing.as_json(skill), "version": version})
    else:
        showing.print_skill(skill, version)


@skills.subcommand(json=True)
@name_argument
def versions(options: Options, name: str, as_json: bool) -> None:
    """List the versions of a skill, the newest first."""

    async def work(library: "SkillLibrary") -> "tuple[Skill, Sequence[Version]]":
        return await library.get(name), await library.versions(name)

    skill, found = with_skills(options, work)
    if as_json:
        print_json([{**plain(each), "in_use": each.number == skill.version} for each in found])
        return
    print_list(
        found,
        "version, standing, in use, from, made, decided by, label",
        lambda each: (
            each.number,
            each.standing,
            "yes" if each.number == skill.version else "",
            each.brought.origin,
            moment(each.created_at),
            each.decided_by,
            each.label,
        ),
    )


@skills.subcommand()
@name_argument
@click.argument("old", type=NUMBER, required=False)
@click.argument("new", type=NUMBER, required=False)
def diff(options: Options, name: str, old: int | None, new: int | None) -> None:
    """Show how two versions differ: the one in use and the newest, unless others are named."""

    async def work(library: "SkillLibrary") -> "tuple[int, int, str]":
        skill = await library.get(name)
        before = old or skill.version or max(1, skill.newest - 1)
        after = new or skill.newest
        return before, after, await library.diff(name, before, after)

    before, after, text = with_skills(options, work)
    if text.strip():
        print_code(text, "diff")
    else:
        note(f"Versions {before} and {after} of {name} do not differ.")


@skills.subcommand(json=True)
def problems(options: Options, as_json: bool) -> None:
    """List the files among the skills that cannot be skills, and why."""
    _, found = _everything(options, making=True)
    print_list(
        found,
        "file, seen, why not",
        attrgetter("path", "seen_at", "error"),
        as_json=as_json,
        nothing="Every file among the skills is one.",
    )


def _everything(
    options: Options, *, making: bool = False
) -> "tuple[Sequence[Skill], Sequence[Problem]]":
    async def work(library: "SkillLibrary") -> "tuple[Sequence[Skill], Sequence[Problem]]":
        return await library.every(), await library.problems()

    # A home without a database has no skills; that is an answer, not a failure.
    return with_skills(options, work, making=making) if has_database(options) else ((), ())


def _unseen(options: Options, problems: "Sequence[Problem]") -> int:
    """How many files among the skills nobody has looked at yet."""
    from long_running_agents.home import agent_folder
    from long_running_agents.skills import files
    from long_running_agents.store import skills
    from long_running_agents.tools.workspace import open_agent_folder

    loaded = options.load()
    owner = loaded.settings.owner
    if not agent_folder(loaded, owner).is_dir():
        return 0
    known = {problem.digest for problem in problems}
    known |= with_database(
        options, lambda database: database.read(lambda tx: skills.digests(tx, owner)), empty=set()
    )
    found = files.found_files(open_agent_folder(loaded, owner))
    return sum(each.digest not in known for each in found)


@skills.subcommand(json=True)
@name_argument
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--args", "whole", metavar="JSON", help="All arguments, as one JSON object.")
@version_option
def run(
    options: Options,
    name: str,
    pairs: tuple[str, ...],
    whole: str | None,
    number: int | None,
    as_json: bool,
) -> int:
    """Call a skill once, in a sandbox with an empty workspace; it is not counted.

    A VALUE is JSON, such as 3 or [1, 2] or "text"; whatever is no JSON is text.
    """
    if whole is not None and pairs:
        raise UsageError("--args and KEY=VALUE contradict each other.", hint="Give one.")

    async def work(library: "SkillLibrary") -> "Attempt":
        from long_running_agents.skills.trial import complaints

        version = await library.version(name, number)
        schema = version.interface.parameters
        args = object_of(whole) if whole is not None else arguments(pairs, schema)
        if version.interface.function and (wrong := complaints(schema, args)):
            raise UsageError(
                f"{name} cannot be called like this: {wrong}.",
                hint=f"'lra skills show {name}' tells what it takes.",
            )
        return await library.run(name, args, version.number)

    attempt = with_skills(options, work)
    if as_json:
        print_json(attempt)
    elif attempt.error:
        note(f"{name} {attempt.error}")
    else:
        click.echo(seen(attempt.shown))
        note(f"{attempt.duration_ms:.0f} ms")
    return FAILED if attempt.error else OK


def arguments(pairs: "Sequence[str]", schema: "Mapping[str, Any]") -> dict[str, Any]:
    """What was typed as KEY=VALUE; text stays text where the schema says so."""
    known: Mapping[str, Any] = schema.get("properties") or {}
    args: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"{pair!r} is not an argument.", hint="Write KEY=VALUE.")
        if key in args:
            raise UsageError(f"{key!r} is given twice.", hint="Give it once.")
        args[key] = _value(text, known.get(key))
    return args


def object_of(text: str) -> dict[str, Any]:
    """What was typed as one JSON object."""
    try:
        found: object = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--args is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise UsageError("--args is no JSON object.", hint="""Such as '{"text": "hello"}'.""")
    return cast("dict[str, Any]", found)


def _value(text: str, about: object) -> Any:
    try:
        found: object = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text
    of_text = isinstance(about, dict) and cast("dict[str, Any]", about).get("type") == "string"
    return text if of_text and not isinstance(found, str) else found


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


@skills.subcommand("import", json=True)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
def import_skills(options: Options, path: Path, as_json: bool) -> None:
    """Propose every public function of a Python file; each is reviewed and tried."""
    text = read_text(path)
    found = changing_skills(options, lambda library: library.bring_in(text), making=True)
    row = attrgetter("name", "number", "standing")
    print_list(found, "name, version, standing", row, as_json=as_json)
    for each in () if as_json else found:
        if each.standing == "proposed":
            note(f"{each.name} waits for approval: lra skills approve {each.name}")


@skills.subcommand("export")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@output_option
@force_option
def export_skills(
    options: Options, names: tuple[str, ...], output: Path | None, force: bool
) -> None:
    """Write all functions in use, or those named, as one plain Python module."""
    _export(options, names, output, force=force)


def _export(options: Options, names: Sequence[str], output: Path | None, *, force: bool) -> None:
    chosen = [checked(name) for name in names]
    text = with_skills(options, lambda library: library.export(chosen or None))
    if output is None:
        click.echo(seen(text), nl=False)
        return
    with private_file(output, replace=force) as file:
        file.write(text)
    note(f"Written to {output}.")


@command("list-tools", json=True)
def list_tools(options: Options, as_json: bool) -> None:
    """List every tool, built in or made, and whether the agent may use it."""
    from long_running_agents.tools.catalog import listed

    settings = options.load().settings
    made, tools = _everything(options)[0], settings.agent.tools
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
        for skill in made
        if skill.kind == "function"
    ]
    print_list(
        rows,
        "name, on, kind, family, what it does",
        lambda row: (
            row["name"],
            "on" if row["enabled"] else "off",
            row["kind"].replace("_", "-"),
            row["family"],
            row["description"],
        ),
        as_json=as_json,
    )
    if not as_json:
        note("Tools of MCP servers: lra mcp list")


@command("inspect-tool", json=True)
@click.argument("name")
def inspect_tool(options: Options, name: str, as_json: bool) -> None:
    """Show one tool: what it takes, what it can do, and of one that was made, its code."""
    from long_running_agents.tools.catalog import listed

    found = next((each for each in listed(options.load().settings) if each.name == name), None)
    if found is not None:
        _inspect_built_in(found, as_json)
        return
    from long_running_agents.domain.tool import Effect
    from long_running_agents.tools.deps import code_powers

    skill, version = _made(options, name)
    network = bool(options.load().settings.sandbox.network)
    effect, powers = Effect.ONCE, code_powers(network=network)
    if as_json:
        told = {"name": name, "kind": _SKILL, "effect": effect, "powers": powers}
        print_json({**told, "skill": showing.as_json(skill), "version": version})
        return
    showing.print_skill(skill, version, [f"{_SKILL}; {_can(effect, powers)}"])


@command("export-tools")
@output_option
@force_option
def export_tools(options: Options, output: Path | None, force: bool) -> None:
    """Write all tools that were made and are in use as one plain Python module."""
    _export(options, (), output, force=force)


def _made(options: Options, name: str) -> "tuple[Skill, Version]":
    async def work(library: "SkillLibrary") -> "tuple[Skill, Version] | None":
        known = next((each for each in await library.every() if each.name == name), None)
        return None if known is None else (known, await library.version(name))

    found = with_skills(options, work) if has_database(options) else None
    if found is None:
        raise NotFound(f"No tool {name!r}.", hint="'lra list-tools' shows them.")
    return found


def _built_in(tool: "ListedTool") -> dict[str, Any]:
    return {"name": tool.name, "kind": _BUILT_IN, **plain(tool)}


def _inspect_built_in(tool: "ListedTool", as_json: bool) -> None:
    if as_json:
        print_json(_built_in(tool))
        return
    state = "on" if tool.enabled else "off in the settings"
    click.echo(click.style(tool.name, bold=True) + f": built-in ({tool.family}), {state}")
    click.echo(f"  {_can(tool.effect, tool.powers)}")
    does = showing.labelled("does", tool.description.split("\n"))
    for line in (*does, *showing.call_lines(tool.parameters)):
        click.echo(seen(line))


def _can(effect: str, powers: "frozenset[str]") -> str:
    also = f"; it can {', '.join(sorted(powers))}" if powers else ""
    return f"effect: {effect}{also}"
