"""Rules as a service: what a person pins, accepts, dismisses, lifts and has enforced."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from long_running_agents.agent.sessions import SessionService
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.policy import PolicyRule
from long_running_agents.domain.rule import (
    MAY_BECOME,
    PinnedRule,
    RuleId,
    RuleSource,
    RuleState,
    as_policy,
    new_rule,
    news,
)
from long_running_agents.errors import Busy, UsageError
from long_running_agents.store import events, rules, sessions, turns
from long_running_agents.store.database import Transaction


@dataclass(frozen=True, slots=True)
class RuleService:
    """Looks after an owner's rules, for a person: nothing that a model may call is here."""

    sessions: SessionService

    async def every(
        self, session_id: SessionId | None = None, *, ended: bool = False
    ) -> Sequence[PinnedRule]:
        """The rules that a session sees, or all; those that are over only if asked for."""
        owner = self.sessions.owner

        def work(tx: Transaction) -> list[PinnedRule]:
            if session_id is not None:
                sessions.get(tx, session_id, owner=owner)
            found = rules.of_owner(tx, owner, session_id)
            return [rule for rule in found if ended or rule.ended_at is None]

        return await self.sessions.database.read(work)

    async def pin(
        self,
        text: str,
        *,
        session_id: SessionId | None = None,
        turn_id: TurnId | None = None,
        everywhere: bool = False,
    ) -> PinnedRule:
        """Let a text hold as a rule in a session, or in all of the owner's.

        A session that is not there is begun; without one, the rule holds everywhere.

        Raises:
            UsageError: It is empty, or there is no room for it.
        """
        if not text.strip():
            raise UsageError("The rule is empty.", hint="Say what has to hold.")
        owner, now = self.sessions.owner, self.sessions.clock.now()
        if session_id is not None:
            await self.sessions.ensure(session_id)
        where = None if everywhere else session_id

        def work(tx: Transaction) -> tuple[PinnedRule, list[EventEnvelope]]:
            if turn_id is not None:
                turns.get(tx, turn_id, owner=owner)
            wanted = new_rule(owner, where, text, RuleSource.PERSON, now, turn_id)
            rule, fresh = rules.pin(tx, wanted, now)
            if session_id is None or not fresh:
                return rule, []
            return rule, events.append(tx, session_id, None, [news(rule)], now)

        rule, recorded = await self.sessions.database.write(work)
        self.sessions.announce(recorded)
        return rule

    async def change(
        self, rule_id: RuleId, *, state: RuleState | None = None, enforced: bool | None = None
    ) -> PinnedRule:
        """Accept or dismiss a suggestion, lift a rule, or have the gate enforce it or not.

        Raises:
            Busy: The rule cannot become that any more.
            UsageError: There is no room for it, or nothing that the gate could enforce.
        """
        owner, now = self.sessions.owner, self.sessions.clock.now()

        def work(tx: Transaction) -> tuple[PinnedRule, list[EventEnvelope]]:
            rule = rules.get(tx, rule_id, owner=owner)
            if state is not None and state not in MAY_BECOME.get(rule.state, ()):
                raise Busy(f"Rule #{rule_id} is {rule.state}; it cannot become {state}.")
            if state is RuleState.ACTIVE:
                rule, _ = rules.pin(tx, rule, now)
            elif state is not None:
                rule = replace(rule, state=state, ended_at=now)
            if enforced is not None:
                rule = replace(rule, enforced=_enforceable(rule) if enforced else ())
            rules.change(tx, rule)
            where = rules.said_in(tx, rule)
            return rule, [] if where is None else events.append(tx, where, None, [news(rule)], now)

        rule, recorded = await self.sessions.database.write(work)
        self.sessions.announce(recorded)
        return rule


def _enforceable(rule: PinnedRule) -> tuple[PolicyRule, ...]:
    found = as_policy(rule.text) if rule.state is RuleState.ACTIVE else ()
    if not found:
        raise UsageError(
            "The gate cannot enforce this rule.",
            hint="It has to be active, and to forbid a tool, program, file or host by its name.",
        )
    return found
