import asyncio
import json
import stat
from datetime import timedelta

import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.shelter import (
    NOON,
    contents,
    correct,
    every,
    fact,
    forget,
    found,
    shelter,
    turns,
)

from long_running_agents.domain.memory import MemoryDraft, MemoryKind, MemoryScope, Trust, Viewer
from long_running_agents.errors import StorageFailed, UsageError
from long_running_agents.memory.mirrors import KNOWLEDGE, Edits, Mirrors, changes, written
from long_running_agents.memory.vectors import Vectorising

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with shelter(tmp_path / "home") as memories:
        yield memories


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "workspace" / "memory"


@pytest.fixture
def mirrors(memories, folder):
    return Mirrors(memories, folder, "me")


@pytest.fixture
def knowledge(folder):
    return folder / "knowledge.md"


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


async def current(memories):
    return [memory for memory in await every(memories) if memory.valid_to is None]


async def test_the_index_names_what_the_pages_show_and_is_never_read(memories, mirrors, folder):
    await memories.write(Viewer(), MemoryDraft(content="The boat lies in Hamburg."))
    lesson = MemoryDraft(content="Herons are lower case.", kind=MemoryKind.LESSON)
    await memories.write(Viewer(), lesson)
    await mirrors.write()
    index = folder / "index.json"
    first, second = json.loads(index.read_text())["memories"]
    assert (first["id"], first["kind"], first["title"]) == (1, "fact", "The boat lies in Hamburg.")
    assert (first["file"], second["file"]) == ("knowledge.md", "learnings.md")
    assert first["updated"].startswith("20")
    index.write_text('{"memories": []}')
    assert await mirrors.read_edits() == Edits()
    assert len(json.loads(index.read_text())["memories"]) == 2


async def test_each_kind_has_its_place_and_each_item_its_number_and_trust(
    memories, mirrors, folder
):
    await fact(memories, "The boat is blue.")
    await fact(memories, "The page says so.", kind=MemoryKind.NOTE, trust=Trust.WEB)
    await fact(memories, "Rest on Sundays.", kind=MemoryKind.LESSON, trust=Trust.AGENT)
    await fact(memories, "Buy paint.", kind=MemoryKind.TASK)
    await turns(memories, ("user", "Just talking."))

    await mirrors.write()

    text = (folder / "knowledge.md").read_text(encoding="utf-8")
    assert "## Facts\n\n### 2026-01\n\n- #1 (user) The boat is blue.\n" in text
    assert "## Notes\n\n### 2026-01\n\n- #2 (web) The page says so.\n" in text
    assert "Sundays" not in text
    assert "Summaries" not in text
    lessons = (folder / "learnings.md").read_text(encoding="utf-8")
    assert "- #3 (agent) Rest on Sundays.\n" in lessons
    assert "paint" not in text + lessons
    assert "talking" not in text + lessons


async def test_nothing_forgotten_superseded_expired_or_of_one_session_is_shown(
    memories, mirrors, knowledge
):
    old = await fact(memories, "The boat is red.")
    await correct(memories, old, "The boat is blue.")
    gone = await fact(memories, "The car is grey.")
    await fact(memories, "Only here.", scope=MemoryScope.SESSION, session_id="s1")
    await fact(memories, "Only this agent.", scope=MemoryScope.AGENT, agent="lra")
    await fact(memories, "Of an hour.", expires_at=NOON + timedelta(hours=1))
    await fact(memories, "Of another.", owner="her")
    await mirrors.write()
    assert "Of an hour." in knowledge.read_text(encoding="utf-8")

    await forget(memories, gone.id)
    memories.clock.set(NOON + timedelta(hours=2))
    await mirrors.write()

    items = [
        line for line in knowledge.read_text(encoding="utf-8").splitlines() if line.startswith("- ")
    ]
    assert items == ["- #2 (user) The boat is blue."]
    assert list(written(knowledge.read_text(encoding="utf-8"))) == [2]


async def test_an_expired_memory_leaves_the_page_without_any_change_in_the_store(
    memories, mirrors, knowledge
):
    await fact(memories, "Of an hour.", expires_at=NOON + timedelta(hours=1))
    await mirrors.write()
    memories.clock.set(NOON + timedelta(hours=1))

    await mirrors.write()

    assert "Of an hour" not in knowledge.read_text(encoding="utf-8")


async def test_a_file_is_its_owners_alone_and_leaves_nothing_beside_it(
    memories, mirrors, folder, knowledge
):
    await fact(memories, "The boat is blue.")
    await mirrors.write()

    assert stat.S_IMODE(knowledge.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"knowledge.md", "index.json"}


async def test_nothing_is_written_while_nothing_shown_has_changed(memories, mirrors, knowledge):
    await fact(memories, "The boat is blue.")
    await mirrors.write()
    first = knowledge.stat()

    await mirrors.write()
    await turns(memories, ("user", "Just talking."), ("lra", "So do I."))
    await mirrors.write()
    await mirrors.read_edits()

    assert knowledge.stat().st_ino == first.st_ino
    assert knowledge.stat().st_mtime_ns == first.st_mtime_ns


async def test_without_memories_no_file_is_made(mirrors, folder):
    await mirrors.read_edits()
    await mirrors.write()

    assert not folder.exists()


async def test_reading_what_was_written_finds_no_edits(memories, mirrors, knowledge):
    contents_ = [
        "Plain.",
        "Over\n\nmany\r\nlines\u2028of\tall   kinds ",
        "- a list\n- of two\n# and a title",
        "<!-- a comment --> and <!-- an open one",
        "```\ncode that never ends",
        "#7 (user) Numbered itself.",
        "1. One thing.",
        "船在港口里。",
    ]
    for content in contents_:
        await fact(memories, content)
    await mirrors.write()
    text = knowledge.read_text(encoding="utf-8")

    assert not changes(KNOWLEDGE, text)
    assert (
        await mirrors.read_edits() == await Mirrors(memories, knowledge.parent, "me").read_edits()
    )
    assert await contents(memories) == contents_
    assert knowledge.read_text(encoding="utf-8") == text


async def test_a_changed_item_corrects_its_memory(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.", trust=Trust.AGENT, kind=MemoryKind.NOTE)
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is\n  blue.")

    edits = await mirrors.read_edits()

    (new,) = await current(memories)
    assert (new.content, new.trust, new.kind) == ("The boat is\nblue.", Trust.USER, MemoryKind.NOTE)
    assert new.source == "file:knowledge.md"
    assert edits.corrected == (new,)
    assert [memory.content for memory in (await memories.show("me", new.id)).history] == [
        "The boat is red."
    ]
    assert "- #2 (user) The boat is\n  blue.\n" in knowledge.read_text(encoding="utf-8")


async def test_a_deleted_item_is_forgotten_and_can_be_brought_back(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await fact(memories, "The car is grey.")
    await mirrors.write()
    edit(knowledge, "- #1 (user) The boat is red.\n", "")

    edits = await mirrors.read_edits()

    assert [memory.content for memory in edits.forgotten] == ["The boat is red."]
    assert "The boat is red." not in await found(memories, "boat red")
    assert await contents(memories) == ["The car is grey."]
    await memories.undo("me", edits.batches[0])
    await mirrors.write()
    assert "- #1 (user) The boat is red.\n" in knowledge.read_text(encoding="utf-8")
    assert (await mirrors.read_edits()).forgotten == ()


async def test_a_new_item_is_remembered_as_the_persons_words(memories, mirrors, folder, knowledge):
    await fact(memories, "The boat is red.")
    await fact(memories, "Look first.", kind=MemoryKind.LESSON)
    await mirrors.write()
    edit(knowledge, "### 2026-01\n", "### 2026-01\n\n- The car is grey.\n")
    edit(folder / "learnings.md", "# Learnings", "# Learnings\n\n* Leap later.")
    with knowledge.open("a", encoding="utf-8") as file:
        file.write("\n## Dogs\n- Rex barks\n\n## Notes\n\nA whole\nparagraph.\n")

    edits = await mirrors.read_edits()

    added = [(memory.content, memory.kind, memory.source) for memory in edits.added]
    assert added == [
        ("The car is grey.", MemoryKind.FACT, "file:knowledge.md"),
        ("Dogs: Rex barks", MemoryKind.FACT, "file:knowledge.md"),
        ("A whole\nparagraph.", MemoryKind.NOTE, "file:knowledge.md"),
        ("Leap later.", MemoryKind.LESSON, "file:learnings.md"),
    ]
    assert {memory.trust for memory in edits.added} == {Trust.USER}
    assert (edits.forgotten, edits.corrected) == ((), ())
    text = knowledge.read_text(encoding="utf-8")
    assert "- #3 (user) The car is grey.\n" in text
    assert text.count("Rex") == 1


async def test_edits_are_taken_in_once_although_the_process_dies_before_writing(
    memories, mirrors, knowledge
):
    await fact(memories, "The boat is red.")
    await fact(memories, "The car is grey.")
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is blue.")
    edit(knowledge, "- #2 (user) The car is grey.\n", "- The dog barks.\n")
    edited = knowledge.read_text(encoding="utf-8")
    await mirrors.read_edits()
    once = await contents(memories)

    knowledge.write_text(edited, encoding="utf-8")
    again = await Mirrors(memories, knowledge.parent, "me").read_edits()

    assert once == ["The boat is red.", "The dog barks.", "The boat is blue."]
    assert await contents(memories) == once
    assert (again.added, again.corrected, again.forgotten) == ((), (), ())


@pytest.mark.parametrize("left", ["", "# Knowledge\n", "half"])
async def test_a_file_that_was_cut_off_forgets_nothing(memories, mirrors, knowledge, left):
    for number in range(20):
        await fact(memories, f"Fact number {number}.")
    await mirrors.write()
    whole = knowledge.read_text(encoding="utf-8")
    knowledge.write_text(whole[: len(whole) // 2] if left == "half" else left, encoding="utf-8")

    edits = await mirrors.read_edits()

    assert edits.forgotten == ()
    assert len(await contents(memories)) == 20 + len(edits.corrected) + len(edits.added)
    assert len(written(knowledge.read_text(encoding="utf-8"))) >= 20


async def test_a_file_that_is_gone_forgets_nothing_and_comes_back(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    knowledge.unlink()

    assert (await mirrors.read_edits()).forgotten == ()
    assert "The boat is red." in knowledge.read_text(encoding="utf-8")


@pytest.mark.parametrize("opening", ["```\n", "<!--\n", "<!-- \n```\n"])
async def test_an_opening_that_is_never_closed_forgets_nothing(
    memories, mirrors, knowledge, opening
):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "## Facts\n", f"## Facts\n\n{opening}\n")

    assert (await mirrors.read_edits()).forgotten == ()
    assert "The boat is red." in await contents(memories)


async def test_when_two_correct_the_same_memory_both_stand(memories, mirrors, knowledge):
    old = await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is blue.")
    await correct(memories, old, "The boat is green.")

    edits = await mirrors.read_edits()

    standing = [memory.content for memory in await current(memories)]
    assert standing == ["The boat is green.", "The boat is blue."]
    assert len(edits.corrected) == 1
    text = knowledge.read_text(encoding="utf-8")
    assert "green" in text
    assert "blue" in text


async def test_who_deletes_an_item_does_not_forget_what_it_became_meanwhile(
    memories, mirrors, knowledge
):
    old = await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "- #1 (user) The boat is red.\n", "")
    await correct(memories, old, "The boat is green.")

    await mirrors.read_edits()

    assert [memory.content for memory in await current(memories)] == ["The boat is green."]


async def test_what_was_forgotten_does_not_come_back_through_the_file(memories, mirrors, knowledge):
    gone = await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is red and blue.")
    await forget(memories, gone.id)

    await mirrors.write()

    assert await contents(memories) == []
    assert "boat" not in knowledge.read_text(encoding="utf-8")


async def test_writing_takes_in_what_a_person_typed_meanwhile(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is blue.")

    await fact(memories, "The car is grey.")
    await mirrors.write()

    text = knowledge.read_text(encoding="utf-8")
    assert "The boat is blue." in text
    assert "The car is grey." in text
    assert "The boat is blue." in [memory.content for memory in await current(memories)]


async def test_an_item_that_moved_without_its_number_stays(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "- #1 (user) The boat is red.\n", "- The boat is red.\n")

    edits = await mirrors.read_edits()

    assert (edits.forgotten, edits.added) == ((), ())
    assert await contents(memories) == ["The boat is red."]


async def test_a_number_nobody_wrote_there_changes_no_memory(memories, mirrors, knowledge):
    hers = await fact(memories, "Hers is the car.", owner="her")
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "- #2 (user)", f"- #{hers.id} (user) Mine is the car.\n- #2 (user)")
    # Nor when the note at the end is made to say so.
    edit(knowledge, "<!-- written:\n", f"<!-- written:\n{hers.id}=00000000 99=00000000\n")

    await mirrors.read_edits()

    assert await contents(memories, "her") == ["Hers is the car."]


async def test_a_number_used_twice_is_a_correction_and_a_new_memory(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(
        knowledge,
        "- #1 (user) The boat is red.\n",
        "- #1 (user) The boat is blue.\n- #1 (user) The sail is white.\n",
    )

    edits = await mirrors.read_edits()

    assert [memory.content for memory in edits.corrected] == ["The boat is blue."]
    assert [memory.content for memory in edits.added] == ["The sail is white."]


async def test_words_that_are_refused_stay_in_the_file_with_the_reason(
    memories, mirrors, knowledge
):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "### 2026-01\n", "### 2026-01\n- The password is hunter22\n")

    first = await mirrors.read_edits()
    again = await mirrors.read_edits()
    text = knowledge.read_text(encoding="utf-8")

    assert first.refused == again.refused
    assert first.refused[0][0] == "The password is hunter22"
    assert "## Not remembered\n\n- The password is hunter22 <!-- it holds a secret" in text
    assert await contents(memories) == ["The boat is red."]

    edit(knowledge, "The password is hunter22", "The password is in the safe")
    await mirrors.read_edits()
    assert "Not remembered" not in knowledge.read_text(encoding="utf-8")
    assert (await contents(memories))[-1] == "The password is in the safe"


async def test_a_file_that_is_no_text_is_left_alone(memories, mirrors, knowledge):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    knowledge.write_bytes(b"\xff\xfe\0")

    with pytest.raises(UsageError, match="left as it is"):
        await mirrors.read_edits()

    assert knowledge.read_bytes() == b"\xff\xfe\0"


async def test_a_folder_that_cannot_be_made_is_reported(memories, tmp_path):
    (tmp_path / "workspace").write_text("a file", encoding="utf-8")
    await fact(memories, "The boat is red.")

    with pytest.raises(StorageFailed):
        await Mirrors(memories, tmp_path / "workspace" / "memory", "me").write()


class Meddler(FakeEmbedder):
    """Types into a file, once, while a text is being embedded."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.done = False

    async def documents(self, texts):
        if "The boat is blue." in texts and not self.done:
            self.done = True
            edit(self.path, "## Facts\n", "## Facts\n- Typed just now.\n")
        return await super().documents(texts)


async def test_a_change_while_the_page_is_being_made_is_not_written_over(
    memories, mirrors, knowledge
):
    await fact(memories, "The boat is red.")
    await mirrors.write()
    edit(knowledge, "The boat is red.", "The boat is blue.")
    memories.vectors = Vectorising(memories.database, Meddler(knowledge))

    await mirrors.read_edits()

    standing = sorted(memory.content for memory in await current(memories))
    assert standing == ["The boat is blue.", "Typed just now."]
    assert "Typed just now." in knowledge.read_text(encoding="utf-8")


async def test_many_writings_at_once_leave_one_whole_page(memories, mirrors, knowledge):
    async def one(number):
        draft = MemoryDraft(content=f"Fact number {number}.")
        await memories.write(Viewer(), draft, keep_both=True)
        await mirrors.write()

    await asyncio.gather(*(one(number) for number in range(10)))

    assert len(written(knowledge.read_text(encoding="utf-8"))) == 10
    assert {path.name for path in knowledge.parent.iterdir()} == {"knowledge.md", "index.json"}


class Latecomer(FakeEmbedder):
    """Has another memory written, once, while a text is being embedded."""

    def __init__(self, memories):
        super().__init__()
        self.memories = memories
        self.done = False

    async def documents(self, texts):
        if "Leap later." in texts and not self.done:
            self.done = True
            await self.memories.write_many("me", [MemoryDraft(content="The car is grey.")])
        return await super().documents(texts)


async def test_what_is_written_between_two_pages_is_shown_by_the_next_writing(
    memories, mirrors, folder, knowledge
):
    await fact(memories, "The boat is red.")
    await fact(memories, "Look first.", kind=MemoryKind.LESSON)
    await mirrors.write()
    edit(folder / "learnings.md", "# Learnings", "# Learnings\n\n* Leap later.")
    memories.vectors = Vectorising(memories.database, Latecomer(memories))
    await mirrors.read_edits()
    assert "The car is grey." not in knowledge.read_text(encoding="utf-8")

    await mirrors.write()

    assert "The car is grey." in knowledge.read_text(encoding="utf-8")
