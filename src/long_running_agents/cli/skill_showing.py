"""Skills as a person sees them at the terminal."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.code import print_code, seen
from long_running_agents.cli.output import moment, note, plain, print_table
from long_running_agents.cli.schema_words import arguments_in_words, in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from long_running_agents.domain.skill import Attempt, Finding, Skill, Trial, Version

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
    print_table(
        ["name", "state", "version", "calls", "failures", "what it does"],
        [
            [
                each.name,
                each.state,
                str(each.version or each.newest),
                str(each.calls),
                str(each.failures),
                each.description,
            ]
            for each in found
        ],
    )


def waiting(found: "Sequence[Skill]") -> "list[Skill]":
    """Those with a version that waits for an answer."""
    return [each for each in found if each.proposed is not None]


def waiting_line(found: "Sequence[Skill]", command: str = COMMAND) -> str:
    """What waits for a person, on one line; empty when nothing does.

    Args:
        found: The skills.
        command: By which a person decides about skills.
    """
    names = [each.name for each in waiting(found)]
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


def print_skill(skill: "Skill", version: "Version", first: Sequence[str] = ()) -> None:
    """Print all about one version of a skill, its code last.

    Args:
        skill: The skill.
        version: One of its versions.
        first: What is told before all else.
    """
    click.echo(click.style(skill.name, bold=True) + f": {seen(_state(skill, version))}")
    for line in (*(f"  {each}" for each in first), *about(version), *_use(skill)):
        click.echo(seen(line))
    print_version_code(version)


def print_proposal(version: "Version") -> None:
    """Print what a person must have seen before a version may be used."""
    click.echo(click.style(version.name, bold=True) + f": version {version.number}")
    for line in about(version):
        click.echo(seen(line))
    print_version_code(version)


def print_version_code(version: "Version") -> None:
    """Print what a version is made of."""
    click.echo()
    print_code(version.source, "python" if version.interface.function else "markdown")
    for file in version.files:
        click.echo(click.style(f"\n{seen(file.path)}", bold=True))
        print_code(file.content, "python" if file.path.endswith(".py") else "text")


def about(version: "Version") -> Iterator[str]:
    """What a version is, line by line."""
    interface = version.interface
    yield from told("does", interface.description.split("\n"))
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
    yield from told("mind", [str(finding) for finding in version.warnings])


def call_lines(parameters: "Mapping[str, Any]", returns: object = None) -> Iterator[str]:
    """What a tool takes and gives."""
    takes = [
        f"{name}: {words}{'. ' if said else ''}{said}"
        for name, words, said in arguments_in_words(parameters)
    ]
    yield from told("takes", takes or ["nothing"])
    if returns is not None:
        yield _line("returns", in_words(returns))


def trial_lines(name: str, trial: "Trial") -> Iterator[str]:
    """How a trial went."""
    verdict = "passed" if trial.passed else f"not passed: {trial.reason}"
    given = [each for each in trial.attempts if not each.derived]
    made = [each for each in trial.attempts if each.derived]
    tried = [_attempt(name, each) for each in (*given, *made[:_MADE])]
    if rest := made[_MADE:]:
        worked = sum(not each.error for each in rest)
        tried.append(f"and {len(rest)} more made from the signature; {worked} gave a result")
    yield from told("trial", [verdict, *tried])


def finding_line(finding: "Finding", file: str = "") -> str:
    """A finding on a line that editors can jump to."""
    where = f"{file}:{finding.line}: " if finding.line else f"{file}: " if file else ""
    return f"{where}{finding.severity}: {finding.message} {finding.repair}".rstrip()


def told_of(skill: "Skill", done: str) -> None:
    """Say what has become of a skill."""
    note(f"{done}: {skill.name} is {skill.state}{_number(skill)}.")


def _number(skill: "Skill") -> str:
    return "" if skill.version is None else f", version {skill.version}"


def _attempt(name: str, attempt: "Attempt") -> str:
    given = ", ".join(f"{key}={_short(value)}" for key, value in attempt.args.items())
    took = f" ({attempt.duration_ms:.0f} ms)" if attempt.duration_ms else ""
    made = ", made from the signature" if attempt.derived else ""
    came = attempt.error or f"gave {attempt.shown}"
    return f"{name}({given}) {came}{took}{made}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
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


def _use(skill: "Skill") -> Iterator[str]:
    used = "" if skill.used_at is None else f", the last time {moment(skill.used_at)}"
    yield _line("used", f"{skill.calls:,} calls, {skill.failures:,} failures{used}")


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


def told(label: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines with a label before the first."""
    for place, line in enumerate(lines):
        yield _line("" if place else label, line)
