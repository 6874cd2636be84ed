"""May this call run? Decided here, acted on at the gate."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase

from long_running_agents.domain.call import Call
from long_running_agents.domain.grant import Grant, Scope, scope_of
from long_running_agents.domain.ids import GrantId
from long_running_agents.domain.shell import UNKNOWN
from long_running_agents.domain.taint import Taint, concern
from long_running_agents.domain.tool import Power
from long_running_agents.domain.turn import Origin
from long_running_agents.domain.workspace import WORKSPACE


class By(StrEnum):
    """Who decided."""

    POLICY = "policy"
    """What is built in."""
    RULE = "rule"
    """A setting."""
    GRANT = "grant"
    """An earlier answer."""
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""

    reason: str = ""
    by: By = By.POLICY
    grant: GrantId | None = None
    """The grant that let it through."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to say."""

    reason: str
    by: By = By.POLICY
    fresh: bool = False
    """Whether only an answer to this very call will do: no grant, no policy for the unattended."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run."""

    reason: str
    by: By = By.POLICY


Decision = Allow | Ask | Deny


class Ruling(StrEnum):
    """What a rule says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the settings; patterns have ``*`` and ``?``, and what is unset fits everything."""

    decision: Ruling
    tool: str = "*"
    program: str | None = None
    path: str | None = None
    host: str | None = None
    reason: str = ""
    tainted: bool = False
    """Whether its *allow* holds after foreign words, too."""


class Unattended(StrEnum):
    """What becomes of a question when nobody is there."""

    DENY = "deny"
    ALLOW = "allow"
    ASK = "ask"
    """The turn waits until somebody comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the settings say about tools."""

    allow: Collection[str] | None = None
    """Tools that may run at all; None means every tool that exists."""
    require_approval: Collection[str] = ()
    """Tools that run only after a person agreed."""
    custom: Sequence[Rule] = ()
    taint: bool = True
    """Whether foreign words make a difference."""
    network: bool = False
    """Whether code in the sandbox can reach other machines."""
    unsandboxed: bool = False
    """Whether code runs without a sandbox."""
    unattended: Unattended = Unattended.DENY


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """How the turn came about that makes a call."""

    origin: Origin = Origin.USER
    attended: bool = True
    """Whether a person is there to answer."""


_EXTENDING = frozenset({"install_packages"})
"""Tools that ask by default, whatever they are given."""

_NOBODY = {
    Origin.JOB: "nobody is there to give it while a job runs",
    Origin.DELEGATE: "nobody is there to give it to a delegate",
}
_CLEAN = Taint()
_ATTENDED = Occasion()


def decide(
    call: Call,
    rules: Rules,
    occasion: Occasion = _ATTENDED,
    taint: Taint = _CLEAN,
    grants: Iterable[Grant] = (),
) -> Decision:
    """Decide about a call.

    A refusal by the settings wins over everything, foreign words over what lets a call through, a
    rule over the lists, and the lists over what is built in.
    """
    call = reaching(call, rules)
    found = _ruled(call, rules, taint)
    if isinstance(found, Ask):
        return _answered(found, call, rules, occasion, grants)
    if isinstance(found, Allow) and not rules.taint and (worry := concern(call, taint)):
        return replace(found, reason=f"agent.tools.taint is off, although {worry}")
    return found


def consented(question: str, call: Call, rules: Rules, grants: Iterable[Grant] = ()) -> Allow | Ask:
    """Decide about what a call turns out to need while it runs: a person has to say, or has said.

    Args:
        question: What there is to agree to.
        call: The call.
        rules: What the settings say.
        grants: Earlier answers.
    """
    said, _ = _custom(call, rules.custom)
    if isinstance(said, Allow):
        return said
    scope = scope_of(call)
    if scope is not None and (granted := _covering(scope, grants)) is not None:
        return granted
    return Ask(question)


def reaching(call: Call, rules: Rules) -> Call:
    """A call with what it can do in this home: code with a network can send, and read."""
    if rules.network and Power.EXECUTE in call.powers:
        return replace(call, powers=call.powers | {Power.SEND}, foreign=True)
    return call


def _ruled(call: Call, rules: Rules, taint: Taint) -> Decision:
    if rules.allow is not None and call.tool not in rules.allow:
        reason = f"{call.tool!r} is not among the allowed tools (agent.tools.allow)"
        return Deny(reason, By.RULE)
    said, trusted = _custom(call, rules.custom)
    if isinstance(said, Deny):
        return said
    if rules.unsandboxed and Power.EXECUTE in call.powers:
        return Ask(f"{call.tool} would run outside the sandbox", fresh=True)
    if rules.taint and not trusted and (worry := concern(call, taint)):
        return Ask(worry, fresh=True)
    return said or _by_default(call, rules)


def _by_default(call: Call, rules: Rules) -> Decision:
    if call.tool in rules.require_approval:
        return Ask(f"{call.tool!r} is in agent.tools.require_approval", By.RULE)
    if call.tool in _EXTENDING:
        return Ask(f"{call.tool} changes what the agent can do")
    if call.hazards:
        return Ask("; ".join(risk.reason for risk in call.hazards))
    return Allow()


def _answered(
    found: Ask, call: Call, rules: Rules, occasion: Occasion, grants: Iterable[Grant]
) -> Decision:
    """What becomes of a question that need not be asked, or cannot be."""
    scope = None if found.fresh else scope_of(call)
    if scope is not None and (granted := _covering(scope, grants)) is not None:
        return granted
    if occasion.attended or rules.unattended is Unattended.ASK:
        return found
    if rules.unattended is Unattended.ALLOW and not found.fresh:
        return Allow(f"{found.reason}; agent.tools.non_interactive_approval_policy allows it")
    where = _NOBODY.get(occasion.origin, "nobody is there to give it")
    return Deny(f"{found.reason}; it needs an approval and {where}")


def _covering(scope: Scope, grants: Iterable[Grant]) -> Allow | None:
    for grant in grants:
        if grant.scope.covers(scope):
            return Allow(f"{grant.id}: {grant.scope}", By.GRANT, grant.id)
    return None


def _custom(call: Call, rules: Sequence[Rule]) -> tuple[Decision | None, bool]:
    """What the rules say, and whether it holds after foreign words: any no, else the first."""
    for rule in rules:
        if rule.decision is Ruling.DENY and _fits(rule, call):
            reason = rule.reason or f"a rule of agent.tools.rules forbids it ({_text(rule)})"
            return Deny(reason, By.RULE), True
    for rule in rules:
        if rule.decision is Ruling.DENY and _may_fit(rule, call):
            unread = f"the command cannot be read, and a rule may forbid it ({_text(rule)})"
            return Ask(rule.reason or unread, By.RULE), False
    for rule in rules:
        if _fits(rule, call):
            reason = rule.reason or f"a rule of agent.tools.rules says so ({_text(rule)})"
            allows = rule.decision is Ruling.ALLOW
            return (Allow if allows else Ask)(reason, By.RULE), allows and rule.tainted
    return None, False


def _fits(rule: Rule, call: Call) -> bool:
    # All of a call must be what is allowed; any of it may be what is not.
    whole = rule.decision is Ruling.ALLOW
    paths = [path.removeprefix(f"{WORKSPACE}/") for path in call.paths]
    return fnmatchcase(call.tool, rule.tool) and all(
        _suits(pattern, values, whole=whole)
        for pattern, values in (
            (rule.program, call.programs),
            (rule.path, paths),
            (rule.host, call.hosts),
        )
        if pattern is not None
    )


def _may_fit(rule: Rule, call: Call) -> bool:
    known = replace(rule, program=None)
    return rule.program is not None and UNKNOWN in call.programs and _fits(known, call)


def _suits(pattern: str, values: Collection[str], *, whole: bool) -> bool:
    found = [_alike(pattern, value) for value in values]
    return bool(found) and (all(found) if whole else any(found))


def _alike(pattern: str, value: str) -> bool:
    name, _, rest = value.partition(" ")
    # An option that can name any other program is not what was meant by the program's name.
    return fnmatchcase(value, pattern) or (rest not in ("", "-c") and fnmatchcase(name, pattern))


def _text(rule: Rule) -> str:
    parts = [rule.tool, *(part for part in (rule.program, rule.path, rule.host) if part)]
    return f"{rule.decision} {' '.join(parts)}"
