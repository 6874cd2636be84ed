from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.embedder import FakeEmbedder, hashed
from tests.unit.memory.library import ME, NOON, YOU, found, full_library, library, notes, talk

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, Query
from long_running_agents.memory.search import NO_EMBEDDER

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with full_library(tmp_path / "home") as opened:
        yield opened


async def test_a_question_finds_the_note_that_has_its_words(memories):
    await memories.write_many(ME.owner, notes("The boiler was repaired.", "Ada likes green tea."))
    assert (await found(memories, "Who repairs boilers?"))[0] == "The boiler was repaired."


async def test_irregular_forms_are_found(memories):
    await memories.write_many(ME.owner, notes("We went to Rome.", "We stay at home."))
    assert (await found(memories, "Where did we go?"))[0] == "We went to Rome."


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("我昨天在图书馆看书", "图书馆在哪里"),
        ("明日は東京で会議があります", "東京の会議"),
        ("우리는 서울에서 만났다", "서울"),
    ],
)
async def test_a_part_of_a_word_finds_it_where_there_are_no_spaces(memories, content, question):
    await memories.write_many(ME.owner, notes("something else", content, "and another"))
    assert (await found(memories, question))[0] == content


async def test_the_answer_to_a_question_is_found_by_the_question_before_it(memories):
    await memories.write_many(
        ME.owner,
        [
            *talk(
                "Ada: Hello!", "Bob: Which instrument do you play?", "Ada: The cello, since May."
            ),
            *talk("Ada: I bought bread.", "Bob: I like bread.", session="s2"),
        ],
    )
    assert "The cello, since May." in (await found(memories, "What instrument does Ada play?"))[:2]


async def test_who_is_named_is_preferred(memories):
    await memories.write_many(
        ME.owner,
        talk("Ada: I adopted a dog.", "Bob: I adopted a dog.", "Cleo: We talked about cats."),
    )
    assert (await found(memories, "What did Bob adopt?"))[0] == "I adopted a dog."
    result = await memories.find(ME, Query(text="What did Bob adopt?"))
    assert result.hits[0].memory.actor == "Bob"
    assert result.hits[0].why["actor"] > 0


async def test_when_it_happened_counts_if_the_question_says_so(memories):
    may, june = (datetime(2025, month, 3, tzinfo=UTC) for month in (5, 6))
    await memories.write_many(
        ME.owner,
        [
            *talk("Ada: We hiked all day.", session="s1", event_at=june),
            *talk("Ada: We hiked all day!", session="s2", event_at=may),
        ],
    )
    result = await memories.find(ME, Query(text="Where did we hike last May?"))
    assert result.hits[0].memory.event_at == may
    assert result.hits[0].why["date"] > 0
    assert "date" not in result.hits[1].why


async def test_a_period_alone_finds_what_happened_in_it(memories):
    may = datetime(2025, 5, 3, tzinfo=UTC)
    await memories.write_many(ME.owner, [*notes("We hiked.", event_at=may), *notes("We slept.")])
    assert (await found(memories, "in May 2025"))[0] == "We hiked."


async def test_an_answer_that_says_when_is_preferred_if_that_was_asked(memories):
    await memories.write_many(
        ME.owner,
        [
            *talk("Ada: The garden party was nice.", session="s1"),
            *talk("Ada: The garden party was yesterday.", session="s2"),
        ],
    )
    assert (await found(memories, "When was the garden party?"))[0].endswith("yesterday.")


async def test_filters_come_before_ranking(memories):
    crowd = notes(*(f"The secret garden number {number}" for number in range(300)))
    await memories.write_many(YOU.owner, crowd)
    await memories.write_many(ME.owner, notes("My garden is small."))

    assert await found(memories, "secret garden", limit=5) == ["My garden is small."]
    assert "My garden is small." not in await found(memories, "garden", YOU, limit=300)


async def test_a_source_is_a_filter_too(memories):
    await memories.write_many(
        ME.owner, [*notes("tea from a file", source="file:a"), *notes("tea from the web")]
    )
    assert await found(memories, "tea", source="file:a") == ["tea from a file"]
    assert await found(memories, "tea", source="file:b") == []


async def test_what_was_believed_is_found_as_of_then(memories):
    (old,) = await memories.write_many(ME.owner, notes("The door code is 1234."))
    await memories.clock.advance(3600)
    draft = MemoryDraft(content="The door code is 9876.", kind=MemoryKind.NOTE)
    await memories.write(ME, draft, supersedes=old.id)

    assert await found(memories, "door code") == ["The door code is 9876."]
    then = NOON + timedelta(minutes=1)
    assert await found(memories, "door code", as_of=then) == ["The door code is 1234."]


async def test_each_hit_says_why(memories):
    await memories.write_many(ME.owner, talk("Ada: We sailed to Norway.", "Bob: Lovely."))
    result = await memories.find(ME, Query(text="Who sailed to Norway?"))
    best, other = result.hits
    assert best.score == 1
    assert best.why["words"] == 1
    assert best.why["meaning"] > 0
    assert {"words", "actor", "date"}.isdisjoint(other.why)
    assert other.why["beside"] > 0


async def test_a_score_says_how_well_a_memory_answers_and_not_only_its_place(memories):
    await memories.write_many(ME.owner, notes("The spare key is at Ada's.", "The tea is green."))

    async def scores(question):
        return [hit.score for hit in (await memories.find(ME, Query(text=question))).hits]

    assert (await scores("spare key"))[0] == 1
    assert (await scores("spare xyzzy"))[0] == 0.5
    assert max(await scores("xyzzy flurb"), default=0) < 0.2


async def test_reciprocal_ranks_can_be_chosen(memories):
    await memories.write_many(ME.owner, notes("green tea", "black tea", "a blue whale"))
    result = await memories.find(ME, Query(text="green tea", fusion="rrf"))
    assert result.hits[0].memory.content == "green tea"
    assert set(result.hits[0].why) <= {"words", "around", "meaning", "cosine"}


async def test_without_an_embedder_words_are_compared_and_it_says_so(tmp_path):
    async with library(tmp_path / "home") as memories:
        await memories.write_many(ME.owner, notes("green tea"))
        result = await memories.find(ME, Query(text="tea"))
    assert [hit.memory.content for hit in result.hits] == ["green tea"]
    assert result.degraded == NO_EMBEDDER


async def test_a_failing_embedder_is_told_of_and_words_are_compared(memories):
    await memories.write_many(ME.owner, notes("green tea"))
    memories.embedder.failures = 1
    result = await memories.find(ME, Query(text="tea"))
    assert [hit.memory.content for hit in result.hits] == ["green tea"]
    assert "told to fail" in result.degraded
    assert (await memories.find(ME, Query(text="tea"))).degraded == ""


async def test_memories_without_a_vector_are_counted_and_found_by_words(tmp_path):
    async with library(tmp_path / "home", embedder=FakeEmbedder(failures=1)) as memories:
        await memories.write_many(ME.owner, notes("green tea"))
        await memories.write_many(YOU.owner, notes("black tea"))
        mine = await memories.find(ME, Query(text="tea"))
        yours = await memories.find(YOU, Query(text="tea"))
    assert mine.degraded.startswith("1 memories are not embedded yet")
    assert [hit.memory.content for hit in mine.hits] == ["green tea"]
    assert yours.degraded == ""


class AtOnce(FakeEmbedder):
    """Has the vector of a question without waiting, like the embedder in the box."""

    def query_at_once(self, text):
        return hashed([text])[0]


async def test_a_vector_at_hand_is_not_waited_for_and_finds_the_same(tmp_path):
    answers = []
    for embedder in (FakeEmbedder(), AtOnce()):
        async with library(tmp_path / type(embedder).__name__, embedder=embedder) as memories:
            await memories.write_many(ME.owner, notes("green tea", "black tea", "a blue whale"))
            written = len(embedder.asked)
            answers.append(await memories.find(ME, Query(text="tea, green or black")))
            waited = len(embedder.asked) - written
    assert waited == 0
    ranked = [[(hit.memory.content, hit.score, hit.why) for hit in each.hits] for each in answers]
    assert ranked[0] == ranked[1] != []


async def test_nothing_asked_finds_nothing(memories):
    await memories.write_many(ME.owner, notes("green tea"))
    assert await found(memories, "") == []
    assert await found(memories, "?!") == []


async def test_a_session_of_its_own_can_be_left_out(memories):
    await memories.write_many(
        ME.owner, [*talk("Ada: tea one", session="s1"), *talk("Ada: tea two", session="s2")]
    )
    assert await found(memories, "tea", not_session=SessionId("s1")) == ["tea two"]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(question=st.one_of(st.text(), st.text(alphabet="\"'*^:-+(){}[]|&!? ANDORNEAr1\x00\ud800")))
async def test_no_question_is_a_syntax_error(memories, question):
    if not await found(memories, "tea"):
        await memories.write_many(ME.owner, notes("green tea AND (NEAR coffee)"))
    result = await memories.find(ME, Query(text=question))
    assert len(result.hits) <= 1
