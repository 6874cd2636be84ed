"""Rules: pin, suggest and end them, and find those that a session sees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import and_, bindparam, insert, or_, select, update

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.policy import PolicyRule
from long_running_agents.domain.rule import (
    PinnedRule,
    RuleId,
    RuleSource,
    RuleState,
    check_room,
    folded,
    new_rule,
)
from long_running_agents.domain.session import Session, SessionOrigin
from long_running_agents.domain.turn import TurnOrigin
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import rules, sessions, turns

_POLICY: TypeAdapter[tuple[PolicyRule, ...]] = TypeAdapter(
    tuple[PolicyRule, ...], config=ConfigDict(defer_build=True)
)
_rule = row_reader(PinnedRule, enforced=lambda row: _POLICY.validate_json(row.enforced))

_OWNER = select(sessions.c.owner).where(sessions.c.id == bindparam("session")).scalar_subquery()
_STANDING = Prepared(
    select(rules)
    .where(
        rules.c.state == bindparam("state"),
        or_(
            rules.c.session_id == bindparam("session"),
            and_(rules.c.session_id.is_(None), rules.c.owner == _OWNER),
        ),
    )
    .order_by(rules.c.session_id.is_not(None), rules.c.pinned_at, rules.c.id)
)


def standing(tx: Transaction, session_id: SessionId) -> list[PinnedRule]:
    """The active rules that a session sees, its owner's first, in the order they were pinned."""
    rows = tx.all(_STANDING, {"session": session_id, "state": RuleState.ACTIVE})
    return [_rule(row) for row in rows]


def add(tx: Transaction, rule: PinnedRule) -> PinnedRule:
    """Store a rule; it comes back with its number, and without the secrets that were in it."""
    values = _values(rule) | {"text": tx.redact(rule.text)}
    key = tx.execute(insert(rules).returning(rules.c.id), values).scalar_one()
    return replace(rule, id=RuleId(key), text=str(values["text"]))


def _values(rule: PinnedRule) -> dict[str, object]:
    values = row_values(rules, rule, enforced=_POLICY.dump_json(rule.enforced).decode())
    del values["id"]
    return values


def get(tx: Transaction, rule_id: RuleId, *, owner: str) -> PinnedRule:
    """Look up a rule that must exist, and be an owner's."""
    query = select(rules).where(rules.c.id == rule_id, rules.c.owner == owner)
    row = tx.execute(query).first()
    if row is None:
        raise NotFound(f"No rule #{rule_id}.", hint="'lra rules list' shows them.")
    return _rule(row)


def change(tx: Transaction, rule: PinnedRule) -> None:
    """Write down what became of a rule."""
    tx.execute(update(rules).where(rules.c.id == rule.id).values(_values(rule)))


def of_owner(tx: Transaction, owner: str, session_id: SessionId | None = None) -> list[PinnedRule]:
    """An owner's rules of all states, or those of them that a session sees, in their order."""
    query = select(rules).where(rules.c.owner == owner)
    if session_id is not None:
        query = query.where(or_(rules.c.session_id.is_(None), rules.c.session_id == session_id))
    order = (rules.c.session_id.is_not(None), rules.c.session_id, rules.c.pinned_at, rules.c.id)
    return [_rule(row) for row in tx.execute(query.order_by(*order))]


def suggest(
    tx: Transaction,
    session: Session,
    texts: Sequence[str],
    source: RuleSource,
    now: datetime,
    turn_id: TurnId | None = None,
) -> list[PinnedRule]:
    """Suggest rules to a person, unless they hold, are suggested, or were dismissed."""
    every = of_owner(tx, session.owner, session.id) if texts else []
    known = {folded(rule.text) for rule in every if rule.state is not RuleState.LIFTED}
    found: list[PinnedRule] = []
    for text in map(tx.redact, texts):
        if folded(text) not in known:
            known.add(folded(text))
            found.append(add(tx, new_rule(session.owner, session.id, text, source, now, turn_id)))
    return found


def pin(tx: Transaction, wanted: PinnedRule, now: datetime) -> tuple[PinnedRule, bool]:
    """Let a rule hold if there is room for it, and say whether that is new.

    What was suggested in the same words becomes it, or is answered by it.
    """
    wanted = replace(wanted, text=tx.redact(wanted.text), state=RuleState.ACTIVE, pinned_at=now)
    every = of_owner(tx, wanted.owner, wanted.session_id)
    seen = [rule for rule in every if rule.session_id in (None, wanted.session_id)]
    alike = [rule for rule in seen if folded(rule.text) == folded(wanted.text)]
    known = next((rule for rule in alike if rule.state is RuleState.ACTIVE), None)
    fresh = known is None
    if fresh:
        check_room(_most_crowded(every), wanted.text)
    for rule in alike:
        if rule.state is RuleState.SUGGESTED and known is None:
            known = replace(wanted, id=rule.id, created_at=rule.created_at)
            change(tx, known)
        elif rule.state is RuleState.SUGGESTED:
            change(tx, replace(rule, state=RuleState.DISMISSED, ended_at=now))
    return known or add(tx, wanted), fresh


def _most_crowded(every: Sequence[PinnedRule]) -> list[PinnedRule]:
    """What that session sees which sees most of the active ones of these rules."""
    active = [rule for rule in every if rule.state is RuleState.ACTIVE]
    sessions_of = {rule.session_id for rule in active} | {None}
    crowds = [[each for each in active if each.session_id in (None, key)] for key in sessions_of]
    return max(crowds, key=lambda seen: sum(rule.tokens for rule in seen))


def said(tx: Transaction, session_id: SessionId) -> list[tuple[TurnId, str, bool]]:
    """What a person wrote in a session, the newest first, and whether they were there for sure.

    Nothing of a session that another program holds, of an import, or of a job.
    """
    query = (
        select(turns.c.id, turns.c.prompt, turns.c.attended)
        .join(sessions, sessions.c.id == turns.c.session_id)
        .where(
            turns.c.session_id == session_id,
            turns.c.origin == TurnOrigin.USER,
            sessions.c.origin == SessionOrigin.OWN,
        )
        .order_by(turns.c.number.desc())
    )
    return [(TurnId(row.id), row.prompt, row.attended) for row in tx.execute(query)]


def said_in(tx: Transaction, rule: PinnedRule) -> SessionId | None:
    """The session that hears what becomes of a rule: its own, or the one it was said in."""
    if rule.session_id is not None:
        return rule.session_id
    query = select(turns.c.session_id).where(turns.c.id == rule.turn_id)
    return tx.execute(query).scalar()


def copy(
    tx: Transaction, source: SessionId, to: SessionId, turns_to: Mapping[TurnId, TurnId]
) -> None:
    """Give a fork the rules of its session; those of its owner hold there anyway."""
    query = select(rules).where(rules.c.session_id == source).order_by(rules.c.id)
    for rule in [_rule(row) for row in tx.execute(query)]:
        said_in = None if rule.turn_id is None else turns_to.get(rule.turn_id, rule.turn_id)
        add(tx, replace(rule, session_id=to, turn_id=said_in))
