from dataclasses import replace

import pytest
from tests.unit.store.house import NOON, SESSION, add_session, add_turn, end_turn, later

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.policy import PolicyRule, Ruling
from long_running_agents.domain.rule import PinnedRule, RuleId, RuleScope, RuleSource, RuleState
from long_running_agents.store import rules, sessions

pytestmark = pytest.mark.anyio

HERE = PinnedRule(
    id=RuleId(0),
    text="Never use red.",
    scope=RuleScope.SESSION,
    state=RuleState.ACTIVE,
    source=RuleSource.PERSON,
    session_id=SESSION,
    turn_id=TurnId("t1"),
    created_at=NOON,
    pinned_at=NOON,
    enforced=(PolicyRule(decision=Ruling.DENY, host="red.test"),),
)
EVERYWHERE = replace(
    HERE, text="Ask me first.", scope=RuleScope.OWNER, session_id=None, pinned_at=later(5)
)


def _texts(found):
    return [rule.text for rule in found]


async def test_a_session_sees_its_owners_rules_then_its_own_in_the_order_they_were_pinned(database):
    def work(tx):
        add_session(tx, "other")
        add_session(tx, "hers", owner="ada")
        for rule in (
            replace(HERE, text="second", pinned_at=later(2)),
            replace(HERE, text="suggested", state=RuleState.SUGGESTED, pinned_at=None),
            replace(HERE, text="lifted", state=RuleState.LIFTED),
            replace(HERE, text="first", pinned_at=later(1)),
            replace(HERE, text="elsewhere", session_id="other"),
            EVERYWHERE,
            replace(EVERYWHERE, text="hers", owner="ada"),
        ):
            rules.add(tx, rule)

    await database.write(work)

    seen = await database.read(lambda tx: rules.standing(tx, SESSION))
    assert _texts(seen) == ["Ask me first.", "first", "second"]
    assert seen[1].enforced == HERE.enforced
    assert _texts(await database.read(lambda tx: rules.standing(tx, "other"))) == [
        "Ask me first.",
        "elsewhere",
    ]
    assert _texts(await database.read(lambda tx: rules.standing(tx, "hers"))) == ["hers"]
    assert await database.read(lambda tx: rules.standing(tx, "nobody's")) == []


async def test_what_a_session_sees_is_found_by_an_index(database):
    prepared = rules._STANDING.text(database.engine.dialect)[0]
    values = [RuleState.ACTIVE, SESSION, SESSION]

    def plan(tx):
        return [row[3] for row in tx.control(f"EXPLAIN QUERY PLAN {prepared}", values).fetchall()]

    steps = await database.read(plan)
    assert not [step for step in steps if step.startswith("SCAN")]


async def test_a_fork_takes_the_rules_along_and_has_them_for_itself(database):
    def work(tx):
        end_turn(tx, "t1", answer="yes")
        rules.add(tx, HERE)
        rules.add(tx, EVERYWHERE)
        rules.add(tx, replace(HERE, text="no", state=RuleState.DISMISSED, turn_id=None))
        return sessions.fork(tx, SESSION, at=None, now=later(9))

    copy = await database.write(work)
    await database.write(lambda tx: sessions.remove(tx, SESSION))

    assert _texts(await database.read(lambda tx: rules.standing(tx, copy.id))) == [
        "Ask me first.",
        "Never use red.",
    ]
    owned = await database.read(lambda tx: rules.of_owner(tx, "me", copy.id))
    assert [rule.state for rule in owned] == ["active", "active", "dismissed"]
    assert owned[1].turn_id not in (None, "t1")


async def test_a_rule_goes_with_its_session_and_an_owners_rule_stays(database):
    def work(tx):
        rules.add(tx, HERE)
        rules.add(tx, EVERYWHERE)
        end_turn(tx, "t1", answer="yes")
        sessions.remove(tx, SESSION)
        return rules.of_owner(tx, "me")

    assert _texts(await database.write(work)) == ["Ask me first."]


async def test_only_what_a_person_wrote_here_counts_as_said(database):
    def work(tx):
        add_turn(tx, "t2", prompt="newer")
        return rules.said(tx, SESSION)

    assert await database.write(work) == [("t2", "newer", True), ("t1", "hello", True)]
