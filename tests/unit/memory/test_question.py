import pytest
from tests.unit.memory.library import ME, YOU, full_library, notes, talk

from long_running_agents.memory import search, words
from long_running_agents.memory.arrays import MemoryArrayCache
from long_running_agents.memory.search import visible

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with full_library(tmp_path / "home") as opened:
        await opened.write_many(ME.owner, talk("Ada: I went sailing.", "Bob: I saw a whale."))
        yield opened


async def read(memories, asked, viewer=ME):
    def work(tx):
        shelf = MemoryArrayCache().current(tx, None, 0)
        mask = visible(shelf, viewer)
        return shelf, search.read(tx, shelf, asked, mask, shelf.names.get(viewer.owner))

    return await memories.database.read(work)


async def test_a_word_is_matched_in_all_its_forms(memories):
    _, reading = await read(memories, "Who goes, and who sees whales?")
    assert {match.word: match.slots.tolist() for match in reading.matches} == {
        "goes": [],
        "sees": [],
        "whales": [1],
    }
    _, reading = await read(memories, "go see")
    assert [match.slots.tolist() for match in reading.matches] == [[0], [1]]


async def test_the_one_actor_a_question_names_is_known(memories):
    shelf, reading = await read(memories, "What did Ada do?")
    assert reading.actor == shelf.names["ada"]
    _, both = await read(memories, "What did Ada and Bob do?")
    assert both.actor is None


async def test_names_tell_less_and_mean_nothing(memories):
    _, reading = await read(memories, "What did Ada see?")
    assert {match.word: match.share for match in reading.matches} == {"ada": 0.5, "see": 1.0}
    assert reading.meaning == "see"


async def test_a_name_alone_still_means_something(memories):
    _, reading = await read(memories, "Ada?")
    assert reading.meaning == "ada"


async def test_who_says_i_is_the_user(memories):
    await memories.write_many(ME.owner, notes("Likes tea.", actor="user"))
    shelf, reading = await read(memories, "What do I like?")
    assert reading.actor == shelf.names["user"]


async def test_an_actor_of_another_owner_is_no_name(memories):
    await memories.write_many(YOU.owner, talk("Zoe: hello"))
    _, reading = await read(memories, "What did Zoe say?")
    assert reading.actor is None
    assert reading.meaning == "zoe say"


async def test_a_name_of_two_words_is_known(memories):
    await memories.write_many(ME.owner, talk("Mary Ann: hello"))
    shelf, reading = await read(memories, "What did Mary Ann say?")
    assert reading.actor == shelf.names["mary ann"]
    assert reading.meaning == "say"


async def test_a_question_wants_what_it_asks_for(memories):
    _, reading = await read(memories, "When did Ada sail?")
    assert reading.wanted == words.TIME


async def test_a_word_that_everything_has_is_left_out_when_another_was_asked(memories, monkeypatch):
    monkeypatch.setattr(search, "_COMMON", 3)
    await memories.write_many(ME.owner, notes("tea one", "tea two", "tea three", "tea four"))

    _, reading = await read(memories, "tea two")
    assert [match.word for match in reading.matches] == ["two"]
    _, reading = await read(memories, "tea")
    assert [len(match.slots) for match in reading.matches] == [4]


async def test_what_others_say_often_does_not_crowd_out_my_own(memories, monkeypatch):
    monkeypatch.setattr(search, "_COMMON", 2)
    await memories.write_many(ME.owner, notes("my tea"))
    await memories.write_many(YOU.owner, notes(*(f"tea {number}" for number in range(9))))

    shelf, reading = await read(memories, "tea")

    assert shelf.ids[reading.matches[0].slots].tolist() == [3]
