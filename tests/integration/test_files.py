"""What an agent does with the files of its workspace, told as small stories."""

import asyncio
import json

import pytest
from sqlalchemy import text
from tests.integration.stories import SESSION, ended

from long_running_agents.domain.tool import CallState, Effect
from long_running_agents.errors import ConfigError
from long_running_agents.store import ledger
from long_running_agents.testing import ScriptedModel, call, hang, make_app, say

pytestmark = pytest.mark.anyio

FILES = {
    "list_files", "list_directory", "read_file", "search_files", "write_file", "edit_file",
}  # fmt: skip


async def results_of(app, turn):
    """What the model was told by the tools, in order."""
    records = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
    return [json.loads(record.result) for record in records]


async def test_an_agent_lists_reads_edits_searches_and_looks_at_a_table(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "notes.txt").write_text("milk\nbred\n")
    (folder / "prices.csv").write_text("item,price\nmilk,1.5\nbread,2.5\n")
    model = ScriptedModel(
        [
            call("list_files"),
            call("read_file", path="notes.txt"),
            call("edit_file", path="notes.txt", old_text="bred", new_text="bread"),
            call("search_files", pattern="bread"),
            call("data_view", path="prices.csv", order_by="-price", rows=1),
            call("write_file", path="answer/total.txt", content="4.0\n"),
            say("Done."),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Tidy up")
        results = await results_of(app, turn)

    assert turn.answer == "Done."
    assert (folder / "notes.txt").read_text() == "milk\nbread\n"
    assert (folder / "answer" / "total.txt").read_text() == "4.0\n"
    assert results[0] == "notes.txt  10 bytes\nprices.csv  30 bytes"
    assert results[3] == "notes.txt:2: bread\nprices.csv:3: bread,2.5"
    assert results[4].endswith("| bread | 2.5 |")


@pytest.mark.parametrize(
    ("mode", "effect", "after"),
    [("append", Effect.ONCE, "one\n"), ("overwrite", Effect.IDEMPOTENT, "one\n")],
)
async def test_an_append_that_was_cut_off_is_not_repeated(tmp_path, mode, effect, after):
    file = tmp_path / "workspace" / "log.txt"
    model = ScriptedModel([call("write_file", path="log.txt", content="one\n", mode=mode), hang()])
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.start(SESSION, "Write it down")
        while len(model.requests) < 2:  # noqa: ASYNC110 - the model has no bell
            await asyncio.sleep(0.001)
        # As if the process had died after the write and before its result was stored.
        await app.database.write(
            lambda tx: tx.execute(text("UPDATE tool_calls SET state = 'started', result = NULL"))
        )
    model = ScriptedModel([say("Seen.")])
    async with make_app(tmp_path, model=model) as app:
        await app.turns.settled(turn.id)
        [record] = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))

    once = effect is Effect.ONCE
    assert record.effect is effect
    assert record.state is (CallState.UNCERTAIN if once else CallState.DONE)
    assert file.read_text() == after


@pytest.mark.parametrize(
    ("variable", "gone"),
    [("AGENT_ENABLE_FILES", FILES), ("AGENT_ENABLE_DATA_VIEW", {"data_view"})],
)
async def test_a_family_that_is_switched_off_is_not_offered(tmp_path, variable, gone):
    offered = []
    for value in ("true", "false"):
        model = ScriptedModel([say("Hello.")])
        async with make_app(tmp_path, model=model, environ={variable: value}) as app:
            await ended(app, "Hello")
        offered.append(set(model.tools_offered[0]))

    assert offered[0] - offered[1] == gone - {"list_directory"}


async def test_tools_that_are_not_allowed_are_not_offered(tmp_path):
    model = ScriptedModel([say("Hello.")])
    async with make_app(tmp_path, model=model, agent__tools__allow=["read_file"]) as app:
        await ended(app, "Hello")

    assert model.tools_offered[0] == ["read_file"]


async def test_a_home_inside_of_the_workspace_is_out_of_reach(tmp_path):
    home = tmp_path / "project" / ".lra"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "code.py").write_text("x = 1\n")
    model = ScriptedModel(
        [
            call("list_files", depth=9),
            call("read_file", path=".lra/lra.lock"),
            call("search_files", glob="*.lock"),
            say("Done."),
        ]
    )
    async with make_app(home, model=model, agent__workspace=str(tmp_path / "project")) as app:
        turn = await ended(app, "Look around")
        results = await results_of(app, turn)

    assert results[0] == "code.py  6 bytes"
    assert "is not for tools" in results[1]
    assert results[2] == "Nothing was found in 0 files."


async def test_the_home_itself_is_no_workspace(tmp_path):
    with pytest.raises(ConfigError, match="the home itself"):
        async with make_app(tmp_path, model=ScriptedModel([]), agent__workspace=str(tmp_path)):
            pass


@pytest.mark.parametrize(
    ("owner", "seen"),
    [("me", ["memory/", "memory/knowledge.md"]), ("bob", ["memory/", "memory/bob/"])],
)
async def test_what_another_owner_remembers_is_not_shown(tmp_path, owner, seen):
    folder = tmp_path / "workspace" / "memory"
    (folder / "bob").mkdir(parents=True)
    (folder / "ann").mkdir()
    (folder / "knowledge.md").write_text("mine\n")
    model = ScriptedModel([call("list_files"), say("Done.")])
    async with make_app(tmp_path, model=model, owner=owner, memory__enabled=False) as app:
        turn = await ended(app, "Look")
        [result] = await results_of(app, turn)

    assert [line.split("  ")[0] for line in result.splitlines()] == seen
