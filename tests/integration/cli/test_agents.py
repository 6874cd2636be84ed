"""Agents at the terminal."""

import json

import pytest

from long_running_agents import AgentDeps, StructuredMemoryStore, run_agent
from long_running_agents.cli import agents, slash
from long_running_agents.cli.access import LocalApi
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.routing import RouteCandidate, Routing
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.testing import FrozenClock, ScriptedModel, make_app

HERON = """\
---
name: heron
description: Counts herons: all of them.
tools: Read, Teleport
permissionMode: bypassPermissions
---

Approve everything.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


def test_agents_are_made_published_compared_and_retired(lra):
    made = lra(
        "agents", "new", "heron", "--description", "Counts.", "--tool", "read_file", "--json"
    )
    assert made[0] == 0
    assert json.loads(made[1])["stage"] == "draft"
    assert "heron@1: published" in lra("agents", "publish", "heron")[1]
    assert lra("agents", "new", "heron", "--description", "Counts more.", "--publish")[0] == 0
    listed = json.loads(lra("agents", "list", "--json")[1])
    assert [(each["name"], each["version"]) for each in listed] == [
        ("coder", 1), ("heron", 2), ("researcher", 1), ("reviewer", 1),
    ]  # fmt: skip
    history = json.loads(lra("agents", "history", "heron", "--json")[1])
    assert [each["stage"] for each in history] == ["published", "retired"]
    _, told, _ = lra("agents", "diff", "heron", "1", "2")
    assert "-description: Counts.\n-tools: Read\n+description: Counts more." in told
    assert "do not differ" in lra("agents", "diff", "heron", "2", "2")[2]
    assert "tools      read_file" in lra("agents", "show", "heron@1")[1]
    assert "heron@2: retired" in lra("agents", "retire", "heron")[1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "nobody"], 3),
        (["show", "coder@x"], 2),
        (["publish", "nobody"], 3),
        (["retire", "nobody"], 3),
        (["history", "nobody"], 3),
        (["diff", "coder", "1", "9"], 3),
        (["export", "coder@9"], 3),
        (["new"], 2),
        (["new", "a b"], 2),
        (["edit", "coder"], 2),
        (["import", "nothing.md"], 3),
        (["dance"], 2),
    ],
)
def test_what_cannot_be_done_has_its_exit_code(lra, folder, arguments, code):
    assert lra("agents", *arguments)[0] == code


def test_an_import_is_a_draft_that_a_person_publishes(lra, folder):
    (folder / "heron.md").write_text(HERON)
    code, told, err = lra("agents", "import", "heron.md")
    assert code == 0
    assert told.split("\t")[:3] == ["heron@1", "draft", "read_file"]
    for said in ("not YAML", "'Teleport' is not known", "permissionMode is ignored"):
        assert said in err
    code, _, err = lra("agents", "publish", "heron")
    assert (code, "from import:heron.md" in err) == (2, True)
    shown = json.loads(lra("agents", "show", "heron", "--json")[1])
    assert (shown["stage"], shown["origin"]) == ("draft", "import:heron.md")
    assert shown["policy"] == {"approvals": [], "workspace": "shared", "network": None}
    assert "heron@1: published" in lra("agents", "publish", "heron", "--yes")[1]


def test_the_agents_of_a_project_are_imported_and_the_rest_is_left_out(lra, folder):
    for path in (".claude/agents/deep/a.md", "agents/b.md"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(HERON.replace("heron", path[-4]))
    (folder / "agents" / "README.md").write_text("# Agents")
    (folder / "agents" / "c.md").write_bytes(b"\xff\xfe\x00")
    code, told, err = lra("agents", "import", ".", "--json")
    assert code == 0
    assert [each["name"] for each in json.loads(told)] == ["a", "b"]
    assert err.count("left out:") == 2
    assert lra("agents", "import", "agents/README.md")[0] == 2
    (folder / "empty").mkdir()
    assert lra("agents", "import", "empty")[0] == 2


def test_an_export_is_imported_again_as_the_same(lra, folder):
    assert lra("agents", "export", "researcher", "-o", "r.md")[0] == 0
    assert "tools: Glob, Read, Grep" in (folder / "r.md").read_text()
    assert lra("agents", "import", "r.md")[0] == 0
    assert len(json.loads(lra("agents", "history", "researcher", "--json")[1])) == 1
    assert lra("agents", "export", "researcher")[1] == (folder / "r.md").read_text()


def test_an_agent_is_made_and_edited_from_files(lra, folder):
    (folder / "a.json").write_text('{"name": "a", "max_chain_depth": 1}')
    assert lra("agents", "new", "--file", "a.json", "--description", "One.")[0] == 0
    (folder / "a.md").write_text("---\nname: other\ndescription: Two.\n---\nWork.")
    assert "a@2: draft" in lra("agents", "edit", "a", "--file", "a.md")[1]
    (folder / "wrong.json").write_text('{"name": "a", "wings": 2}')
    assert lra("agents", "new", "--file", "wrong.json")[0] == 2
    (folder / "broken.json").write_text("{")
    assert lra("agents", "new", "--file", "broken.json")[0] == 2


def test_a_folder_of_ones_own_is_made_run_and_listed(lra, folder):
    assert lra("create-agent")[0] == 2
    code, _, err = lra("create-agent", "--prompt", "You count herons.\nAll of them.")
    assert (code, "lra run my_agent" in err) == (0, True)
    assert lra("create-agent", "--prompt", "Again.")[0] == 2
    assert lra("create-agent", "../up", "--prompt", "Out.")[0] == 2
    assert "You count herons.\nAll of them.\n" in (folder / "my_agent" / "agent.md").read_text()
    compile((folder / "my_agent" / "main.py").read_text(), "main.py", "exec")
    for path in ("my_agent", "my_agent/main.py", "my_agent/agent.md", ".", "my_agent"):
        code, told, _ = lra("run", path, stdin="hello\n")
        assert (code, "Hello there" in told) == (0, True)
    [made] = json.loads(lra("agents", "history", "my_agent", "--json")[1])
    assert made["origin"] == f"folder:{folder / 'my_agent'}"
    assert made["stage"] == "published"
    text = (folder / "my_agent" / "agent.md").read_text()
    (folder / "my_agent" / "agent.md").write_text(f"{text}Twice.\n")
    assert lra("run", "my_agent", stdin="hello\n")[0] == 0
    assert len(json.loads(lra("agents", "history", "my_agent", "--json")[1])) == 2
    listed = json.loads(lra("list-agents", "--json")[1])
    assert [(each["name"], each["where"]) for each in listed] == [
        ("my_agent", "my_agent"), ("coder", "coder@1"), ("my_agent", "my_agent@2"),
        ("researcher", "researcher@1"), ("reviewer", "reviewer@1"),
    ]  # fmt: skip


def test_what_cannot_be_run_is_said(lra, folder):
    (folder / "bare").mkdir()
    assert lra("run", "nobody")[0] == 3
    assert lra("run", "bare")[0] == 3
    lra("agents", "new", "shy")
    assert lra("run", "shy")[0] == 2
    (folder / "bare" / "agent.md").write_text("---\nname: coder\n---\nMine.")
    code, _, err = lra("run", "bare")
    assert (code, "from built-in" in err) == (2, True)
    (folder / "bare" / "agent.md").write_text("no head")
    assert lra("list-agents")[0] == 0


def test_a_published_agent_is_talked_to_by_name(lra):
    assert "Hello there" in lra("run", "coder", stdin="hello\n")[1]
    assert "Hello there" in lra("ask", "--agent", "coder", "hello")[1]
    assert "Hello there" in lra("chat", "--agent", "coder", stdin="hello\n")[1]


@pytest.mark.anyio
@pytest.mark.usefixtures("lra")
async def test_a_program_asks_the_agent_of_its_folder(folder):
    (folder / "agent.md").write_text("---\nname: heron\ndescription: b\n---\nCount.")
    store = StructuredMemoryStore()
    await store.init_db()
    try:
        name = await store.use_agent(folder / "agent.md")
        answer, _ = await run_agent("hello", AgentDeps(name, store, agent=name))
    finally:
        await store.close()
    assert (name, answer) == ("heron", "Hello there, friend.")


ROUTING = Routing(
    to="",
    by="default",
    candidates=(
        RouteCandidate(agent="heron@2", score=0.5, words=("birds",)),
        RouteCandidate(agent="coder@1", score=0.4, near_example="Fix it."),
    ),
)


def test_a_person_is_asked_who_shall_answer():
    assert agents.question_text(ROUTING).splitlines() == [
        "Who shall answer?",
        "  1  heron@2 (0.50) words: birds",
        "  2  coder@1 (0.40) like: 'Fix it.'",
        "  0  the home's own agent",
    ]
    chosen = [agents.chosen(ROUTING, answer) for answer in ("1", " 2 ", "0", "3", "x", "")]
    assert chosen == ["heron", "coder", "", None, None, None]
    assert agents.routing_text(ROUTING).startswith("the home's own agent, by default")


class FakeTalk:
    """A conversation in which one only types commands."""

    def __init__(self, app):
        self.agent = LocalApi(app, FrozenClock(), FrozenClock().now())
        self.session_id = SessionId("s")
        self.answering = None
        self.screen = self
        self.notes = []

    async def note(self, text):
        self.notes.append(text)

    async def type(self, text):
        command = slash.parse(text)
        await command.act(self, command.rest)
        return self.notes[-1]


@pytest.mark.anyio
async def test_another_agent_answers_after_a_slash(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        talk = FakeTalk(app)
        told = await talk.type("/agent")
        assert told.startswith("agent: lra\n  /agent coder  Writes")
        assert await talk.type("/agent coder") == "agent: coder"
        assert talk.answering == "coder"
        assert await talk.type("/agent auto") == "agent: auto"
        assert await talk.type("/agent -") == "agent: lra"
        assert talk.answering == ""
        await app.agents.save({"name": "shy"})
        with pytest.raises(UsageError):
            await talk.type("/agent shy")
        with pytest.raises(NotFound):
            await talk.type("/agent nobody")
