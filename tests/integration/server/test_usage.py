"""Usage and activity over HTTP."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from tests.integration.server.owners import believing, told
from tests.integration.server.serving import served

from long_running_agents.client import Client
from long_running_agents.domain.budget import Usage
from long_running_agents.store import usage
from long_running_agents.testing import FrozenClock, call, say

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 16, 1, 30, tzinfo=UTC)


async def spend(app, hours, *, owner="me", model="openai:a", cost=None, number=[0]):  # noqa: B006
    number[0] += 1
    spent = Usage(input_tokens=100, output_tokens=10, cost=cost)
    key, at = f"t{number[0]}", NOW - timedelta(hours=hours)
    await app.database.write(
        lambda tx: usage.record(tx, "gone", key, 1, model, spent, at, owner=owner)
    )


async def test_today_is_a_calendar_day_and_not_a_number_of_hours(tmp_path):
    async with believing(tmp_path, clock=FrozenClock(NOW)) as (app, client):
        await spend(app, 1, cost=Decimal("0.5"))
        await spend(app, 2, model="openai:b")
        await spend(app, 24 * 3)
        await spend(app, 24 * 20)
        await spend(app, 24 * 100)
        await spend(app, 1, owner="you")
        ask = client()
        requests = {
            wanted: (await ask.ok("GET", f"/api/usage?range={wanted}&tz=UTC"))["total"]["requests"]
            for wanted in ("today", "7d", "30d", "all")
        }
        berlin = await ask.ok("GET", "/api/usage?tz=America/New_York")
        whole = await ask.ok("GET", "/api/usage?range=all&tz=UTC")
    # An hour ago was today, two hours ago was yesterday; in New York both were the same day.
    assert requests == {"today": 1, "7d": 3, "30d": 4, "all": 5}
    assert berlin["total"]["requests"] == 2
    assert [each["day"] for each in berlin["by_day"]] == ["2026-11-15"]
    assert [each["day"] for each in whole["by_day"]][:2] == ["2026-11-16", "2026-11-15"]
    assert {each["model"]: each["requests"] for each in whole["by_model"]} == {
        "openai:a": 4, "openai:b": 1,
    }  # fmt: skip
    assert whole["total"]["cost"] == 0.5
    assert whole["total"]["total_tokens"] == 550
    assert whole["by_session"] == [
        {"session_id": "gone", "title": None, **whole["total"]},
    ]  # fmt: skip


async def test_days_begin_at_midnight_also_where_clocks_are_moved(tmp_path):
    morning = datetime(2026, 3, 29, 10, tzinfo=UTC)
    async with believing(tmp_path, clock=FrozenClock(morning)) as (_, client):
        found = await client().ok("GET", "/api/usage?tz=Europe/Berlin")
    assert found["since"] == "2026-03-28T23:00:00Z"


async def test_zones_that_are_none_are_refused(tmp_path):
    async with believing(tmp_path) as (_, client):
        for name in ("Nowhere/Land", "../../etc/passwd", "Europe", "%00", "/etc/localtime", ""):
            assert (await client().refused("GET", f"/api/usage?tz={name}"))[0] == 400
        assert (await client().refused("GET", "/api/usage?range=1y"))[0] == 422


async def test_the_activity_of_all_sessions_is_read_page_by_page_without_a_gap(tmp_path):
    async with believing(tmp_path, *(say("Yes.") for _ in range(4))) as (app, client):
        for number in range(4):
            await told(app, "Hello", session=f"s{number % 2}")
        ask = client()
        whole = await ask.ok("GET", "/api/activity?limit=1000")
        pages, before = [], ""
        while before is not None:
            page = await ask.ok("GET", f"/api/activity?limit=2{before and f'&before={before}'}")
            pages += page["activity"]
            before = page["next"]
        ends = await ask.ok("GET", "/api/activity?type=done&limit=50")
        assert (await ask.refused("GET", "/api/activity?type=spell")) == (400, "bad_request")
        assert (await ask.refused("GET", "/api/activity?before=x"))[0] == 422
    assert pages == whole["activity"]
    assert whole["next"] is None
    assert {each["type"] for each in ends["activity"]} == {"done"}
    assert len(ends["activity"]) == 4
    assert {each["session_id"] for each in whole["activity"]} == {"s0", "s1"}
    assert {"type", "seq", "turn_id", "at"} <= set(whole["activity"][0])


async def test_a_budget_is_shown_and_raised_and_its_turn_goes_on(tmp_path):
    limits = {"budget__session__steps": 1, "budget__day__tokens": 90_000}
    async with believing(tmp_path, call("list_tasks"), say("Done."), **limits) as (app, client):
        turn = await told(app, "Go on.")
        assert turn.status == "limited"
        ask = client()
        found = (await ask.ok("GET", "/api/budget?session_id=s1"))["budget"]
        assert [(each["scope"], each["key"], each["resource"]) for each in found] == [
            ("session", "s1", "steps"),
            ("day", found[1]["key"], "tokens"),
        ]
        assert [found[0][name] for name in ("limit", "spent", "held")] == [1, 1, 0]
        assert len((await ask.ok("GET", "/api/budget"))["budget"]) == 1
        raised = await ask.ok("POST", "/api/budget", json={"session_id": "s1", "steps": 3})
        assert [each["turn_id"] for each in raised["turns"]] == [turn.id]
        rest = await ask.ok("GET", f"/api/turns/{turn.id}?wait=30")
        assert (rest["status"], rest["text"]) == ("done", "Done.")


async def test_a_budget_is_raised_by_whoever_administers_and_for_what_is_there(tmp_path):
    async with believing(tmp_path, say("Hi."), budget__session__tokens=50_000) as (app, client):
        await told(app, "Hello")
        more = {"session_id": "s1", "tokens": 10}
        refused = await client(scopes="read chat approve").refused("POST", "/api/budget", json=more)
        assert refused[0] == 403
        foreign = client("you")
        assert (await foreign.refused("POST", "/api/budget", json=more))[0] == 404
        assert (await foreign.refused("GET", "/api/budget?session_id=s1"))[0] == 404
        ask = client()
        for wrong in ({"tokens": 0}, {"cost": -1}, {"tokens": "many"}, {"dollars": 1}):
            assert (await ask.refused("POST", "/api/budget", json=wrong))[0] in (400, 422)
        assert await ask.refused("POST", "/api/budget", json={"tokens": 10}) == (
            400,
            "bad_request",
        )


async def test_a_client_in_python_shows_and_raises_budgets(tmp_path):
    async with (
        served(tmp_path, say("Hi."), budget__day__tokens=50_000) as (app, http),
        Client.at(str(http.base_url)) as client,
    ):
        assert await client.budgets.more(tokens=7) == []
        assert await client.budgets.lines() == await app.budgets.lines()
        assert [line.limit for line in await client.budgets.lines()] == [50_007]
