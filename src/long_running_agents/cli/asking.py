"""Asking a person whether a call may run."""

import json
from contextlib import suppress
from typing import Any, cast

from long_running_agents.cli.code import block
from long_running_agents.cli.following import Verdict
from long_running_agents.cli.output import safe
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.grant import Lasting

_INLINE = 160
_CHOICES = "[y]es / [n]o / reason"
_LASTING = "[y]es / for this [s]ession / [a]lways / [n]o / reason"


def question(approval: Approval) -> str:
    """The question on one line; arguments too long for it are shown by `details`."""
    given = safe(approval.args)
    what = given if _fits(approval) else "(arguments above)"
    choices = _CHOICES if approval.offer is None else _LASTING
    return f"Allow {approval.tool} {what}? {choices}: "


def details(approval: Approval) -> str:
    """What the person must have seen before answering, or nothing if the question says it all."""
    return "\n".join(part for part in (_arguments(approval), _why(approval)) if part)


def _why(approval: Approval) -> str:
    """Why there is a question, and what a lasting answer would cover."""
    asked = approval.question
    # What a call turns out to need while it runs is asked in whole sentences.
    reason = asked if asked[:1].isupper() else f"It asks because {asked}."
    lines = [reason] if asked else []
    if approval.offer is not None:
        lines.append(f'"Session" and "always" are for: {approval.offer}.')
    return safe("\n".join(lines))


def _arguments(approval: Approval) -> str:
    if _fits(approval):
        return ""
    given, parsed = safe(approval.args), arguments(approval)
    if parsed is not None and _of_lines(parsed):
        given = "\n".join(_argument(name, value) for name, value in parsed.items())
    else:
        # The model may have written something that is not JSON; it is shown as it is.
        with suppress(ValueError, RecursionError):
            given = safe(json.dumps(json.loads(approval.args), ensure_ascii=False, indent=2))
    return f"{approval.tool} wants to run with\n{given}"


def arguments(approval: Approval) -> dict[str, Any] | None:
    """The arguments by name; None when they are not what a model should have written."""
    with suppress(ValueError, RecursionError):
        found: object = json.loads(approval.args)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    return None


def _argument(name: str, value: object) -> str:
    """An argument on a line, or text of several lines as it is meant: code is read as code."""
    told = safe(name if name.isidentifier() else json.dumps(name, ensure_ascii=False))
    if isinstance(value, str) and "\n" in value:
        return f"{told}:\n{block(value)}"
    return f"{told}: {safe(json.dumps(value, ensure_ascii=False))}"


def _of_lines(given: dict[str, Any]) -> bool:
    return any(isinstance(value, str) and "\n" in value for value in given.values())


def verdict(text: str, *, lasting: bool = False) -> Verdict | None:
    """What a person's answer means; None when there is none.

    Args:
        text: What was typed.
        lasting: Whether the question offers an answer for more than this call.
    """
    answer = text.strip()
    match answer.lower():
        case "s" | "session" if lasting:
            return Verdict(allowed=True, lasting=Lasting.SESSION)
        case "a" | "always" if lasting:
            return Verdict(allowed=True, lasting=Lasting.ALWAYS)
        case "":
            return None
        case "y" | "yes":
            return Verdict(allowed=True)
        case "n" | "no":
            return Verdict(allowed=False)
        case _:
            return Verdict(allowed=False, reason=answer)


def _fits(approval: Approval) -> bool:
    given = safe(approval.args)
    short = len(given) <= _INLINE and "\n" not in given
    return short and not _of_lines(arguments(approval) or {})
