"""`lra skills run`: one call in a sandbox, to see what a skill does."""

import json
from typing import TYPE_CHECKING, Any, cast

import click

from long_running_agents.cli.code import seen
from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json
from long_running_agents.cli.reading import with_skills
from long_running_agents.cli.skill_names import name_argument, version_option
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from long_running_agents.domain.skill import Attempt
    from long_running_agents.skills.library import Library


@click.command()
@name_argument
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--args", "whole", metavar="JSON", help="All arguments, as one JSON object.")
@version_option
@json_option
@pass_options
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

    async def work(library: "Library") -> "Attempt":
        from long_running_agents.skills.validating import complaints

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
    """What was typed as KEY=VALUE.

    Args:
        pairs: What was typed.
        schema: What the arguments have to be; text stays text even if it looks like a number.
    """
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
