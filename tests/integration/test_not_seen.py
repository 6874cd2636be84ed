"""What a final answer claims and no tool call knows, told as small stories."""

import pytest
from tests.integration.stories import SESSION, ended, hands, told

from long_running_agents.domain.events import TurnDone
from long_running_agents.domain.ids import SessionId
from long_running_agents.testing import ScriptedModel, call, calls, make_app, say

pytestmark = pytest.mark.anyio

WROTE = call("write_file", path="report.md", content="# Herons")
CLAIM = "I wrote the report to `report.md`."


def terminal(command: str) -> str:
    """Run a command."""
    return f"{command}\n===== 12 passed in 0.42s ====="


async def listed(app, session=SESSION):
    """What was not seen of each answer, in order."""
    return [done.not_seen for done in await told(app, TurnDone, session)]


async def test_a_file_that_was_never_written_is_listed_under_the_answer(tmp_path):
    model = ScriptedModel([say(f"{CLAIM} All 12 tests pass.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Write report.md")

        assert turn.answer == f"{CLAIM} All 12 tests pass."
        assert await listed(app) == [["report.md", "12 tests pass"]]
        assert "seen in any tool call of this session:* report.md, 12 tests pass" in (
            await app.sessions.export(SESSION, "md")
        )


async def test_nothing_is_listed_where_the_work_was_done(tmp_path):
    model = ScriptedModel(
        [
            WROTE,
            say(CLAIM),
            call("terminal", command="pytest -q"),
            say("I ran `pytest  -q`: 12 passed, exit code 0."),
            say("As I said, I wrote `./report.md` before."),
            say(CLAIM),
        ]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands(terminal)]) as app:
        for text in ("Write a report", "Test it", "And?"):
            await ended(app, text)

        copy = await app.sessions.fork(SESSION)
        await ended(app, "And here?", session=copy.id)

        assert await listed(app) == [[], [], []]
        assert await listed(app, copy.id) == [[], [], [], []]


async def test_small_talk_claims_nothing(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("You can run `make test`!")])) as app:
        await ended(app, "Hi")

        assert await listed(app) == [[]]


async def test_what_another_count_or_another_session_knows_is_not_seen(tmp_path):
    other = SessionId("other")
    model = ScriptedModel(
        [call("terminal", command="pytest"), say("13 tests pass."), WROTE, say("So."), say(CLAIM)]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands(terminal)]) as app:
        await ended(app, "Test it")
        await ended(app, "Write it", session=other)
        await ended(app, "Write it")

        assert await listed(app) == [["13 tests pass"], ["report.md"]]
        assert await listed(app, other) == [[]]


async def test_a_call_that_was_denied_has_done_nothing(tmp_path):
    model = ScriptedModel([WROTE, say(CLAIM)])
    async with make_app(
        tmp_path, model=model, agent__tools__require_approval=["write_file"]
    ) as app:
        turn = await ended(app, "Write it")
        [question] = await app.turns.open_questions(SESSION)
        await app.turns.answer(question.id, allowed=False)
        await app.turns.settled(turn.id)

        assert await listed(app) == [["report.md"]]


async def test_a_secret_is_not_listed(tmp_path):
    secret = "sk-ant-" + "a1" * 30
    spoken = f"I ran `curl -H x {'y' * 90} {secret}`. I ran `echo {secret}`."
    model = ScriptedModel([call("terminal", command=f"echo {secret}"), say(spoken)])
    async with make_app(tmp_path, model=model, toolsets=[hands(terminal)]) as app:
        await ended(app, "Go")

        [[only]] = await listed(app)
        assert only.startswith("curl -H x y")
        assert "sk-ant" not in only


async def test_a_long_session_is_searched_page_by_page(tmp_path):
    many = [call("terminal", command=f"touch f{number}.txt") for number in range(120)]
    model = ScriptedModel(
        [WROTE, calls(*many), say(f"{CLAIM} I made f0.txt, f119.txt and f120.txt.")]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands(terminal)]) as app:
        await ended(app, "Go")

        assert await listed(app) == [["f120.txt"]]
