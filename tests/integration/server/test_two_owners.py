"""Two owners at one server: what is another's is not there, whatever is asked."""

import json
import re

import pytest
from tests.integration.server.owners import believing, told
from tests.integration.server.skills import SHOUT, made, new
from tests.integration.server.windows import window

from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import EVERYTHING, Caller
from long_running_agents.server.asgi import api
from long_running_agents.server.auth import TokenRequest
from long_running_agents.server.guard import Authenticator
from long_running_agents.testing import call, make_app, say

pytestmark = pytest.mark.anyio

MARK = "zebrafish"
"""A word in everything of the other owner's."""
STRIPED = f'''def stripes(count: int) -> str:
    """Draw the stripes of a {MARK}."""
    return "|" * count
'''
ASKING = {"agent__tools__require_approval": ["update_task_status"]}
REPLIES = [
    call("create_task", title=f"{MARK} task"),
    call("update_task_status", task_id=1, status="done"),
]
MINE = [say("Mine.")] * 5
"""What I am answered where I talk in a session of mine."""
PUBLIC = {
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/api/settings"),
    ("PATCH", "/api/settings"),
    ("GET", "/api/log-level"),
    ("PUT", "/api/log-level"),
    ("GET", "/api/doctor"),
    ("GET", "/api/mcp"),
    ("GET", "/api/models"),
    ("POST", "/api/models/test"),
    ("GET", "/api/models/providers"),
    ("PUT", "/api/models/keys/{provider}"),
    ("DELETE", "/api/models/keys/{provider}"),
    ("POST", "/api/models/servers/test"),
    ("POST", "/api/models/servers"),
    ("POST", "/api/models/pull"),
    ("GET", "/api/models/pull"),
    ("DELETE", "/api/models/pull"),
    ("GET", "/metrics"),
    ("POST", "/login"),
    ("POST", "/logout"),
}
"""What is the server's own, and the same for everybody."""


async def theirs(app, client):
    """Everything that somebody can have; what names each of it."""
    turn = await told(app, f"A {MARK} question", session="theirs", owner="you")
    ask = client("you")
    [question] = (await ask.ok("GET", "/api/approvals"))["approvals"]
    memory = await ask.ok("POST", "/api/memory", json={"content": f"My {MARK} is called Rex"})
    gone = await ask.ok("POST", "/api/memory", json={"content": f"{MARK} likes jazz music"})
    batch = (await ask.ok("DELETE", f"/api/memory/{gone['memory']['id']}"))["batch"]
    await ask.ok("PUT", "/api/files/content?path=zebrafish.txt", content=MARK.encode())
    await made(ask, STRIPED)
    rule = await ask.ok("POST", "/api/rules", json={"text": MARK, "session_id": "theirs"})
    plan = [{"title": MARK, "criterion": {"kind": "file", "path": MARK}}]
    new = {"goal": MARK, "session_id": "planned", "plan": plan}
    work = await ask.ok("POST", "/api/works", json=new)
    spec = {"name": "theirs-too", "description": MARK, "examples": [f"A {MARK}"]}
    await ask.ok("POST", "/api/agents", json={"agent": spec})
    await ask.ok("POST", "/api/agents/theirs-too/publish")
    job = {"id": "theirs-daily", "name": MARK, "schedule": "daily 09:00", "prompt": MARK}
    await ask.ok("POST", "/api/jobs", json={"job": job})
    app.hands.of("you").workspace.write(f"skills/{MARK}.py", b"no skill")
    await app.workshop.filing.look("you")
    return {
        "session_id": "theirs",
        "turn_id": turn.id,
        "approval_id": question["id"],
        "rule_id": rule["id"],
        "work_id": work["id"],
        "number": memory["memory"]["id"],
        "batch": batch,
        "name": "stripes",
        "agent": "theirs-too",
        "job_id": "theirs-daily",
    }


def requests(ids):
    """Every route, asked for what is the other's."""
    themes = (
        conversations,
        works,
        others,
        approvals,
        memories,
        files,
        skills,
        turns,
        openai,
        agents,
        jobs,
    )
    return [request for theme in themes for request in theme(ids)]


def works(ids):
    """Deep work."""
    work = f"/api/works/{ids['work_id']}"
    verbs = ("approve", "decline", "pause", "abandon")
    return [
        ("GET", "/api/works", {}),
        ("GET", f"/api/works?session_id={ids['session_id']}", {}),
        ("POST", "/api/works", {"json": {"goal": "Mine", "session_id": ids["session_id"]}}),
        ("GET", work, {}),
        ("GET", f"{work}/report", {}),
        *(("POST", f"{work}/{verb}", {}) for verb in verbs),
        ("POST", f"{work}/revise", {"json": {"feedback": "Mine"}}),
        ("POST", f"{work}/resume", {"json": {"accept": [1]}}),
    ]


def jobs(ids):
    """Prompts with a schedule."""
    job, cron = f"/api/jobs/{ids['job_id']}", f"/api/cron/{ids['job_id']}"
    mine = {"name": "Mine", "schedule": "manual", "prompt": "Mine"}
    return [
        ("GET", "/api/jobs", {}),
        ("GET", "/api/cron", {}),
        ("GET", "/api/jobs/export", {}),
        ("GET", "/api/jobs/notices", {}),
        ("POST", "/api/jobs", {"json": {"job": mine}}),
        ("POST", "/api/jobs/preview", {"json": {"schedule": "daily 09:00"}}),
        ("POST", "/api/jobs/import", {"json": {"text": "[]"}}),
        ("POST", "/api/cron/reload", {}),
        ("GET", job, {}),
        ("GET", f"{job}/history", {}),
        ("PATCH", job, {"json": {"changes": {"prompt": "Mine"}}}),
        ("POST", f"{job}/run", {"json": {}}),
        ("POST", f"/hooks/{ids['job_id']}", {"json": {}}),
        *(("POST", f"{job}/{verb}", {}) for verb in ("hook", "pause", "resume")),
        *(("POST", f"{cron}/{verb}", {}) for verb in ("run", "toggle")),
        ("DELETE", job, {}),
    ]


def agents(ids):
    """Agents as data."""
    agent = f"/api/agents/{ids['agent']}"
    file = f"---\nname: mine\ndescription: A {MARK}\n---\nMine."
    return [
        ("GET", "/api/agents", {}),
        ("POST", "/api/agents/route", {"json": {"text": f"A {MARK}"}}),
        ("POST", "/api/agents/route", {"json": {"text": "Tell me about fish"}}),
        ("GET", agent, {}),
        ("GET", f"{agent}?version=1", {}),
        *(("GET", f"{agent}/{part}", {}) for part in ("versions", "stats", "export")),
        *(("POST", f"{agent}/{part}", {}) for part in ("publish", "retire")),
        ("POST", f"{agent}/examples", {"json": {"text": "Mine"}}),
        ("GET", f"/agents/{ids['agent']}/agent-card.json", {}),
        ("GET", "/.well-known/agent-card.json", {}),
        ("GET", "/v1/models", {}),
        ("GET", f"/v1/models/agent:{ids['agent']}", {}),
        ("POST", "/api/agents/import", {"json": {"text": file}}),
        ("POST", "/api/agents", {"json": {"agent": {"name": "mine"}}}),
    ]


def conversations(ids):
    """Sessions and their tasks."""
    session = ids["session_id"]
    return [
        ("GET", "/api/sessions", {}),
        ("GET", f"/api/sessions?q={MARK}", {}),
        ("POST", "/api/sessions", {"json": {"id": session}}),
        ("GET", f"/api/sessions/{session}", {}),
        ("PATCH", f"/api/sessions/{session}", {"json": {"title": "Mine", "mode": "deep_work"}}),
        ("DELETE", f"/api/sessions/{session}", {}),
        ("GET", f"/api/sessions/{session}/history", {}),
        ("GET", f"/api/sessions/{session}/context", {}),
        ("GET", f"/api/sessions/{session}/context?prompt={MARK}.txt", {}),
        ("POST", f"/api/sessions/{session}/context/check", {}),
        ("POST", f"/api/sessions/{session}/fork", {"json": {"turn_id": ids["turn_id"]}}),
        ("POST", f"/api/sessions/{session}/clear", {}),
        ("POST", f"/api/sessions/{session}/compact", {}),
        ("GET", f"/api/sessions/{session}/export", {}),
        ("GET", f"/api/sessions/{session}/export?format=jsonl", {}),
        ("GET", "/api/tasks", {}),
        ("GET", f"/api/tasks?session_id={session}", {}),
        ("GET", f"/api/sessions/{session}/tasks", {}),
        ("PATCH", f"/api/sessions/{session}/tasks/1", {"json": {"status": "failed"}}),
        ("POST", "/api/sessions/import",
         {"content": '{"kind": "session", "id": "theirs", "title": "Mine",'
                     ' "created_at": "2026-01-01T00:00:00Z"}',
          "headers": {"content-type": "application/x-ndjson"}}),
    ]  # fmt: skip


def turns(ids):
    """What is said, and what goes on."""
    session = ids["session_id"]
    return [
        ("POST", f"/api/chat/{session}", {"json": {"message": "Tell me"}}),
        ("POST", f"/api/chat/{session}", {"json": {"message": "Tell me", "steer": True}}),
        ("GET", "/api/turns", {}),
        ("GET", f"/api/turns/{ids['turn_id']}", {}),
        ("GET", f"/api/turns/{ids['turn_id']}/delegates", {}),
        ("POST", f"/api/turns/{ids['turn_id']}/stop", {}),
        ("GET", f"/api/sessions/{session}/turns", {}),
        ("GET", f"/api/sessions/{session}/events", {}),
        ("POST", f"/api/sessions/{session}/stop", {}),
        ("POST", f"/api/sessions/{session}/retry", {}),
    ]  # fmt: skip


def approvals(ids):
    """Questions, answers and grants."""
    session = ids["session_id"]
    return [
        ("GET", "/api/approvals", {}),
        ("GET", f"/api/approvals?session_id={session}", {}),
        ("GET", "/api/approvals/log", {}),
        ("GET", f"/api/approvals/log?session_id={session}", {}),
        ("POST", f"/api/approvals/{ids['approval_id']}",
         {"json": {"allowed": True, "lasting": "always"}}),
        ("GET", "/api/rules?ended=true", {}),
        ("GET", f"/api/rules?session_id={session}", {}),
        ("POST", "/api/rules", {"json": {"text": "Mine", "session_id": session}}),
        ("POST", "/api/rules", {"json": {"text": "Mine", "turn_id": ids["turn_id"]}}),
        ("PATCH", f"/api/rules/{ids['rule_id']}", {"json": {"state": "lifted"}}),
        ("GET", "/api/grants?revoked=true", {}),
        ("DELETE", f"/api/grants/{ids.get('grant_id', 'grant_x')}", {}),
    ]  # fmt: skip


def memories(ids):
    """What is remembered."""
    session, number = ids["session_id"], ids["number"]
    return [
        ("GET", "/api/memory?limit=1000", {}),
        ("GET", f"/api/memory?q={MARK}&disabled=true", {}),
        ("GET", f"/api/memory?session_id={session}", {}),
        ("POST", "/api/memory", {"json": {"content": f"A {MARK}", "session_id": session,
                                          "scope": "session"}}),
        ("POST", "/api/memory", {"json": {"content": "Rex is a cat", "supersedes": number}}),
        ("GET", f"/api/memory/{number}", {}),
        ("PATCH", f"/api/memory/{number}", {"json": {"content": "A cat"}}),
        ("PATCH", f"/api/memory/{number}", {"json": {"enabled": False}}),
        ("DELETE", f"/api/memory/{number}", {}),
        ("POST", "/api/memory/forget", {"json": {"ids": [number]}}),
        ("POST", "/api/memory/forget", {"json": {"query": MARK}}),
        ("POST", "/api/memory/forget", {"json": {"session_id": session}}),
        ("POST", f"/api/memory/undo/{ids['batch']}", {}),
        ("GET", "/api/memory/stats", {}),
        ("GET", "/api/learned", {}),
        ("POST", "/api/learned/reflect", {"json": {"session_id": ids["session_id"]}}),
        ("POST", "/api/learned/curate", {}),
        ("POST", f"/api/learned/{ids['number']}/undo", {}),
    ]  # fmt: skip


def files(_):
    """The workspace."""
    return [
        ("GET", "/api/files?depth=16", {}),
        ("GET", f"/api/files/content?path={MARK}.txt", {}),
        ("DELETE", f"/api/files/content?path={MARK}.txt", {}),
        ("PUT", f"/api/files/content?path={MARK}.txt", {"content": b"mine"}),
    ]  # fmt: skip


def skills(ids):
    """Tools that were made."""
    skill = f"/api/skills/{ids['name']}"
    return [
        ("GET", "/api/tools", {}),
        ("GET", "/api/skills?limit=1000", {}),
        ("GET", f"/api/skills?q={MARK}", {}),
        ("GET", "/api/skills/problems", {}),
        ("GET", "/api/skills/export", {}),
        ("GET", f"/api/skills/export?name={ids['name']}", {}),
        ("POST", "/api/skills/review", new(STRIPED.replace(MARK, "horse"))),
        ("GET", skill, {}),
        ("GET", f"{skill}/versions", {}),
        ("GET", f"{skill}/versions/1", {}),
        ("GET", f"{skill}/diff?old=1&new=1", {}),
        ("POST", f"{skill}/approve", {"json": {"version": 1}}),
        ("POST", f"{skill}/reject", {"json": {"version": 1}}),
        ("POST", f"{skill}/rollback", {"json": {"version": 1}}),
        ("POST", f"{skill}/enable", {}),
        ("POST", f"{skill}/disable", {}),
        ("POST", f"{skill}/run", {"json": {"args": {"count": 1}}}),
        ("DELETE", skill, {}),
        ("POST", "/api/skills", new(SHOUT, enable=True)),
        ("POST", "/api/skills/import", new(SHOUT)),
    ]  # fmt: skip


def others(ids):
    """What is of no one theme."""
    session = ids["session_id"]
    return [
        ("GET", "/api/usage?range=all", {}),
        ("GET", f"/api/budget?session_id={ids['session_id']}", {}),
        ("POST", "/api/budget", {"json": {"session_id": ids["session_id"], "tokens": 1}}),
        ("GET", "/api/activity?limit=1000", {}),
        ("POST", "/api/models/select",
         {"json": {"provider": "ollama", "model_id": "x", "session_id": session}}),
        ("GET", "/api/status", {}),
    ]  # fmt: skip


def openai(ids):
    """The doors for clients of other makers."""
    session = ids["session_id"]
    return [
        ("GET", f"/v1/responses/resp_{ids['turn_id']}_0", {}),
        ("POST", "/v1/chat/completions",
         {"json": {"model": "lra", "messages": [{"role": "user", "content": "Tell me"}]},
          "headers": {"X-LRA-Session": session}}),
        ("POST", "/v1/responses",
         {"json": {"model": "lra", "input": "Tell me", "conversation": session}}),
    ]  # fmt: skip


async def seen(ask):
    """All that an owner sees of theirs."""
    paths = (
        "/api/sessions", "/api/sessions/theirs/history", "/api/sessions/theirs/tasks",
        "/api/approvals", "/api/grants?revoked=true", "/api/approvals/log", "/api/memory?limit=100",
        "/api/memory/stats", "/api/files?depth=16", "/api/activity?limit=1000",
        "/api/files/content?path=zebrafish.txt", "/api/skills", "/api/skills/problems",
        "/api/skills/stripes/versions", "/api/agents/theirs-too/versions", "/api/tools",
    )  # fmt: skip
    return [(await ask("GET", path)).text for path in paths]


async def test_nothing_of_anothers_is_shown_or_changed_by_any_route(tmp_path):
    async with believing(tmp_path, *REPLIES, *MINE, **ASKING) as (app, client):
        ids = await theirs(app, client)
        await app.remembered()
        before = await seen(client("you"))
        assert all(MARK in text for text in (before[0], before[2], before[6], *before[10:]))
        mine = client("me")
        statuses = {}
        # Last what begins a session of mine, which is there from then on.
        for method, path, options in sorted(requests(ids), key=begins):
            answer = await mine(method, path, **options)
            # Its own words may come back to whoever asks.
            said = answer.text.replace(f"A {MARK}", "").replace(f"{MARK}.txt", "")
            assert MARK not in said, (method, path, answer.text)
            assert answer.status_code < 500, (method, path)
            statuses[method, path] = answer.status_code
        assert await seen(client("you")) == before
    named = {
        key: status for key, status in statuses.items()
        if not begins((*key, {}))
        and any(str(value) in key[1] for value in ids.values() if value != ids["number"])
    }  # fmt: skip
    # A webhook has a scope of its own.
    assert named.pop(("POST", f"/hooks/{ids['job_id']}")) == 403
    assert set(named.values()) <= {404, 200}
    assert {key for key, status in named.items() if status == 200} == {
        ("GET", "/api/approvals/log?session_id=theirs"),
        ("GET", "/api/memory?session_id=theirs"),
        ("GET", "/api/works?session_id=theirs"),
        # As of a session that is not there yet.
        ("GET", "/api/sessions/theirs/context"),
        ("GET", f"/api/sessions/theirs/context?prompt={MARK}.txt"),
    }


async def test_a_grant_is_its_owners(tmp_path):
    replies = [*REPLIES, say("Done.")]
    async with believing(tmp_path, *replies, **ASKING) as (app, client):
        ids = await theirs(app, client)
        yours = client("you")
        answer = {"allowed": True, "lasting": "always"}
        await yours.ok("POST", f"/api/approvals/{ids['approval_id']}", json=answer)
        [grant] = (await yours.ok("GET", "/api/grants"))["grants"]
        mine = client("me")
        assert (await mine.ok("GET", "/api/grants"))["grants"] == []
        told = await mine.refused("DELETE", f"/api/grants/{grant['id']}")
        assert told == (404, "not_found")
        assert len((await yours.ok("GET", "/api/grants"))["grants"]) == 1


async def test_every_route_is_among_those_that_were_tried(tmp_path):
    async with make_app(tmp_path) as app:
        described = api(app, SystemClock()).openapi()["paths"]
    known = {
        (method.upper(), path)
        for path, methods in described.items()
        for method in methods
        # Tokens are an administrator's, for whomever; over MCP there are no routes but tools, which
        # test_mcp_offered.py tries for two owners.
        if not path.startswith(("/api/tokens", "/mcp"))
    }
    ids = dict.fromkeys(
        (
            "session_id",
            "turn_id",
            "approval_id",
            "rule_id",
            "number",
            "batch",
            "name",
            "work_id",
            "agent",
            "job_id",
        ),
        "x",
    )
    tried = {(method, path.partition("?")[0]) for method, path, _ in requests(ids)}

    def matches(pattern, path):
        parts = zip(pattern.split("/"), path.split("/"), strict=False)
        same = pattern.count("/") == path.count("/")
        return same and all(a.startswith("{") or a == b for a, b in parts)

    for method, path in known - PUBLIC:
        assert any(method == other and matches(path, asked) for other, asked in tried), (
            f"nobody tried {method} {path}"
        )


BEGINNING = (
    "/api/sessions", "/api/sessions/import", "/api/chat/", "/v1/", "/api/memory", "/api/rules",
    "/api/works",
)  # fmt: skip
"""Where a session that is not there would be begun, or only its name be noted."""


def begins(request):
    method, path, _ = request
    return method == "POST" and path.startswith(BEGINNING) and path.count("/") < 4


async def test_what_is_anothers_is_answered_like_what_was_never_there(tmp_path):
    async with believing(tmp_path, *REPLIES, **ASKING) as (app, client):
        ids = await theirs(app, client)
        nothing = {**ids, "session_id": "thairs", "turn_id": "turn_x", "approval_id": "approval_x"}
        mine = client("me")
        tried = 0
        for (method, path, options), (_, other, _) in zip(
            requests(ids), requests(nothing), strict=True
        ):
            if path == other or begins((method, path, options)):
                continue
            found = await mine(method, path, **options)
            missing = await mine(method, other, **options)
            assert found.status_code == missing.status_code, (method, path)
            assert neutral(found.text, ids) == neutral(missing.text, nothing), (method, path)
            tried += 1
    assert tried > 20


def neutral(text, ids):
    for key in {"session_id", "turn_id", "approval_id"} & set(ids):
        text = text.replace(ids[key], key)
    return text


async def test_a_socket_on_anothers_session_hears_nothing_and_changes_nothing(tmp_path):
    async with believing(tmp_path, say("One."), say("Mine."), say("Two.")) as (app, client):
        await told(app, f"A {MARK} question", session="theirs", owner="you")
        key = Caller(owner="you").key("theirs")
        before = await app.sessions.of("you").events(key)
        mine = {"additional_headers": {"x-owner": "me"}}
        async with (
            window(client().address, "/ws/theirs", **mine) as theirs,
            window(client().address, "/ws/nobodys", **mine) as nobodys,
        ):
            answer = {"approval_id": "approval_x", "approved": True}
            for type_, more in (("stop", {}), ("retry", {}), ("approval_response", answer)):
                for socket in (theirs, nobodys):
                    await socket.send(type_, **more)
                    await socket.until("error")
            assert neutral(str(theirs.heard), {"session_id": "theirs"}) == neutral(
                str(nobodys.heard), {"session_id": "nobodys"}
            )
            for type_, more, heard in (
                ("message", {"content": "Tell me"}, "done"),
                ("set_mode", {"mode": "deep_work"}, "mode_changed"),
                ("clear", {}, "cleared"),
            ):
                await theirs.send(type_, **more)
                await theirs.until(heard)
            assert await app.sessions.of("you").events(key) == before
            until = len(theirs.heard)
            await told(app, f"Another {MARK}", session="theirs", owner="you")
            await theirs.send("ping")
            await theirs.until("pong")
        assert theirs.types()[until:] == ["pong"]
        assert MARK not in str(theirs.heard)


EXPORT = """{"kind": "session", "id": "imported", "title": "Old",
 "created_at": "2026-01-01T00:00:00Z"}""".replace("\n", "")
MADE_UP = re.compile(r"(session|turn|approval|msg|chatcmpl)(_|-)[0-9a-z]{20,}")
CHANGING = re.compile(
    r'"[^"]*20\d\d-[^"]*"|"created(_at)?":\d+|"id":\d+|"(owner|seconds)": [^,}]+|\d{16}\.'
    r"|20\d\d-\d\d-\d\d \d\d:\d\d UTC"
)


async def story(app, ask):
    """Begin sessions by every door under ids that I choose; what came of it, but for the new."""
    told = []

    async def asked(method, path, **options):
        answer = await ask(method, path, **options)
        session = answer.headers.get("x-lra-session")
        told.append((path, answer.status_code, session, answer.text))
        return answer

    user = {"role": "user", "content": "Hello"}
    await asked("POST", "/api/sessions", json={"id": "created", "title": "Mine"})
    await asked("POST", "/api/sessions", json={"id": "created"})
    await asked("POST", "/api/sessions", json={"id": "activity"})
    await asked("POST", "/api/chat/chatted", json={"message": "Hello"})
    async with window(ask.address, "/ws/spoken", additional_headers=ask.who) as socket:
        await socket.send("message", content="Hello")
        await socket.until("done")
        told.append(("/ws/spoken", json.dumps([one for one in socket.heard if "seq" in one])))
    for name in ("chatted", "completed"):
        body = {"model": "lra", "messages": [user]}
        headers = {"X-LRA-Session": name}
        await asked("POST", "/v1/chat/completions", json=body, headers=headers)
    body = {"model": "lra", "input": "Hello", "conversation": "responded"}
    await asked("POST", "/v1/responses", json=body)
    lines = {"content-type": "application/x-ndjson"}
    for _ in range(2):
        await asked("POST", "/api/sessions/import", content=EXPORT, headers=lines)
    fork = (await asked("POST", "/api/sessions/chatted/fork")).json()["id"]
    await asked("POST", f"/api/chat/{fork}", json={"message": "And then?"})
    here = {"scope": "session", "session_id": "chatted"}
    await asked("POST", "/api/memory", json={"content": "The heron is called Rex", **here})
    await app.remembered()
    for path in (
        "/api/sessions", "/api/sessions/chatted", "/api/sessions/chatted/turns", "/api/turns",
        "/api/sessions/chatted/events", "/api/sessions/chatted/context", "/api/usage",
        "/api/sessions/chatted/export?format=jsonl", "/api/sessions/chatted/export",
        "/api/activity?limit=1000", f"/api/sessions/{fork}", "/api/memory?session_id=chatted",
    ):  # fmt: skip
        await asked("GET", path)
    page = (await asked("GET", "/api/activity?limit=3")).json()
    await asked("GET", f"/api/activity?limit=3&before={page['next']}")
    await asked("DELETE", "/api/sessions/created")
    await asked("GET", "/api/sessions/created")
    return told


def plain(told):
    """A story, but for ids and numbers that were made up, and moments."""
    return [CHANGING.sub("T", MADE_UP.sub("X", str(each))) for each in told]


@pytest.mark.parametrize(("first", "second"), [("me", "you"), ("you", "me"), ("you", "them")])
async def test_two_owners_use_the_same_ids_and_neither_can_tell(tmp_path, first, second):
    replies = [say("An answer.")] * 12
    quiet = {"agent__name": "lra", "memory__recall": False}
    async with believing(tmp_path, *replies, **quiet) as (app, client):
        before, after = await story(app, client(first)), await story(app, client(second))
    assert [each[1] for each in before if each[0] == "/api/sessions"] == [201, 409, 400, 200]
    for mine, other in zip(plain(before), plain(after), strict=True):
        assert mine == other
    assert "~" not in str(before) + str(after)


async def test_whoever_the_home_belongs_to_has_plain_keys_and_a_guest_has_not(tmp_path):
    async with make_app(tmp_path, owner="anne") as app:
        door = Authenticator(app.database, SystemClock(), app.settings.gateway, app.settings.owner)
        secrets = {}
        for owner in ("anne", "me"):
            wish = TokenRequest(name="t", owner=owner, scopes=EVERYTHING)
            secrets[owner] = (await door.tokens.create(wish, by="test")).secret
        keys = [(await door.admit(secrets[name], "")).caller.key("x") for name in secrets]
        assert [door.local().caller.key("x"), *keys] == ["x", "x", "me~x"]
