"""Memory over HTTP."""

import pytest
from tests.integration.server.owners import believing

pytestmark = pytest.mark.anyio

FROGS = {"content": "The heron at the mill eats frogs"}


async def test_something_is_remembered_found_corrected_forgotten_and_brought_back(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        new = await ask("POST", "/api/memory", json=FROGS)
        assert (new.status_code, new.json()["status"]) == (201, "stored")
        number = new.json()["memory"]["id"]
        again = await ask("POST", "/api/memory", json=FROGS)
        assert (again.status_code, again.json()["status"]) == (200, "merged")
        found = await ask.ok("GET", "/api/memory?q=what does the heron eat")
        assert found["memories"][0]["id"] == number
        assert found["memories"][0]["score"] == 1
        assert found["memories"][0]["why"]
        fish = {"content": "The heron at the mill eats fish"}
        corrected = await ask.ok("PATCH", f"/api/memory/{number}", json=fish)
        newer = corrected["memory"]["id"]
        shown = await ask.ok("GET", f"/api/memory/{newer}")
        assert [each["id"] for each in shown["history"]] == [number]
        gone = await ask.ok("DELETE", f"/api/memory/{newer}")
        assert {each["id"] for each in gone["memories"]} == {number, newer}
        assert await ask.refused("GET", f"/api/memory/{newer}") == (404, "not_found")
        back = await ask.ok("POST", f"/api/memory/undo/{gone['batch']}")
        assert len(back["memories"]) == 2
        stats = await ask.ok("GET", "/api/memory/stats")
        assert (stats["counts"], stats["trash"]) == ({"fact": 1}, 0)


async def test_what_is_similar_is_shown_and_left_to_whoever_writes(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        old = await ask.ok("POST", "/api/memory", json={"content": "My dog is called Rex"})
        near = {"content": "My dog is called Max"}
        refused = await ask("POST", "/api/memory", json=near)
        assert (refused.status_code, refused.json()["code"]) == (409, "similar")
        assert [each["id"] for each in refused.json()["memories"]] == [old["memory"]["id"]]
        both = await ask("POST", "/api/memory", json=near | {"keep_both": True})
        assert both.status_code == 201
        secret = {"content": "My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"}
        assert await ask.refused("POST", "/api/memory", json=secret) == (422, "refused")


async def test_a_selection_is_rehearsed_before_it_is_forgotten(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await ask.ok("POST", "/api/memory", json=FROGS)
        await ask.ok("POST", "/api/memory", json={"content": "Mills grind corn", "kind": "note"})
        wanted = {"query": "frogs", "dry_run": True}
        rehearsed = await ask.ok("POST", "/api/memory/forget", json=wanted)
        assert (len(rehearsed["memories"]), rehearsed["batch"]) == (1, None)
        assert len((await ask.ok("GET", "/api/memory"))["memories"]) == 2
        gone = await ask.ok("POST", "/api/memory/forget", json={"kind": "note", "for_good": True})
        assert (len(gone["memories"]), gone["batch"]) == (1, None)
        assert len((await ask.ok("GET", "/api/memory"))["memories"]) == 1
        nothing = await ask.refused("POST", "/api/memory/forget", json={})
        assert nothing == (400, "bad_request")
        unknown = await ask.refused("POST", "/api/memory/forget", json={"ids": [99]})
        assert unknown == (404, "not_found")


async def test_a_session_and_its_scope_go_together(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await ask.ok("POST", "/api/sessions", json={"id": "talk"})
        placed = FROGS | {"scope": "session", "session_id": "talk"}
        await ask.ok("POST", "/api/memory", json=placed)
        assert (await ask.ok("GET", "/api/memory"))["memories"] == []
        assert len((await ask.ok("GET", "/api/memory?session_id=talk"))["memories"]) == 1
        alone = await ask.refused("POST", "/api/memory", json=FROGS | {"scope": "session"})
        assert alone == (400, "bad_request")
        other = await client("you").refused("POST", "/api/memory", json=placed)
        assert other == (404, "not_found")


async def test_pages_of_a_list_follow_each_other(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        for bird in ("heron", "kestrel", "wren"):
            await ask.ok("POST", "/api/memory", json={"content": f"A {bird}", "keep_both": True})
        first = await ask.ok("GET", "/api/memory?limit=2")
        rest = await ask.ok("GET", f"/api/memory?limit=2&offset={first['next']}")
        assert [each["content"] for each in first["memories"] + rest["memories"]] == [
            "A wren", "A kestrel", "A heron",
        ]  # fmt: skip
        assert rest["next"] is None


async def test_where_nothing_is_remembered_that_is_said(tmp_path):
    async with believing(tmp_path, memory__enabled=False) as (_, client):
        assert await client().refused("GET", "/api/memory") == (503, "not_configured")


async def test_a_memory_is_switched_off_without_being_forgotten(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        number = (await ask.ok("POST", "/api/memory", json=FROGS))["memory"]["id"]
        path, question = f"/api/memory/{number}", "/api/memory?q=what does the heron eat"
        off = await ask.ok("PATCH", path, json={"enabled": False})
        assert (off["status"], off["memory"]["enabled"]) == ("switched", False)
        assert (await ask.ok("GET", question))["memories"] == []
        [found] = (await ask.ok("GET", f"{question}&disabled=true"))["memories"]
        assert (found["id"], found["enabled"]) == (number, False)
        [listed] = (await ask.ok("GET", "/api/memory"))["memories"]
        assert not listed["enabled"]
        fish = {"content": "The heron at the mill eats fish", "enabled": True}
        both = await ask.ok("PATCH", path, json=fish)
        assert (both["status"], both["memory"]["enabled"]) == ("stored", True)
        assert both["superseded"]["id"] == number
        assert (await ask.ok("GET", question))["memories"][0]["content"] == fish["content"]


async def test_a_change_of_a_memory_says_what_is_changed(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        number = (await ask.ok("POST", "/api/memory", json=FROGS))["memory"]["id"]
        for body in ({}, {"enabled": None}, {"enabled": "perhaps"}, {"content": ""}):
            assert (await ask.refused("PATCH", f"/api/memory/{number}", json=body))[0] == 422
        off = {"enabled": False}
        assert (await ask.refused("PATCH", "/api/memory/999", json=off)) == (404, "not_found")
        reader = client(scopes="read")
        assert (await reader.refused("PATCH", f"/api/memory/{number}", json=off))[0] == 403
