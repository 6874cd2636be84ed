"""Asking a person whether a call may run."""

import json
from contextlib import suppress

from long_running_agents.cli.following import Verdict
from long_running_agents.cli.output import safe
from long_running_agents.domain.approval import Approval

_INLINE = 160
_CHOICES = "[y]es / [n]o / reason"


def question(approval: Approval) -> str:
    """The question on one line; arguments too long for it are shown by `details`."""
    given = safe(approval.args)
    what = given if _fits(given) else "(arguments above)"
    return f"Allow {approval.tool} {what}? {_CHOICES}: "


def details(approval: Approval) -> str:
    """What the person must have seen before answering, or nothing if the question says it all."""
    given = safe(approval.args)
    if _fits(given):
        return ""
    # The model may have written something that is not JSON; it is shown as it is.
    with suppress(ValueError):
        given = safe(json.dumps(json.loads(approval.args), ensure_ascii=False, indent=2))
    return f"{approval.tool} wants to run with\n{given}"


def verdict(text: str) -> Verdict | None:
    """What a person's answer means; None when there is none."""
    answer = text.strip()
    match answer.lower():
        case "":
            return None
        case "y" | "yes":
            return Verdict(allowed=True)
        case "n" | "no":
            return Verdict(allowed=False)
        case _:
            return Verdict(allowed=False, reason=answer)


def _fits(given: str) -> bool:
    return len(given) <= _INLINE and "\n" not in given
