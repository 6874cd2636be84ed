"""May this call run? Decided here, acted on at the gate."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase

from long_running_agents.domain.agent import HARMLESS, AgentBounds
from long_running_agents.domain.approval import Grant, GrantScope, scope_of
from long_running_agents.domain.ids import GrantId, SessionId, TurnId
from long_running_agents.domain.shell import UNKNOWN
from long_running_agents.domain.taint import Taint, concern, repeats
from long_running_agents.domain.task import Scope, plain_path
from long_running_agents.domain.tool import Effect, GatedCall, Power
from long_running_agents.domain.turn import TurnOrigin
from long_running_agents.domain.workspace import WORKSPACE


class DecidedBy(StrEnum):
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
    by: DecidedBy = DecidedBy.POLICY
    grant: GrantId | None = None
    """The grant that let it through."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to say."""

    reason: str
    by: DecidedBy = DecidedBy.POLICY
    fresh: bool = False
    """Whether a person has to answer: no policy for the unattended will do."""
    once: bool = False
    """Whether only an answer to this very call will do: no grant."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run."""

    reason: str
    by: DecidedBy = DecidedBy.POLICY


Decision = Allow | Ask | Deny


class Ruling(StrEnum):
    """What a rule says, or the settings where nobody is there to ask."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """A rule of the settings; patterns have ``*`` and ``?``, and what is unset fits everything."""

    decision: Ruling
    tool: str = "*"
    program: str | None = None
    path: str | None = None
    host: str | None = None
    reason: str = ""
    tainted: bool = False
    """Whether its *allow* holds after foreign words, too."""

    def __str__(self) -> str:
        """What it says, in short."""
        parts = [self.tool, *(part for part in (self.program, self.path, self.host) if part)]
        return f"{self.decision} {' '.join(parts)}"


_UNBOUND = AgentBounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRules:
    """What the settings say about tools."""

    allow: Collection[str] | None = None
    """Tools that may run at all; None means every tool that exists."""
    require_approval: Collection[str] = ()
    """Tools that run only after a person agreed."""
    custom: Sequence[PolicyRule] = ()
    taint: bool = True
    """Whether foreign words make a difference."""
    network: bool = False
    """Whether code in the sandbox can reach other machines."""
    unsandboxed: bool = False
    """Whether code runs without a sandbox."""
    unattended: Ruling = Ruling.DENY
    """What becomes of a question when nobody is there; with ASK it waits until somebody comes."""

    bounds: AgentBounds = _UNBOUND
    """What the agent of the turn and those it works for allow."""
    scope: Scope | None = None
    """Where a work may write and whom it may reach without asking; None where nothing is said."""

    def beside(self, more: Sequence[PolicyRule]) -> "PolicyRules":
        """The same with further rules, which come before those of the settings."""
        return replace(self, custom=(*more, *self.custom)) if more else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """How the turn came about that makes a call."""

    origin: TurnOrigin = TurnOrigin.USER
    attended: bool = True
    """Whether a person is there to answer."""


_EXTENDING = frozenset({"install_packages"})
"""Tools that ask by default, whatever they are given."""

_NOBODY = {
    TurnOrigin.JOB: "nobody is there to give it while a job runs",
    TurnOrigin.DELEGATE: "nobody is there to give it to a delegate",
}
_CLEAN = Taint()
_ATTENDED = Occasion()


def decide(
    call: GatedCall,
    rules: PolicyRules,
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


def consented(
    question: str, call: GatedCall, rules: PolicyRules, grants: Iterable[Grant] = ()
) -> Allow | Ask:
    """Decide about what a call needs while it runs: a person has to say, or has said."""
    said, _ = _custom(call, rules.custom)
    if isinstance(said, Allow):
        return said
    scope = scope_of(call)
    if scope is not None and (granted := _covering(scope, grants)) is not None:
        return granted
    return Ask(question)


def reaching(call: GatedCall, rules: PolicyRules) -> GatedCall:
    """A call with what it can do in this home: code with a network can send, and read."""
    if rules.network and Power.EXECUTE in call.powers:
        return replace(call, powers=call.powers | {Power.SEND}, foreign=True)
    return call


def _ruled(call: GatedCall, rules: PolicyRules, taint: Taint) -> Decision:
    reason = _beyond(call, rules.bounds)
    if rules.allow is not None and call.tool not in rules.allow:
        reason = f"{call.tool!r} is not among the allowed tools (agent.tools.allow)"
    if reason:
        return Deny(reason, DecidedBy.RULE)
    said, trusted = _custom(call, rules.custom)
    if isinstance(said, Deny):
        return said
    if rules.scope is not None and (outside := _outside(call, rules.scope)):
        return Ask(f"{outside} is outside the scope of the work", fresh=True, once=True)
    if rules.unsandboxed and Power.EXECUTE in call.powers:
        return Ask(f"{call.tool} would run outside the sandbox", fresh=True, once=True)
    if rules.taint and not trusted and (worry := concern(call, taint)):
        return Ask(worry, fresh=True, once=repeats(call, taint))
    return said or _by_default(call, rules)


def _beyond(call: GatedCall, bounds: AgentBounds) -> str:
    """Why the agent may not make a call; empty when it may."""
    if not bounds.permits(call.tool):
        return f"its agent may not use {call.tool!r}"
    if bounds.read_only and call.effect is not Effect.READ and call.tool not in HARMLESS:
        return "its agent may only read"
    for allowed in bounds.networks:
        for host in call.hosts:
            if not any(fnmatchcase(host, pattern) for pattern in allowed):
                return f"its agent may not reach {host}"
    return ""


def _outside(call: GatedCall, scope: Scope) -> str:
    """What a call would write or reach outside a scope; empty when nothing."""
    paths = [] if call.effect is Effect.READ else list(call.files)
    if call.script is not None:
        paths += [each.path(text) for each in call.script.commands for text in each.writes]
    beyond = [path for path in map(plain_path, paths) if not scope.covers_path(path)]
    beyond += [host for host in call.hosts if not scope.covers_host(host)]
    return beyond[0] if beyond else ""


def _by_default(call: GatedCall, rules: PolicyRules) -> Decision:
    if call.tool in rules.require_approval:
        return Ask(f"{call.tool!r} is in agent.tools.require_approval", DecidedBy.RULE)
    if call.tool in _EXTENDING:
        return Ask(f"{call.tool} changes what the agent can do")
    if call.hazards:
        return Ask("; ".join(risk.reason for risk in call.hazards))
    return Allow()


def _answered(
    found: Ask, call: GatedCall, rules: PolicyRules, occasion: Occasion, grants: Iterable[Grant]
) -> Decision:
    """What becomes of a question that need not be asked, or cannot be."""
    scope = None if found.once else scope_of(call)
    if scope is not None and (granted := _covering(scope, grants)) is not None:
        return granted
    if occasion.attended or rules.unattended is Ruling.ASK:
        return found
    if rules.unattended is Ruling.ALLOW and not found.fresh:
        return Allow(f"{found.reason}; agent.tools.non_interactive_approval_policy allows it")
    where = _NOBODY.get(occasion.origin, "nobody is there to give it")
    return Deny(f"{found.reason}; it needs an approval and {where}")


def _covering(scope: GrantScope, grants: Iterable[Grant]) -> Allow | None:
    for grant in grants:
        if grant.scope.covers(scope):
            return Allow(f"{grant.id}: {grant.scope}", DecidedBy.GRANT, grant.id)
    return None


def _custom(call: GatedCall, rules: Sequence[PolicyRule]) -> tuple[Decision | None, bool]:
    """What the rules say, and whether it holds after foreign words: any no, else the first."""
    for rule in rules:
        if rule.decision is Ruling.DENY and _fits(rule, call):
            reason = rule.reason or f"a rule of agent.tools.rules forbids it ({rule})"
            return Deny(reason, DecidedBy.RULE), True
    for rule in rules:
        if rule.decision is Ruling.DENY and _may_fit(rule, call):
            unread = f"the command cannot be read, and a rule may forbid it ({rule})"
            return Ask(rule.reason or unread, DecidedBy.RULE), False
    for rule in rules:
        if _fits(rule, call):
            reason = rule.reason or f"a rule of agent.tools.rules says so ({rule})"
            allows = rule.decision is Ruling.ALLOW
            return (Allow if allows else Ask)(reason, DecidedBy.RULE), allows and rule.tainted
    return None, False


def _fits(rule: PolicyRule, call: GatedCall) -> bool:
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


def _may_fit(rule: PolicyRule, call: GatedCall) -> bool:
    known = replace(rule, program=None)
    return rule.program is not None and UNKNOWN in call.programs and _fits(known, call)


def _suits(pattern: str, values: Collection[str], *, whole: bool) -> bool:
    found = [_alike(pattern, value) for value in values]
    return bool(found) and (all(found) if whole else any(found))


def _alike(pattern: str, value: str) -> bool:
    name, _, rest = value.partition(" ")
    # An option that can name any other program is not what was meant by the program's name.
    return fnmatchcase(value, pattern) or (rest not in ("", "-c") and fnmatchcase(name, pattern))


_NOTHING = "nothing speaks against it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One line of the audit log."""

    at: datetime
    owner: str
    session_id: SessionId
    turn_id: TurnId
    call_id: str
    tool: str
    args: str
    """The arguments as JSON text, or the beginning of it."""
    decision: Ruling
    why: str
    who: DecidedBy


def ruling(decision: Decision) -> tuple[Ruling, str, DecidedBy]:
    """A decision as the log tells it: what, why, who."""
    match decision:
        case Allow(reason=reason, by=by):
            return Ruling.ALLOW, reason or _NOTHING, by
        case Ask(reason=reason, by=by):
            return Ruling.ASK, reason, by
        case Deny(reason=reason, by=by):
            return Ruling.DENY, reason, by
