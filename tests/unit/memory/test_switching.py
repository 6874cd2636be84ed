"""A memory that is switched off is kept, listed and exported, and nothing brings it to mind."""

import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import ME, YOU, desk, found, orphans, stored

from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryId,
    Merged,
    Query,
    Selection,
    Stored,
)
from long_running_agents.errors import NotFound
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.memory.service import MemoryService
from long_running_agents.memory.transfer import export_lines, import_file

pytestmark = pytest.mark.anyio

FROGS, MILL = "The heron eats frogs.", "The mill grinds corn for herons."


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
async def frogs(memories):
    await stored(memories, MILL)
    return await stored(memories, FROGS)


async def test_no_search_finds_it_until_it_is_switched_on_again(memories, frogs):
    assert FROGS in await found(memories, "What does the heron eat?")
    off = await memories.switch(ME, frogs.id, enabled=False)
    assert (off.id, off.enabled) == (frogs.id, False)
    assert FROGS not in await found(memories, "What does the heron eat?")
    assert FROGS in await found(memories, "What does the heron eat?", disabled=True)
    on = await memories.switch(ME, frogs.id, enabled=True)
    assert on == frogs
    assert FROGS in await found(memories, "What does the heron eat?")
    assert await orphans(memories) == []


async def test_neither_words_nor_meaning_nor_another_moment_find_it(memories, frogs):
    await memories.switch(ME, frogs.id, enabled=False)
    for silent in (False, True):
        fresh = MemoryService(memories.database, None if silent else FakeEmbedder(), memories.clock)
        assert FROGS not in await found(fresh, "heron frogs")
        assert FROGS not in await found(fresh, "heron frogs", as_of=memories.clock.now())
        assert FROGS in await found(fresh, "heron frogs", disabled=True)


async def test_making_the_index_again_does_not_switch_it_on(memories, frogs):
    await memories.switch(ME, frogs.id, enabled=False)
    await memories.reindex()
    assert FROGS not in await found(memories, "frogs")
    assert FROGS in await found(memories, "frogs", disabled=True)


async def test_it_is_listed_shown_forgotten_and_brought_back_as_it_was(memories, frogs):
    await memories.switch(ME, frogs.id, enabled=False)
    listed = {memory.content: memory.enabled for memory in await memories.listed(ME)}
    assert listed == {FROGS: False, MILL: True}
    assert not (await memories.show("me", frogs.id)).memory.enabled
    gone = await memories.forget("me", Selection(ids=frozenset({frogs.id})))
    [back] = await memories.undo("me", gone.batch)
    assert not back.enabled
    assert FROGS not in await found(memories, "frogs")


async def test_what_is_written_again_is_found_again(memories, frogs):
    await memories.switch(ME, frogs.id, enabled=False)
    again = await memories.write(ME, MemoryDraft(content=FROGS))
    assert isinstance(again, Stored)
    assert again.memory.id != frogs.id
    assert await found(memories, "frogs", limit=1) == [FROGS]
    assert isinstance(await memories.write(ME, MemoryDraft(content=FROGS)), Merged)


async def test_better_words_do_not_switch_it_on(memories, frogs):
    await memories.switch(ME, frogs.id, enabled=False)
    written = await memories.correct(ME, frogs.id, "The heron eats fish.")
    assert not written.memory.enabled
    assert "The heron eats fish." not in await found(memories, "heron")
    other = await stored(memories, "Rex is a cat.")
    await memories.switch(ME, other.id, enabled=False)
    merged = await memories.correct(ME, other.id, MILL)
    assert merged.memory.enabled


async def test_it_is_its_owners_alone(memories, frogs):
    for viewer, number in ((YOU, frogs.id), (ME, MemoryId(999))):
        with pytest.raises(NotFound):
            await memories.switch(viewer, number, enabled=False)
    assert (await memories.show("me", frogs.id)).memory.enabled


async def test_an_export_keeps_it_switched_off(memories, frogs, tmp_path):
    await memories.switch(ME, frogs.id, enabled=False)
    lines = [line async for line in export_lines(memories, "me")]
    file = tmp_path / "export.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    async with desk(tmp_path / "other") as other:
        await import_file(other, "me", file)
        copies = {memory.content: memory.enabled for memory in await other.listed(ME)}
    assert copies == {FROGS: False, MILL: True}


async def test_the_file_beside_the_agent_does_not_show_it_and_forgets_nothing(
    memories, frogs, tmp_path
):
    mirrors = Mirrors(memories, tmp_path / "files", "me")
    page = tmp_path / "files" / "knowledge.md"
    await mirrors.write()
    assert FROGS in page.read_text(encoding="utf-8")
    await memories.switch(ME, frogs.id, enabled=False)
    await mirrors.write()
    assert FROGS not in page.read_text(encoding="utf-8")
    edits = await mirrors.read_edits()
    assert edits.forgotten == ()
    await memories.switch(ME, frogs.id, enabled=True)
    await mirrors.write()
    assert FROGS in page.read_text(encoding="utf-8")


async def test_a_kept_view_of_what_may_be_seen_follows_the_switch(memories, frogs):
    query = Query(text="heron frogs")
    first = await memories.find(ME, query)
    await memories.switch(ME, frogs.id, enabled=False)
    second = await memories.find(ME, query)
    assert len(second.hits) == len(first.hits) - 1
