"""Sessions, tasks and approvals from the outside."""

import asyncio
import json
import re

import pytest

from long_running_agents.domain.session import SessionOrigin
from long_running_agents.domain.turn import Terms, TurnStatus
from long_running_agents.home import Home
from long_running_agents.testing import ScriptedModel, call, make_app, say


@pytest.fixture
def told(lra):
    """A home in which a session 's' has two turns and a task."""
    lra("ask", "plan the week", "--session", "s")
    lra("ask", "and now?", "--session", "s")
    return lra


def show(lra, session):
    return json.loads(lra("sessions", "show", session, "--json")[1])


def test_an_empty_home_has_no_sessions(lra):
    assert lra("sessions", "list")[0] == 0
    assert lra("sessions", "list", "--json")[1] == "[]\n"
    assert lra("approvals", "list", "--json")[1] == "[]\n"


def test_sessions_are_listed_and_found(told):
    told("ask", "something else", "--session", "other")
    code, out, _ = told("sessions", "list")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == ["other", "s"]
    assert [
        line.split("\t")[0] for line in told("sessions", "list", "--limit", "1")[1].splitlines()
    ] == ["other"]
    found = json.loads(told("sessions", "list", "--search", "WEEK", "--json")[1])
    assert [each["session"]["id"] for each in found] == ["s"]


@pytest.mark.anyio
async def test_sessions_of_other_programs_are_listed_when_asked_for(lra, tmp_path):
    async with make_app(tmp_path / "home", model=ScriptedModel([say("1"), say("2")])) as app:
        for name, origin in (("mine", SessionOrigin.OWN), ("editor", SessionOrigin.OPENAI)):
            turn = await app.turns.start(name, "Hello", terms=Terms(origin=origin))
            await app.turns.settled(turn.id)
    for asked, names in (
        ([], "mine"),
        (["--origin", "openai"], "editor"),
        (["--origin", "mcp"], ""),
    ):
        _, out, _ = await asyncio.to_thread(lra, "sessions", "list", *asked)
        assert [line.split("\t")[0] for line in out.splitlines()] == names.split()
    _, out, _ = await asyncio.to_thread(lra, "sessions", "list", "--origin", "all")
    assert len(out.splitlines()) == 2


def test_a_session_is_shown(told):
    code, out, _ = told("sessions", "show", "s")
    assert code == 0
    assert "you: plan the week" in out
    assert "[ ] #1 Buy milk" in out
    shown = show(told, "s")
    assert [turn["number"] for turn in shown["turns"]] == [1, 2]
    assert shown["tasks"][0]["title"] == "Buy milk"


def test_a_session_is_renamed(told):
    assert told("sessions", "rename", "s", "My week")[0] == 0
    assert show(told, "s")["session"]["title"] == "My week"


def test_a_session_is_forked_at_a_turn(told):
    first = show(told, "s")["turns"][0]["id"]
    code, out, err = told("sessions", "fork", "s", "--at", first)
    assert code == 0
    assert f"lra chat --session {out.strip()}" in err
    assert len(show(told, out.strip())["turns"]) == 1
    assert len(show(told, "s")["turns"]) == 2


def test_a_session_is_exported(told, tmp_path):
    assert told("sessions", "export", "s")[1].startswith("# plan the week\n")
    file = tmp_path / "s.jsonl"
    code, out, _ = told("sessions", "export", "s", "--format", "jsonl", "-o", str(file))
    assert (code, out) == (0, "")
    kinds = {json.loads(line)["kind"] for line in file.read_text().splitlines()}
    assert kinds == {"session", "turn", "message", "event", "task"}


def test_a_session_is_deleted_only_on_purpose(told):
    code, _, err = told("sessions", "delete", "s")
    assert code == 2
    assert "--yes" in err
    assert told("sessions", "delete", "s", "--yes")[0] == 0
    assert told("sessions", "show", "s")[0] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["sessions", "show", "nope"], 3, "No session 'nope'."),
        (["sessions", "show", "../x"], 2, "not accepted"),
        (["sessions", "rename", "nope", "x"], 3, "No session 'nope'."),
        (["sessions", "rename", "s", " "], 2, "title is empty"),
        (["sessions", "fork", "nope"], 3, "No session 'nope'."),
        (["sessions", "fork", "s", "--at", "nope"], 3, "nope"),
        (["sessions", "export", "nope"], 3, "No session 'nope'."),
        (["sessions", "export", "s", "-o", "/nowhere/x.md"], 75, "/nowhere/x.md"),
        (["sessions", "export", "s", "--format", "pdf"], 2, "'pdf'"),
        (["sessions", "list", "--limit", "0"], 2, "--limit"),
        (["sessions", "delete", "nope", "--yes"], 3, "No session 'nope'."),
        (["tasks", "list", "-s", "nope"], 3, "No session 'nope'."),
        (["approvals", "allow", "nope"], 3, "No approval 'nope'."),
        (["approvals", "deny", "nope"], 3, "No approval 'nope'."),
    ],
)
def test_bad_input_is_refused_with_a_helpful_line(told, arguments, code, line):
    found, out, err = told(*arguments)
    assert (found, out) == (code, "")
    assert line in err


def test_tasks_of_the_newest_session_are_listed(told):
    assert told("tasks", "list")[1] == "[ ] #1 Buy milk\n"
    assert json.loads(told("tasks", "list", "-s", "s", "--json")[1])[0]["number"] == 1


def test_reading_works_beside_an_owner_and_writing_does_not(told, tmp_path):
    with Home(tmp_path / "home").owned():
        assert told("sessions", "list")[0] == 0
        assert told("sessions", "show", "s")[0] == 0
        assert told("tasks", "list", "-s", "s")[0] == 0
        assert told("approvals", "list")[0] == 0
        for arguments in (["rename", "s", "x"], ["fork", "s"], ["delete", "s", "--yes"]):
            code, _, err = told("sessions", *arguments)
            assert code == 75
            assert "is using" in err
        assert told("ask", "x")[0] == 75


@pytest.fixture
async def question(tmp_path):
    """A session 's' that waits for an answer; its home is closed."""
    model = ScriptedModel([call("create_task", title="Buy milk")])
    async with make_app(
        tmp_path / "home", model=model, agent__tools__require_approval=["create_task"]
    ) as app:
        turn = await app.turns.start("s", "plan it")
        assert (await app.turns.settled(turn.id)).status is TurnStatus.WAITING
        [asked] = await app.turns.open_questions("s")
    return asked.id


def in_a_thread(lra, *arguments):
    """The program runs its own loop, so it cannot run inside the test's."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only here

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lra, *arguments).result()


@pytest.mark.anyio
async def test_a_question_is_listed_and_allowed(lra, question):
    assert question in in_a_thread(lra, "approvals", "list")[1]
    code, out, _ = in_a_thread(lra, "approvals", "allow", question)
    assert (code, out) == (0, "Planned.\n")
    assert in_a_thread(lra, "tasks", "list")[1] == "[ ] #1 Buy milk\n"
    assert in_a_thread(lra, "approvals", "allow", question)[0] == 75


@pytest.mark.anyio
async def test_a_denied_question_lets_the_turn_go_on(lra, question):
    code, out, _ = in_a_thread(lra, "approvals", "deny", question, "not today")
    assert (code, out) == (0, "Planned.\n")
    exported = in_a_thread(lra, "sessions", "export", "s", "--format", "jsonl")[1]
    assert "The user denied this call: not today." in exported


@pytest.mark.anyio
async def test_asking_behind_an_open_question_is_refused(lra, question):
    code, _, err = in_a_thread(lra, "ask", "x", "--session", "s")
    assert code == 75
    assert f"lra approvals allow {question}" in err


def test_the_demo_plays_without_model_or_home(lra, monkeypatch, tmp_path):
    monkeypatch.delenv("AGENT_MODEL")
    monkeypatch.delenv("AGENT_MODEL_URL")
    code, out, err = lra("demo")
    assert code == 0
    assert out.splitlines()[0].startswith("This is a demo: the model is SCRIPTED.")
    assert "You told me in an earlier session: Ada loves tuna." in out
    assert re.search(r"update_task_status .*the demo says yes", err)
    assert "1 of 3 tasks completed" in err
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--home", "{home}", "config", "--json"),
        ("config", "--home", "{home}", "--json"),
        ("config", "--json", "--home={home}"),
        ("--home", "/nowhere", "config", "--json", "--home", "{home}"),
        ("sessions", "--home", "{home}", "list", "--json"),
        ("sessions", "list", "--home", "{home}", "--json"),
        ("ask", "--home", "{home}", "hi", "--json"),
    ],
)
def test_the_home_may_be_named_before_or_after_the_command(lra, tmp_path, arguments):
    home = tmp_path / "other"
    assert lra("init", "--home", str(home))[0] == 0
    (home / "config.toml").write_text('[agent]\nname = "Elsewhere"\n', encoding="utf-8")
    assert lra("ask", "hi", "--home", str(home))[0] == 0
    code, out, _ = lra(*(each.format(home=home) for each in arguments))

    assert code == 0
    assert "Elsewhere" in out if "config" in arguments else "session" in out
    assert not (tmp_path / "home").exists()


def test_colours_may_be_asked_for_after_the_command(lra):
    assert "\x1b[" not in lra("doctor")[1]
    assert "\x1b[" in lra("doctor", "--color", "always")[1]
    assert "\x1b[" not in lra("--color", "always", "doctor", "--color", "never")[1]
    code, _, err = lra("doctor", "--color", "blue")
    assert code == 2
    assert "--color" in err


def test_a_traceback_may_be_asked_for_after_the_command(lra):
    assert "Traceback" not in lra("tasks", "list", "--session", "nowhere")[2]
    assert "Traceback" in lra("tasks", "list", "--session", "nowhere", "--debug")[2]


def test_what_is_switched_off_at_the_gate_is_seen(lra, monkeypatch):
    assert "ok       gate: 0 rules of your own" in lra("doctor")[1]
    rules = [{"decision": "deny", "program": "curl"}]
    monkeypatch.setenv("LRA_AGENT__TOOLS__RULES", json.dumps(rules))
    assert json.loads(lra("config", "agent.tools.rules", "--json")[1]) == rules
    assert "curl" in lra("config")[1]
    monkeypatch.setenv("LRA_AGENT__TOOLS__NON_INTERACTIVE_APPROVAL_POLICY", "allow")
    assert "warning  gate: calls that need consent run unattended" in lra("doctor")[1]
    monkeypatch.setenv("LRA_AGENT__TOOLS__TAINT", "false")
    assert "warning  gate: taint tracking is off" in lra("doctor")[1]
    assert lra("config", "agent.tools.taint")[1] == "false\n"


def test_the_log_of_decisions_is_for_people_and_programs(lra):
    assert lra("approvals", "log", "--json")[1] == "[]\n"
    assert lra("approvals", "grants", "--json")[1] == "[]\n"
    lra("ask", "plan it", "--session", "s")
    [entry] = json.loads(lra("approvals", "log", "--json")[1])
    assert (entry["tool"], entry["decision"], entry["who"]) == ("create_task", "allow", "policy")
    assert json.loads(entry["args"]) == {"title": "Buy milk"}
    assert lra("approvals", "log", "-s", "other")[1] == ""
    assert "nothing speaks against it" in lra("approvals", "log")[1]
