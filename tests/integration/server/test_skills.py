"""Skills over HTTP, with a real sandbox."""

import pytest
from tests.integration.server.owners import believing, told
from tests.integration.server.serving import served
from tests.integration.server.skills import (
    CELSIUS,
    EXACT,
    HALVE,
    REACHING,
    SHOUT,
    UNTYPED,
    made,
    new,
)

from long_running_agents.clock import SystemClock
from long_running_agents.server.asgi import api
from long_running_agents.testing import call, make_app, say

pytestmark = pytest.mark.anyio


async def listed(ask, query=""):
    found = await ask.ok("GET", f"/api/skills{query}")
    return [each["name"] for each in found["skills"]]


async def test_a_skill_is_proposed_approved_and_then_called_by_the_model(tmp_path):
    replies = [call("celsius", fahrenheit=212), say("It boils at 100.")]
    async with believing(tmp_path, *replies) as (app, client):
        ask = client()
        answer = await ask("POST", "/api/skills", **new(CELSIUS))
        version = answer.json()
        assert answer.status_code == 201
        assert (version["name"], version["number"], version["standing"]) == (
            "celsius",
            1,
            "proposed",
        )
        assert version["brought"]["origin"] == "person"
        found = await ask.ok("GET", "/api/skills")
        assert (found["total"], found["waiting"], found["skills"][0]["state"]) == (1, 1, "proposed")
        skill = await ask.ok("POST", "/api/skills/celsius/approve", json={"version": 1})
        assert (skill["state"], skill["version"], skill["proposed"]) == ("enabled", 1, None)
        turn = await told(app, "At how many degrees does water boil?")
        assert turn.answer == "It boils at 100."
        history = await ask.ok("GET", "/api/sessions/s1/history")
        assert "100.0" in str(history["messages"])
        skill = await ask.ok("GET", "/api/skills/celsius")
        assert (skill["calls"], skill["failures"], skill["used_at"] is None) == (1, 0, False)
        assert (await ask.ok("GET", "/api/skills"))["waiting"] == 0


async def test_a_skill_in_use_is_among_the_tools_of_its_owner_alone(tmp_path):
    async def skills_of(owner):
        tools = (await client(owner).ok("GET", "/api/tools"))["tools"]
        assert {"built_in"} <= {each["kind"] for each in tools} <= {"built_in", "skill"}
        return [each for each in tools if each["kind"] == "skill"]

    async with believing(tmp_path) as (_, client):
        await made(client(), SHOUT)
        await client().ok("POST", "/api/skills", **new(CELSIUS))
        [shout] = await skills_of("me")
        assert (shout["name"], shout["enabled"], shout["approval"]) == ("shout", True, "sometimes")
        assert list(shout["parameters"]["properties"]) == ["text"]
        assert "execute" in shout["powers"]
        assert await skills_of("you") == []
        await client().ok("POST", "/api/skills/shout/disable")
        assert await skills_of("me") == []


async def test_skills_are_listed_by_state_by_words_and_page_by_page(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await made(ask, CELSIUS, SHOUT)
        await ask.ok("POST", "/api/skills", **new(HALVE, examples=[{"args": {"number": 2}}]))
        await ask.ok("POST", "/api/skills/shout/disable")
        assert await listed(ask) == ["celsius", "halve", "shout"]
        assert await listed(ask, "?state=enabled") == ["celsius"]
        assert await listed(ask, "?state=disabled") == ["shout"]
        assert await listed(ask, "?state=proposed") == ["halve"]
        assert await listed(ask, "?q=FAHRENHEIT") == ["celsius"]
        assert await listed(ask, "?q=hal") == ["halve"]
        first = await ask.ok("GET", "/api/skills?limit=2")
        assert (first["total"], first["next"], len(first["skills"])) == (3, 2, 2)
        last = await ask.ok("GET", "/api/skills?limit=2&offset=2")
        assert ([each["name"] for each in last["skills"]], last["next"]) == (["shout"], None)
        assert await ask.refused("GET", "/api/skills?state=asleep") == (422, "bad_request")


async def test_versions_are_kept_compared_and_brought_back(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        [first, second] = await made(ask, CELSIUS, EXACT)
        assert (first["number"], second["number"]) == (1, 2)
        again = await ask.ok("POST", "/api/skills", **new(EXACT))
        assert again["number"] == 2
        found = await ask.ok("GET", "/api/skills/celsius/versions")
        assert ([each["number"] for each in found["versions"]], found["total"]) == ([2, 1], 2)
        page = await ask.ok("GET", "/api/skills/celsius/versions?limit=1&offset=0")
        assert ([each["number"] for each in page["versions"]], page["next"]) == ([2], 1)
        shown = await ask.ok("GET", "/api/skills/celsius/versions/1")
        assert (shown["source"], shown["digest"]) == (CELSIUS, first["digest"])
        assert shown["interface"]["parameters"]["required"] == ["fahrenheit"]
        assert shown["trial"]["passed"]
        diff = (await ask.ok("GET", "/api/skills/celsius/diff?old=1&new=2"))["diff"]
        assert "-    return round((fahrenheit - 32) * 5 / 9, 1)" in diff
        assert "+    return (fahrenheit - 32) * 5 / 9" in diff
        back = await ask.ok("POST", "/api/skills/celsius/rollback")
        assert (back["version"], back["newest"], back["enabled"]) == (1, 2, True)
        assert await ask.refused("POST", "/api/skills/celsius/rollback") == (409, "busy")
        forth = await ask.ok("POST", "/api/skills/celsius/rollback", json={"version": 2})
        assert forth["version"] == 2
        for path in ("versions/9", "diff?old=1&new=9"):
            assert await ask.refused("GET", f"/api/skills/celsius/{path}") == (404, "not_found")
        no_such = {"json": {"version": 9}}
        for what in ("approve", "reject", "rollback"):
            path = f"/api/skills/celsius/{what}"
            assert await ask.refused("POST", path, **no_such) == (404, "not_found")


async def test_a_version_that_was_rejected_is_not_used_and_cannot_be_brought_back(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await made(ask, CELSIUS)
        await ask.ok("POST", "/api/skills", **new(EXACT))
        skill = await ask.ok("POST", "/api/skills/celsius/reject")
        assert (skill["version"], skill["proposed"]) == (1, None)
        shown = await ask.ok("GET", "/api/skills/celsius/versions/2")
        assert (shown["standing"], shown["decided_by"]) == ("rejected", "person")
        second = {"json": {"version": 2}}
        assert await ask.refused("POST", "/api/skills/celsius/rollback", **second) == (
            403,
            "denied",
        )
        assert await ask.refused("POST", "/api/skills/celsius/reject") == (409, "busy")


async def test_a_skill_rests_wakes_and_is_forgotten(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await ask.ok("POST", "/api/skills", **new(SHOUT))
        assert await ask.refused("POST", "/api/skills/shout/enable") == (409, "busy")
        await ask.ok("POST", "/api/skills/shout/approve", json={"version": 1})
        rests = await ask.ok("POST", "/api/skills/shout/disable", json={"note": "too loud"})
        assert (rests["state"], rests["note"], rests["version"]) == ("disabled", "too loud", 1)
        wakes = await ask.ok("POST", "/api/skills/shout/enable")
        assert (wakes["state"], wakes["note"]) == ("enabled", "")
        answer = await ask("DELETE", "/api/skills/shout")
        assert (answer.status_code, answer.content) == (204, b"")
        assert await ask.refused("GET", "/api/skills/shout") == (404, "not_found")
        assert await ask.refused("DELETE", "/api/skills/shout") == (404, "not_found")
        assert await listed(ask) == []


async def test_a_review_shows_the_interface_and_the_trial_and_keeps_nothing(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        wish = new(SHOUT, examples=[{"args": {"text": "hi"}, "result": "HI"}])
        seen = await ask.ok("POST", "/api/skills/review", **wish)
        assert (seen["ok"], seen["name"]) == (True, "shout")
        interface = seen["interface"]
        assert interface["description"].startswith("Write a text in capital letters.")
        assert (interface["is_async"], interface["context"]) == (False, "")
        assert interface["returns"] == {"type": "string"}
        [attempt, *_] = seen["trial"]["attempts"]
        assert (attempt["args"], attempt["shown"], attempt["error"]) == ({"text": "hi"}, '"HI"', "")
        assert attempt["duration_ms"] > 0
        assert await listed(ask) == []


async def test_a_review_says_what_is_wrong_in_which_line_and_what_to_do(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        seen = await ask.ok("POST", "/api/skills/review", **new(UNTYPED))
        assert (seen["ok"], seen["trial"]) == (False, None)
        errors = [each for each in seen["findings"] if each["severity"] == "error"]
        assert errors
        assert any(each["line"] == 1 for each in errors)
        assert all(each["message"] and each["repair"] for each in errors)
        failed = new(SHOUT, examples=[{"args": {"text": "hi"}, "result": "hi"}])
        seen = await ask.ok("POST", "/api/skills/review", **failed)
        assert (seen["ok"], seen["trial"]["passed"]) == (False, False)
        assert "instead of" in seen["trial"]["reason"]


@pytest.mark.parametrize("enable", [False, True], ids=["proposed", "enabled"])
async def test_what_fails_its_review_or_its_trial_is_refused_and_not_kept(tmp_path, enable):
    wrong = {"examples": [{"args": {"text": "hi"}, "result": "hi"}]}
    async with believing(tmp_path) as (_, client):
        ask = client()
        for wish, why in (
            (new(UNTYPED, enable=enable), "line 1"),
            (new(REACHING, enable=enable), "socket"),
            (new(SHOUT, enable=enable, **wrong), "did not pass its trial"),
            (new("def broken(:", enable=enable), "line 1"),
        ):
            answer = await ask("POST", "/api/skills", **wish)
            body = answer.json()
            assert (answer.status_code, body["code"]) == (422, "skill_refused"), body
            assert why in body["message"]
        assert await listed(ask) == []


async def test_wishes_about_a_skill_are_kept_with_its_version(tmp_path):
    wishes = {
        "name": "to_celsius",
        "function": "celsius",
        "description": "Say how warm it is.",
        "examples": [{"args": {"fahrenheit": 32}, "result": 0}],
        "timeout": 5,
        "memory": 128,
        "allowed_imports": ["math"],
        "label": "1.0",
    }
    async with believing(tmp_path) as (_, client):
        version = await client().ok("POST", "/api/skills", **new(CELSIUS, **wishes))
    assert (version["name"], version["interface"]["function"]) == ("to_celsius", "celsius")
    assert version["interface"]["description"] == "Say how warm it is."
    assert version["limits"] == {"timeout": 5, "memory": 128}
    assert (version["safe_mode"], version["allowed_imports"]) == (True, ["math"])
    assert (version["label"], version["examples"][0]["checked"]) == ("1.0", True)


async def test_a_version_is_tried_with_arguments_and_a_failure_is_a_result(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        await made(ask, CELSIUS)
        await ask.ok("POST", "/api/skills", **new(HALVE, examples=[{"args": {"number": 2}}]))
        path = "/api/skills/celsius/run"
        tried = await ask.ok("POST", path, json={"args": {"fahrenheit": 212}})
        assert (tried["shown"], tried["error"]) == ("100.0", "")
        tried = await ask.ok("POST", "/api/skills/halve/run", json={"args": {"number": 0}})
        assert "ZeroDivisionError" in tried["error"]
        tried = await ask.ok("POST", path, json={"args": {}, "version": 1})
        assert "fahrenheit" in tried["error"]
        nowhere = {"json": {"args": {}, "version": 2}}
        assert await ask.refused("POST", path, **nowhere) == (404, "not_found")
        assert (await ask.ok("GET", "/api/skills/celsius"))["calls"] == 0


async def test_a_guide_is_kept_with_its_files_and_has_nothing_to_call(tmp_path):
    guide = {
        "kind": "guide",
        "name": "herons",
        "files": [{"path": "places.md", "content": "At the mill.\n"}],
    }
    text = "---\nname: herons\ndescription: How to count herons.\n---\n\nCount the legs.\n"
    async with believing(tmp_path) as (_, client):
        ask = client()
        version = await ask.ok("POST", "/api/skills", **new(text, enable=True, **guide))
        assert (version["kind"], version["files"]) == ("guide", guide["files"])
        assert version["interface"]["description"] == "How to count herons."
        assert (await ask.ok("GET", "/api/skills/herons"))["state"] == "enabled"
        tools = (await ask.ok("GET", "/api/tools"))["tools"]
        assert "herons" not in {each["name"] for each in tools}
        tried = await ask.refused("POST", "/api/skills/herons/run", json={"args": {}})
        assert tried == (400, "bad_request")
        exported = await ask.refused("GET", "/api/skills/export?name=herons")
        assert exported == (400, "bad_request")


async def test_what_one_owner_exports_another_can_import_and_has_to_approve(tmp_path):
    async with believing(tmp_path) as (_, client):
        mine, yours = client("me"), client("you")
        await made(mine, CELSIUS, SHOUT)
        exported = await mine("GET", "/api/skills/export")
        assert exported.headers["content-type"].startswith("text/x-python")
        assert exported.headers["content-disposition"] == 'attachment; filename="skills.py"'
        compile(exported.text, "skills.py", "exec")
        one = await mine("GET", "/api/skills/export?name=shout")
        assert "def shout" in one.text
        assert "def celsius" not in one.text
        brought = await yours("POST", "/api/skills/import", json={"source": exported.text})
        assert brought.status_code == 201
        versions = brought.json()["versions"]
        assert {each["name"]: each["standing"] for each in versions} == {
            "celsius": "proposed",
            "shout": "proposed",
        }
        assert {each["brought"]["origin"] for each in versions} == {"import"}
        await yours.ok("POST", "/api/skills/celsius/approve", json={"version": 1})
        tried = await yours.ok(
            "POST", "/api/skills/celsius/run", json={"args": {"fahrenheit": 212}}
        )
        assert tried["shown"] == "100.0"
        assert await mine.refused("GET", "/api/skills/export?name=nothing") == (404, "not_found")
        broken = await yours.refused("POST", "/api/skills/import", **new("def x(:"))
        assert broken == (400, "not_python")


async def test_a_file_that_cannot_be_a_skill_is_among_the_problems(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        assert (await ask.ok("GET", "/api/skills/problems"))["problems"] == []
        app.hands.of("me").workspace.write("skills/celsius.py", UNTYPED.encode())
        await app.workshop.filing.look("me")
        [problem] = (await ask.ok("GET", "/api/skills/problems"))["problems"]
        assert problem["path"] == "skills/celsius.py"
        assert "line 1" in problem["error"]
        assert (await client("you").ok("GET", "/api/skills/problems"))["problems"] == []


async def test_another_owner_has_nothing_of_it_and_may_take_the_same_name(tmp_path):
    async with believing(tmp_path) as (_, client):
        mine, yours = client("me"), client("you")
        await made(mine, CELSIUS)
        assert await yours.ok("GET", "/api/skills") == {
            "skills": [],
            "total": 0,
            "waiting": 0,
            "next": None,
        }
        for method, path in (
            ("GET", ""),
            ("GET", "/versions"),
            ("GET", "/versions/1"),
            ("GET", "/diff?old=1&new=1"),
            ("POST", "/reject"),
            ("POST", "/rollback"),
            ("POST", "/enable"),
            ("POST", "/disable"),
            ("DELETE", ""),
        ):
            asked = await yours.refused(method, f"/api/skills/celsius{path}")
            assert asked == (404, "not_found"), (method, path)
        seen = {"json": {"version": 1}}
        assert await yours.refused("POST", "/api/skills/celsius/approve", **seen) == (
            404,
            "not_found",
        )
        tried = {"json": {"args": {"fahrenheit": 1}}}
        assert await yours.refused("POST", "/api/skills/celsius/run", **tried) == (404, "not_found")
        await made(yours, EXACT)
        assert (await mine.ok("GET", "/api/skills/celsius/versions"))["total"] == 1
        await yours.ok("DELETE", "/api/skills/celsius")
        assert await listed(mine) == ["celsius"]


async def test_whatever_runs_or_changes_a_skill_takes_the_scope_to_approve(tmp_path):
    async with make_app(tmp_path) as app:
        described = api(app, SystemClock()).openapi()["paths"]
    scopes = {
        (method, path): about["x-scope"]
        for path, methods in described.items()
        if path.startswith("/api/skills")
        for method, about in methods.items()
    }
    assert len(scopes) == 17
    for (method, path), scope in scopes.items():
        assert scope == ("read" if method == "get" else "approve"), path


async def test_what_is_decided_is_written_down_for_the_token_that_decided_it(tmp_path):
    async with served(tmp_path) as (_, http):
        body = {"name": "phone", "scopes": ["read", "approve"]}
        token = (await http.post("/api/tokens", json=body)).json()
        bearer = {"Authorization": f"Bearer {token['secret']}"}
        made_by_token = await http.post("/api/skills", **new(SHOUT, enable=True), headers=bearer)
        assert made_by_token.json()["decided_by"] == token["id"]
        made_at_home = await http.post("/api/skills", **new(CELSIUS, enable=True))
        assert made_at_home.json()["decided_by"] == "person"


async def test_a_home_without_skills_says_so_everywhere(tmp_path):
    async with believing(tmp_path, agent__tools__enable__skills=False) as (_, client):
        ask = client()
        for method, path, options in (
            ("GET", "", {}),
            ("GET", "/problems", {}),
            ("GET", "/export", {}),
            ("GET", "/celsius", {}),
            ("GET", "/celsius/versions", {}),
            ("POST", "", new(CELSIUS)),
            ("POST", "/review", new(CELSIUS)),
            ("POST", "/import", new(CELSIUS)),
            ("POST", "/celsius/run", {"json": {"args": {}}}),
            ("DELETE", "/celsius", {}),
        ):
            answer = await ask(method, f"/api/skills{path}", **options)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
            assert "agent.tools.enable.skills" in answer.json()["hint"]
        tools = (await ask.ok("GET", "/api/tools"))["tools"]
        assert {each["kind"] for each in tools} == {"built_in"}
