"""Skills as a person sees them at the terminal."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from long_running_agents.cli.output import moment, note, plain, print_code, print_list, seen

if TYPE_CHECKING:
    from long_running_agents.domain.skill import Attempt, Finding, Skill, SkillTrial, Version


Schema = Mapping[str, Any]

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "object",
    "array": "list",
}
_DEEPEST = 6
"""Lists in lists that are shown; deeper ones nobody reads."""
_CHOICES = 12


def arguments_in_words(parameters: Schema) -> list[tuple[str, str, str]]:
    """Each argument: its name, what it is, and what is said about it."""
    needed: list[str] = parameters.get("required") or []
    found: Mapping[str, Any] = parameters.get("properties") or {}
    return [_argument(name, about, parameters, name in needed) for name, about in found.items()]


def in_words(schema: object, whole: Schema | None = None) -> str:
    """What a value has to be."""
    return _words(schema, whole or {}, 0)


def _argument(name: str, about: object, whole: Schema, needed: bool) -> tuple[str, str, str]:
    if not isinstance(about, Mapping):
        return name, in_words(about, whole), ""
    given = cast("Schema", about)
    words = in_words(given, whole)
    if needed:
        words = f"{words}, needed"
    elif given.get("default") is not None:
        words = f"{words}, else {_value(given['default'])}"
    return name, words, str(given.get("description") or "")


def _words(schema: object, whole: Schema, depth: int) -> str:
    if not isinstance(schema, Mapping) or not schema or depth > _DEEPEST:
        return "anything"
    given = cast("Schema", schema)
    reference = given.get("$ref")
    if isinstance(reference, str):
        definitions: Schema = whole.get("$defs") or {}
        return _words(definitions.get(reference.rpartition("/")[2]), whole, depth + 1)
    if "const" in given:
        return _value(given["const"])
    if isinstance(given.get("enum"), list):
        return _choice(cast("list[object]", given["enum"]))
    return " or ".join(dict.fromkeys(_alternatives(given, whole, depth))) or "anything"


def _alternatives(given: Schema, whole: Schema, depth: int) -> Iterator[str]:
    for key in ("anyOf", "oneOf"):
        for each in given.get(key) or ():
            yield _words(each, whole, depth + 1)
    kinds = given.get("type")
    for kind in [kinds] if isinstance(kinds, str) else kinds or ():
        yield _kind(str(kind), given, whole, depth)


def _kind(kind: str, given: Schema, whole: Schema, depth: int) -> str:
    if kind == "array" and given.get("items"):
        return f"list of {_words(given['items'], whole, depth + 1)}"
    if kind == "object" and given.get("properties"):
        return f"object with {', '.join(given['properties'])}"
    if kind == "object" and isinstance(given.get("additionalProperties"), Mapping):
        return f"object of {_words(given['additionalProperties'], whole, depth + 1)}"
    return _TYPES.get(kind, kind)


def _choice(values: list[object]) -> str:
    words = [_value(value) for value in values[:_CHOICES]]
    return ", ".join([*words, "…"] if len(values) > _CHOICES else words)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


COMMAND = "lra skills"
"""By which a person decides about skills."""
_LABEL = 10
_NAMED = 5
_MADE = 2
"""Calls that nobody gave, and that are shown."""
_LONG = 100
"""Characters of a line."""
_VALUE = 40
"""Characters of an argument."""


def as_json(skill: "Skill") -> dict[str, Any]:
    """A skill as JSON, with its state in a word."""
    return {**plain(skill), "state": skill.state}


def print_skills(found: "Sequence[Skill]") -> None:
    """Print a table of skills."""
    print_list(
        found,
        "name, state, version, calls, failures, what it does",
        lambda each: (
            each.name,
            each.state,
            each.version or each.newest,
            each.calls,
            each.failures,
            each.description,
        ),
    )


def waiting_line(found: "Sequence[Skill]", command: str = COMMAND) -> str:
    """What waits for a person, on one line; empty when nothing does."""
    names = [each.name for each in found if each.proposed is not None]
    if not names:
        return ""
    if len(names) == 1:
        return f"1 skill waits for approval: {command} approve {names[0]}"
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return f"{len(names)} skills wait for approval: {command} approve NAME ({listed})"


def problems_line(count: int) -> str:
    """How many files cannot be skills, on one line; empty for none."""
    if not count:
        return ""
    files = "1 file" if count == 1 else f"{count:,} files"
    return f"{files} cannot be a skill: lra skills problems"


def unseen_line(count: int) -> str:
    """How many files nobody has looked at yet, on one line; empty for none."""
    if not count:
        return ""
    files = "1 new file is" if count == 1 else f"{count:,} new files are"
    return f"{files} looked at when the agent works next"


def print_skill(skill: "Skill", version: "Version", first: Sequence[str] = ()) -> None:
    """Print all about one version of a skill, its code last."""
    click.echo(click.style(skill.name, bold=True) + f": {seen(_state(skill, version))}")
    used = "" if skill.used_at is None else f", the last time {moment(skill.used_at)}"
    use = _line("used", f"{skill.calls:,} calls, {skill.failures:,} failures{used}")
    _print_version(version, [*(f"  {each}" for each in first), *about(version), use])


def print_proposal(version: "Version") -> None:
    """Print what a person must have seen before a version may be used."""
    click.echo(click.style(version.name, bold=True) + f": version {version.number}")
    _print_version(version, about(version))


def _print_version(version: "Version", lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(seen(line))
    click.echo()
    print_code(version.source, "python" if version.interface.function else "markdown")
    for file in version.files:
        click.echo(click.style(f"\n{seen(file.path)}", bold=True))
        print_code(file.content, "python" if file.path.endswith(".py") else "text")


def about(version: "Version") -> Iterator[str]:
    """What a version is, line by line."""
    interface = version.interface
    yield from labelled("does", interface.description.split("\n"))
    if interface.function:
        yield from call_lines(interface.parameters, interface.returns)
        yield _line("limits", f"{version.limits.timeout:g} s, {version.limits.memory:,} MB")
        imports = ", ".join(version.allowed_imports) if version.safe_mode else "anything"
        yield _line("imports", "the usual modules" if len(imports) > _LONG else imports or "none")
    yield _line("from", _origin(version))
    if version.label:
        yield _line("label", version.label)
    yield _line("standing", _standing(version))
    if interface.function:
        yield from trial_lines(version.name, version.trial)
    yield from labelled("mind", [str(finding) for finding in version.warnings])


def call_lines(parameters: "Mapping[str, Any]", returns: object = None) -> Iterator[str]:
    """What a tool takes and gives."""
    takes = [
        f"{name}: {words}{'. ' if said else ''}{said}"
        for name, words, said in arguments_in_words(parameters)
    ]
    yield from labelled("takes", takes or ["nothing"])
    if returns is not None:
        yield _line("returns", in_words(returns))


def trial_lines(name: str, trial: "SkillTrial") -> Iterator[str]:
    """How a trial went."""
    verdict = "passed" if trial.passed else f"not passed: {trial.reason}"
    given = [each for each in trial.attempts if not each.derived]
    made = [each for each in trial.attempts if each.derived]
    tried = [_attempt(name, each) for each in (*given, *made[:_MADE])]
    if rest := made[_MADE:]:
        worked = sum(not each.error for each in rest)
        tried.append(f"and {len(rest)} more made from the signature; {worked} gave a result")
    yield from labelled("trial", [verdict, *tried])


def finding_line(finding: "Finding", file: str = "") -> str:
    """A finding on a line that editors can jump to."""
    where = f"{file}:{finding.line}: " if finding.line else f"{file}: " if file else ""
    return f"{where}{finding.severity}: {finding.message} {finding.repair}".rstrip()


def print_change(skill: "Skill", done: str) -> None:
    """Say what has become of a skill."""
    note(f"{done}: {state_line(skill)}.")


def state_line(skill: "Skill") -> str:
    """A skill with its state, and the version that is in use."""
    number = "" if skill.version is None else f", version {skill.version}"
    return f"{skill.name} is {skill.state}{number}"


def _attempt(name: str, attempt: "Attempt") -> str:
    given = ", ".join(f"{key}={_short(value)}" for key, value in attempt.args.items())
    took = f" ({attempt.duration_ms:.0f} ms)" if attempt.duration_ms else ""
    made = ", made from the signature" if attempt.derived else ""
    came = attempt.error or f"gave {attempt.shown}"
    return f"{name}({given}) {came}{took}{made}"


def _short(value: object) -> str:
    text = _value(value)
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"


def _state(skill: "Skill", version: "Version") -> str:
    parts = [skill.state]
    if skill.version is not None:
        parts.append(f"version {skill.version} of {skill.newest} is in use")
    if skill.proposed is not None:
        parts.append(f"version {skill.proposed} waits for approval")
    parts.append(f"this is version {version.number}")
    if skill.note:
        parts.append(skill.note)
    return "; ".join(parts)


def _origin(version: "Version") -> str:
    where = version.brought.session_id
    spoken = f", in {where}" if where else ""
    return f"{version.brought.origin}{spoken}, {moment(version.created_at)}"


def _standing(version: "Version") -> str:
    if version.decided_at is None or not version.decided_by:
        return str(version.standing)
    return f"{version.standing} by {version.decided_by}, {moment(version.decided_at)}"


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}} {text}".rstrip()


def labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines with a label before the first."""
    for place, line in enumerate(lines):
        yield _line("" if place else label, line)
