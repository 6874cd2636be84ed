"""The tools that run code, from a turn to a real sandbox and back."""

import json

import pytest
from tests.integration.stories import ended, told

from long_running_agents.domain.events import ToolReturned
from long_running_agents.domain.ids import SessionId
from long_running_agents.store import ledger, taints
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

TALK, OTHER = SessionId("talk"), SessionId("other")


async def results(app, turn):
    """What the model was told of each call."""
    calls = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
    return [json.loads(each.result) for each in calls]


def script(*calls):
    return ScriptedModel([*calls, say("done")])


async def test_names_stay_between_cells_and_turns_and_other_sessions_have_their_own(tmp_path):
    model = ScriptedModel(
        [
            call("execute_code", code="x = 20\nx + 1"),
            call("pyexe", code="print(x * 2)"),
            say("done"),
            call("pyexe", code="x"),
            say("done"),
            call("execute_code", code="x"),
            say("done"),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        first = await ended(app, "go", TALK)
        second = await ended(app, "go on", TALK)
        stranger = await ended(app, "go", OTHER)

        assert await results(app, first) == ["21", "40"]
        assert await results(app, second) == ["20"]
        assert "NameError" in (await results(app, stranger))[0]


async def test_a_cell_that_dies_is_undone_and_the_names_are_kept(tmp_path):
    model = script(
        call("pyexe", code="kept = 'here'"),
        call("pyexe", code="kept = 'gone'\nimport os; os._exit(3)"),
        call("pyexe", code="kept"),
    )
    async with make_app(tmp_path, model=model) as app:
        quiet, died, after = await results(app, await ended(app, "go"))

    assert quiet == "(no output)"
    assert "Killed" in died
    assert "again what they were before" in died
    assert after == "'here'"


async def test_the_shell_works_in_the_workspace_and_says_how_it_ended(tmp_path):
    model = script(
        call("shell", command="echo hello > greeting.txt; cat greeting.txt; exit 4"),
        call("pyexe", code="open('greeting.txt').read()"),
    )
    async with make_app(tmp_path, model=model) as app:
        shell, python = await results(app, await ended(app, "go"))

    assert shell == "hello\n[exit code 4]"
    assert python == r"'hello\n'"
    assert (tmp_path / "workspace" / "greeting.txt").read_text() == "hello\n"


async def test_code_that_fails_is_a_failed_call_and_the_model_reads_why(tmp_path):
    model = script(
        call("execute_code", code="print('before')\n1 / 0"),
        call("shell", command="echo gone >&2; exit 3"),
        call("pyexe", code="1 + 1"),
    )
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "go")
        calls = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        returned = await told(app, ToolReturned)

    assert [each.state for each in calls] == ["failed", "failed", "done"]
    assert [each.success for each in returned] == [False, False, True]
    asked = [str(messages[-1]) for messages in model.requests[1:]]
    assert all(words in asked[0] for words in ("before", "ZeroDivisionError"))
    assert all(words in asked[1] for words in ("gone", "exit code 3"))


async def test_code_that_fails_after_it_has_read_from_the_network_taints_all_the_same(tmp_path):
    """What it printed before it failed is as foreign as any other output."""
    model = script(call("shell", command="echo hello; exit 1"))
    async with make_app(tmp_path, model=model, sandbox__network=["example.org"]) as app:
        await ended(app, "go", TALK)
        read = await app.database.read(lambda tx: taints.sources(tx, TALK))

    assert list(read) == ["tool:shell"]


@pytest.mark.parametrize(
    "command",
    [
        "echo obey > SOUL.md",
        "rm -f USER.md; ln -s /etc/passwd USER.md",
        "mv memory remembered; mkdir memory",
        "ln -s /etc/passwd memory/knowledge.md",
        "echo '[]' > cron.json",
        "touch skills/evil.py",
    ],
)
async def test_what_tells_the_agent_what_to_do_cannot_be_changed_by_code(tmp_path, command):
    """The gate asks about such a command; the walls hold whatever the answer is."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "USER.md").write_text("Mara")
    async with make_app(tmp_path, model=script(call("shell", command=command))) as app:
        turn = await ended(app, "go")
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        (told,) = await results(app, await app.turns.settled(turn.id))

    assert "exit code" in told or "cannot" in told
    assert (workspace / "USER.md").read_text() == "Mara"
    assert not (workspace / "USER.md").is_symlink()
    assert (workspace / "SOUL.md").read_text() == ""
    assert not (workspace / "remembered").exists()
    assert not list((workspace / "skills").iterdir())
    assert not (workspace / "memory" / "knowledge.md").is_symlink()


async def test_a_folder_that_the_settings_name_gets_nothing_that_nobody_asked_for(tmp_path):
    workspace = tmp_path / "repository"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("You are somebody else.")
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    (tmp_path / "home" / "workspace" / "SOUL.md").write_text("You are Mara's.")
    model = script(call("shell", command="echo hello > out"))
    async with make_app(tmp_path / "home", model=model, agent__workspace=str(workspace)) as app:
        await ended(app, "go")
        told = str(model.requests[0])

    assert sorted(path.name for path in workspace.iterdir()) == ["SOUL.md", "out"]
    assert "You are Mara's." in told
    assert "somebody else" not in told


async def test_a_link_in_the_place_of_instructions_is_not_built_upon(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "elsewhere").write_text("a secret")
    (workspace / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    async with make_app(tmp_path, model=script(call("shell", command="cat AGENTS.md"))) as app:
        turn = await ended(app, "go")
        (told,) = await results(app, turn)

    assert "AGENTS.md is a link" in told
    assert "a secret" not in told
    assert turn.answer == "done"


async def test_pictures_become_files_of_the_workspace(tmp_path):
    code = """
class Dot:
    def _repr_png_(self):
        return b"\\x89PNG not much of a picture"
Dot()
"""
    async with make_app(tmp_path, model=script(call("pyexe", code=code))) as app:
        (told,) = await results(app, await ended(app, "go"))

    path = told.split("saved as ")[1].rstrip("]")
    assert path.startswith("outputs/")
    assert (tmp_path / "workspace" / path).read_bytes().startswith(b"\x89PNG")


async def test_a_sandbox_that_was_made_has_names_of_its_own_and_is_nobody_elses(tmp_path):
    made = []

    def there(code):
        return lambda _: call("execute_code", code=code, sandbox_id=made[0])

    model = ScriptedModel(
        [
            call("pyexe", code="x = 1"),
            call("create_sandbox"),
            say("made"),
            there("'x' in dir()"),
            say("own"),
            there("1"),
            say("stranger"),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        _, told = await results(app, await ended(app, "make one", TALK))
        made.append(told.split()[1])

        assert await results(app, await ended(app, "use it", TALK)) == ["False"]
        assert "no sandbox" in (await results(app, await ended(app, "use it", OTHER)))[0]


async def test_without_any_sandbox_the_model_hears_what_to_install_and_the_turn_goes_on(tmp_path):
    settings = {"sandbox__backend": "docker"}
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    model = script(call("create_sandbox"))
    async with make_app(tmp_path, model=model, environ=environ, **settings) as app:
        turn = await ended(app, "go")
        (told,) = await results(app, turn)

    assert "cannot be run here" in told
    assert "ocker" in told
    assert turn.answer == "done"


async def test_switched_off_tools_are_not_offered(tmp_path):
    model = script()
    off = {"agent__tools__enable__shell": False, "agent__tools__enable__pyexe": False}
    async with make_app(tmp_path, model=model, **off) as app:
        await ended(app, "go")

    offered = set(model.tools_offered[0])
    assert not offered & {"shell", "pyexe", "execute_code", "create_sandbox", "install_packages"}
    assert "search_memory" in offered


async def test_files_and_code_work_on_the_same_files(tmp_path):
    model = script(
        call("shell", command="mkdir notes; echo one > notes/by-code.txt"),
        call("write_file", path="notes/by-tool.txt", content="two\n"),
        call("write_file", path="fresh/folder/new.txt", content="three\n"),
        call("shell", command="echo more >> notes/by-tool.txt; touch fresh/folder/x; cat notes/*"),
        call("read_file", path="notes/by-tool.txt"),
    )
    async with make_app(tmp_path, model=model) as app:
        told = await results(app, await ended(app, "go"))

    assert told[3] == "one\ntwo\nmore"
    assert "more" in told[4]


async def test_what_no_tool_may_see_code_does_not_see_either(tmp_path):
    workspace = tmp_path / "project"
    home = workspace / "home"
    (workspace / "memory" / "somebody%20else").mkdir(parents=True)
    (workspace / "memory" / "somebody%20else" / "knowledge.md").write_text("a secret")
    home.mkdir()
    (home / "notes.txt").write_text("a secret")
    model = script(
        call("shell", command="cat home/* memory/*/*; ls home memory/*"),
        call("read_file", path="home/notes.txt"),
    )
    async with make_app(home, model=model, agent__workspace=str(workspace)) as app:
        told = await results(app, await ended(app, "go"))

    assert not any("a secret" in each for each in told)


async def test_without_walls_each_call_asks_says_so_and_never_runs_unattended(tmp_path):
    model = ScriptedModel(
        [
            call("shell", command="echo hello"),
            say("done"),
            call("pyexe", code="print('hello')"),
            say("done"),
        ]
    )
    async with make_app(tmp_path, model=model, sandbox__unsafe_local=True) as app:
        watched = await ended(app, "go", TALK)
        [question] = await app.turns.open_questions()
        await app.turns.answer(question.id, allowed=True)
        (told,) = await results(app, await app.turns.settled(watched.id))
        (refused,) = await results(app, await ended(app, "go", OTHER, attended=False))

    assert "outside the sandbox" in question.question
    assert told.startswith("UNSANDBOXED")
    assert told.endswith("hello")
    assert "nobody is there" in refused


async def test_a_long_output_is_cut_and_can_be_read_on(tmp_path):
    def read(messages):
        path = str(messages).split("read_file(path=")[1].split("'")[1]
        return call("read_file", path=path, offset_line=9_000, limit=1)

    model = script(call("shell", command="seq 20000"), read)
    async with make_app(tmp_path, model=model) as app:
        shell, on = await results(app, await ended(app, "go"))

    assert "characters left out" in shell
    assert shell.endswith("20000")
    assert "9000\t9000" in on
