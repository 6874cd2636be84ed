"""What an owner's agents did, and who is asked where words do not decide."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from sqlalchemy import insert, update
from tests.embedder import FakeEmbedder

from long_running_agents.agent.router import Router
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import NotFound
from long_running_agents.store import agents, tables, turns
from long_running_agents.testing import ScriptedModel, make_app, say

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
TALK = SessionId("talk")


async def worked(app, label, *, tokens=100, seconds=2.0, status=TurnStatus.DONE, error=""):
    """Say that an agent did a turn; its number."""

    def work(tx):
        number = turns.next_number(tx, TALK)
        turn = Turn(
            id=TurnId(f"turn-{number}"),
            session_id=TALK,
            number=number,
            prompt="Work",
            origin=TurnOrigin.USER,
            attended=True,
            status=status,
            error=error,
            agent=label,
            created_at=NOON + timedelta(minutes=number),
        )
        turns.accept(tx, turn)
        spent = {"input_tokens": tokens, "seconds": seconds, "cost": Decimal("0.01")}
        assert spent.keys() <= Spent.__dataclass_fields__.keys()
        own = tables.turns.c.id == turn.id
        tx.execute(update(tables.turns).where(own).values(**spent))
        return number

    return await app.database.write(work)


async def test_each_version_is_counted_by_its_own_ended_turns(tmp_path):
    async with make_app(tmp_path) as app:
        await app.sessions.create(session_id=TALK)
        await app.agents.save({"name": "poet"})
        await app.agents.save({"name": "poet", "description": "Better"})
        for seconds in range(1, 11):
            await worked(app, "poet@1", seconds=float(seconds))
        for number in range(5):
            status = TurnStatus.FAILED
            await worked(app, "poet@2", status=status, error=f"Broken {number}")
        await worked(app, "poet@2", status=TurnStatus.RUNNING, tokens=9_000)
        await worked(app, "poetess@1")

        second, first = await app.agents.stats("poet")

        assert (second.agent, second.turns, second.done) == ("poet@2", 5, 0)
        assert second.errors == ("Broken 4", "Broken 3", "Broken 2")
        assert (first.turns, first.done, first.tokens, first.refuted) == (10, 10, 1000, 0)
        assert first.cost == Decimal("0.10")
        assert (first.p50_seconds, first.p95_seconds) == (5.0, 10.0)
        assert await app.agents.stats("coder") == []
        with pytest.raises(NotFound):
            await app.agents.stats("nobody")
        with pytest.raises(NotFound):
            await app.registry.of("you").stats("poet")


async def test_a_turn_far_outside_of_the_usual_is_told_with_its_numbers(tmp_path):
    async with make_app(tmp_path) as app:
        await app.sessions.create(session_id=TALK)
        await app.agents.save({"name": "poet"})
        for _ in range(9):
            await worked(app, "poet@1")
        assert (await app.agents.stats("poet"))[0].anomalies == ()
        await worked(app, "poet@1", tokens=5_000)

        [told] = await app.agents.stats("poet")
        last, *before = await app.database.read(lambda tx: agents.costs(tx, "me", "poet@1"))

        assert told.anomalies == ("5,000 tokens instead of about 100",)
        assert (last.tokens, len(before)) == (5_000, 9)


async def test_what_was_refuted_in_its_turns_counts(tmp_path):
    async with make_app(tmp_path) as app:
        await app.sessions.create(session_id=TALK)
        await app.agents.save({"name": "poet"})
        plan = [{"title": "Count", "criterion": {"kind": "file", "path": "birds.csv"}}]
        work = await app.works.start("Count", session_id=TALK, plan=plan)
        number = await worked(app, "poet@1")

        def refute(tx):
            own = tables.turns.c.number == number
            tx.execute(update(tables.turns).where(own).values(work_id=work.id))
            for count, turn in enumerate((number, number, number + 1), 1):
                row = {"work_id": work.id, "number": count, "task": 1, "turn": turn, "step": 1}
                row |= {"kind": "file", "state": "refuted", "by": "", "proof": "", "at": NOON}
                tx.execute(insert(tables.evidence).values(**row, cause=str(count)))

        await app.database.write(refute)

        assert (await app.agents.stats("poet"))[0].refuted == 2


async def test_a_small_model_is_not_asked_and_a_failing_embedder_leaves_the_words(tmp_path):
    model = ScriptedModel([say("1")], model_name="qwen2.5:0.5b")
    async with make_app(tmp_path, model=model) as app:
        embedder = FakeEmbedder(failures=None)
        service = replace(app.agents, router=Router(embedder, app.side_requests))
        for name in ("one", "two"):
            await service.save({"name": name, "description": "Forges iron"})
            await service.publish(name)
        unsure = await service.route("forges iron")
        assert (unsure.by, unsure.to, unsure.unsure) == ("default", "", True)
        assert [each.words for each in unsure.candidates] == [("forges", "iron")] * 2
        greeted = await service.route("Hello there!")
        assert (greeted.by, greeted.unsure) == ("default", False)
        embedder.failures = 0
        again = await service.route("forges iron")
        assert {each.agent for each in again.candidates[:2]} == {"one@1", "two@1"}
        assert len(embedder.asked) == 3


async def test_only_what_is_new_gets_vectors_and_what_is_retired_is_no_candidate(tmp_path):
    async with make_app(tmp_path) as app:
        embedder = FakeEmbedder()
        service = replace(app.agents, router=Router(embedder))
        await service.save({"name": "smith", "description": "Forges iron"})
        await service.publish("smith")
        assert (await service.route("Forge me some iron")).to == "smith@1"
        await service.save({"name": "cook", "description": "Makes soup"})
        await service.publish("cook")
        await service.route("soup")
        assert [len(texts) for texts in embedder.asked[1:]] == [1, 1, 1]
        await service.retire("smith")
        told = await service.route("Forge me some iron")
        assert all(each.agent != "smith@1" for each in told.candidates)
        strangers = await app.registry.of("you").route("Forge me some iron")
        assert all(each.agent != "cook@1" for each in strangers.candidates)
