"""Rules at the terminal."""

import json

import pytest

from long_running_agents.cli import slash
from long_running_agents.cli.access import LocalApi
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app, say


def rules(lra, *args):
    return json.loads(lra("rules", "list", "--json", *args)[1])


def test_an_empty_home_has_no_rules(lra):
    assert lra("rules", "list")[0] == 0
    assert lra("rules", "list", "--json")[1] == "[]\n"


def test_rules_are_pinned_enforced_lifted_and_listed(lra):
    code, _, err = lra("rules", "pin", "Never open evil.com.", "--session", "s")
    assert code == 0
    assert "rule #1 (s) is active" in err
    assert "'lra rules enforce 1' has the gate enforce it, too: deny * evil.com" in err
    assert "(everywhere) is active" in lra("rules", "pin", "Be brief.")[2]
    assert "is active, enforced" in lra("rules", "enforce", "1")[2]
    lines = [line.split("\t") for line in lra("rules", "list")[1].splitlines()]
    assert lines == [
        ["2", "active", "everywhere", "4", "Be brief."],
        ["1", "active, enforced", "s", "7", "Never open evil.com."],
    ]
    assert "is active:" in lra("rules", "enforce", "1", "--off")[2]
    assert lra("rules", "lift", "1")[0] == 0
    assert [rule["id"] for rule in rules(lra)] == [2]
    assert [rule["state"] for rule in rules(lra, "--all", "-s", "s")] == ["active", "lifted"]


def test_a_suggestion_is_told_with_the_answer_and_accepted_or_dismissed(lra):
    _, _, err = lra("ask", "Never be late. Always be brief.", "--session", "s")
    assert "is this a rule? 'lra rules accept 1' pins it: Never be late." in err
    assert "is active" in lra("rules", "accept", "1")[2]
    assert "is dismissed" in lra("rules", "dismiss", "2")[2]
    assert [rule["text"] for rule in rules(lra, "-s", "s")] == ["Never be late."]


def test_what_cannot_be_done_is_said_with_its_reason(lra):
    lra("rules", "pin", "Be brief.")
    for args, told in (
        (["lift", "9"], "No rule #9"),
        (["accept", "1"], "cannot become"),
        (["enforce", "1"], "cannot enforce"),
        (["pin", "x" * 3000], "of the 800"),
        (["pin", " "], "empty"),
    ):
        code, _, err = lra("rules", *args)
        assert code != 0
        assert told in err


class FakeTalk:
    """A conversation in which one only types commands."""

    def __init__(self, app):
        self.agent = LocalApi(app, FrozenClock(), FrozenClock().now())
        self.session_id = SessionId("s")
        self.screen = self
        self.notes = []

    async def note(self, text):
        self.notes.append(text)

    async def type(self, text):
        command = slash.parse(text)
        await command.act(self, command.rest)
        return self.notes[-1]


@pytest.mark.anyio
async def test_rules_are_pinned_and_changed_by_a_slash(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Yes.")])) as app:
        talk = FakeTalk(app)
        assert await talk.type("/rules") == "no rules: '/pin words' pins one"
        with pytest.raises(NotFound):
            await talk.type("/pin")
        assert await talk.type("/pin Never open evil.com.") == (
            "rule #1 (s) is active: Never open evil.com.\n"
            "  '/rules enforce 1' has the gate enforce it, too: deny * evil.com, deny * *.evil.com"
        )
        turn = await app.turns.start(talk.session_id, "Use blue. Never use red.")
        await app.turns.settled(turn.id)
        assert "is active: Use blue. Never use red." in await talk.type("/pin")
        assert "is active, enforced" in await talk.type("/rules enforce #1")
        assert "is dismissed" in await talk.type("/rules dismiss 2")
        assert await talk.type("/rules") == (
            "  #1  active, enforced, s  Never open evil.com.\n"
            "  #3  active, s  Use blue. Never use red."
        )
        assert "is lifted" in await talk.type("/rules lift 3")
        pinned = (await app.rules.every(ended=True))[-1]
        assert (pinned.turn_id, pinned.source) == (turn.id, "person")
        for wrong in ("/rules dance", "/rules lift", "/rules lift x"):
            with pytest.raises(UsageError):
                await talk.type(wrong)


@pytest.mark.anyio
async def test_a_session_is_compacted_by_a_slash(tmp_path):
    replies = [say("One."), say("Two."), say("Counted.\n<end>")]
    async with make_app(tmp_path, model=ScriptedModel(replies), summaries=True) as app:
        talk = FakeTalk(app)
        for question in ("Count", "Go on"):
            turn = await app.turns.start(talk.session_id, question)
            await app.turns.settled(turn.id)
        told = await talk.type("/compact")
        assert told == "turns 1 to 1 are shown as a summary from now on"
        assert "block" in await talk.type("/context")
