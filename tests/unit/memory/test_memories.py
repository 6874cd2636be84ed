import asyncio
from datetime import timedelta

import numpy as np
import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import (
    ME,
    NOON,
    TALK,
    YOU,
    desk,
    everything,
    found,
    ids,
    rows,
    said,
    stored,
)

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryKind,
    MemoryScope,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Trust,
    Viewer,
)
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.store import memories as memory_rows
from long_running_agents.store import memory_index

pytestmark = pytest.mark.anyio

KEY = "sk-" + "ant-api03-abcdefghijklmnop1234"
PIECES = ("api03", "abcdefghijklmnop1234")


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        yield opened


def fact(content, **changed):
    return MemoryDraft(content=content, **changed)


async def test_what_was_written_is_found_and_shown(memories):
    written = await memories.write(ME, fact("My dog is called Rex"))

    assert isinstance(written, Stored)
    assert written.memory.recorded_at == written.memory.event_at == NOON
    assert await found(memories, "what is my dog called?") == ["My dog is called Rex"]
    shown = await memories.show("me", written.memory.id)
    assert shown.memory == written.memory
    assert (shown.history, shown.origins, shown.derived) == ((), (), ())


@pytest.mark.parametrize(
    "again", ["My dog is called Rex", "  my DOG is called  Rex. ", "\uff2dy dog is called Rex!"]
)
async def test_the_same_is_merged_and_counted(memories, again):
    first = (await memories.write(ME, fact("My dog is called Rex"))).memory

    written = await memories.write(ME, fact(again))

    assert isinstance(written, Merged)
    assert written.memory == (await memories.show("me", first.id)).memory
    assert written.memory.seen == 2
    assert len(await memories.listed(ME)) == 1


async def test_two_writers_of_the_same_at_the_same_time_make_one_memory(memories):
    written = await asyncio.gather(*(memories.write(ME, fact("I like tea")) for _ in range(8)))

    assert sum(isinstance(outcome, Stored) for outcome in written) == 1
    [memory] = await memories.listed(ME)
    assert memory.seen == 8


async def test_the_same_is_merged_even_among_many_alike(memories):
    for number in range(30):
        await stored(memories, f"My dog number {number} is called Rex")

    written = await memories.write(ME, fact("My dog number 3 is called Rex"))

    assert isinstance(written, Merged)


async def test_the_better_word_for_the_same_takes_over_and_the_worse_does_not(memories):
    page = await stored(memories, "The page of the mill", trust=Trust.WEB, source="web:x")
    known = await stored(
        memories, "The mill opens at nine", trust=Trust.WEB, source="web:x", derived_from=(page.id,)
    )

    await memories.write(ME, fact("The mill opens at nine"))

    shown = await memories.show("me", known.id)
    assert (shown.memory.trust, shown.memory.source, shown.origins) == (Trust.USER, "user", ())
    assert await found(memories, "mill opens", least_trust=Trust.USER) == ["The mill opens at nine"]
    await memories.write(ME, fact("The mill opens at nine", trust=Trust.WEB, source="web:y"))
    assert (await memories.show("me", known.id)).memory.trust is Trust.USER
    await memories.forget("me", Selection(source="web:x"))
    assert await found(memories, "mill") == ["The mill opens at nine"]


async def test_what_has_expired_is_not_found_nor_merged_with(memories):
    soon = NOON + timedelta(hours=1)
    first = await stored(memories, "The gate code changes today", expires_at=soon)
    await memories.clock.advance(3600)
    assert await found(memories, "gate code") == []

    written = await memories.write(ME, fact("The gate code changes today"))

    assert isinstance(written, Stored)
    assert written.memory.id != first.id
    assert await found(memories, "gate code") == ["The gate code changes today"]


async def test_what_is_said_again_lives_as_long_as_either_saying(memories):
    soon, later = NOON + timedelta(hours=1), NOON + timedelta(hours=2)
    await stored(memories, "Anna is in town", expires_at=later)
    assert (await stored(memories, "Anna is in town", expires_at=soon)).expires_at == later
    assert (await stored(memories, "Anna is in town")).expires_at is None


async def test_what_is_similar_is_returned_and_nothing_is_written(memories):
    rex = (await memories.write(ME, fact("My dog is called Rex"))).memory

    written = await memories.write(ME, fact("My dog is called Max"))

    assert written == Similar((rex,))
    assert len(await memories.listed(ME)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin", "I moved to Munich"),
        ("I drink coffee black", "I drink my coffee with milk"),
    ],
)
async def test_a_contradiction_is_noticed_in_a_crowd_with_the_real_embedder(tmp_path, old, new):
    async with desk(tmp_path / "home", embedder=BundledEmbedder()) as memories:
        crowd = [
            fact(f"Note {number} about {topic} in the garden")
            for number in range(40)
            for topic in ("trees", "frogs", "moved stones", "Munich")
        ]
        await memories.write_many("me", crowd)
        known = await stored(memories, old)

        written = await memories.write(ME, fact(new))

        assert isinstance(written, Similar)
        assert written.memories[0].id == known.id


async def test_the_writer_may_keep_both(memories):
    await memories.write(ME, fact("My dog is called Rex"))

    written = await memories.write(ME, fact("My dog is called Max"), keep_both=True)

    assert isinstance(written, Stored)
    assert len(await found(memories, "dog called")) == 2


async def test_similar_things_of_another_agent_or_session_are_not_told(memories):
    await stored(memories, "My dog is called Rex", scope=MemoryScope.AGENT, agent="poet")
    await stored(memories, "My dog is called Rex", scope=MemoryScope.SESSION, session_id=TALK)

    written = await memories.write(Viewer(owner="me", agent="clerk"), fact("My dog is called Max"))

    assert isinstance(written, Stored)


async def test_superseding_keeps_history_and_as_of_brings_it_back(memories):
    old = (await memories.write(ME, fact("I live in Berlin"))).memory
    await memories.clock.advance(3600)
    written = await memories.write(ME, fact("I live in Munich"), supersedes=old.id)

    assert isinstance(written, Stored)
    assert written.superseded == old
    assert await found(memories, "where do I live?") == ["I live in Munich"]
    now = NOON + timedelta(hours=1)
    assert await found(memories, "where do I live?", as_of=now) == ["I live in Munich"]
    before = now - timedelta(microseconds=1)
    assert await found(memories, "where do I live?", as_of=before) == ["I live in Berlin"]
    assert await found(memories, "live", as_of=NOON - timedelta(seconds=1)) == []
    [history] = (await memories.show("me", written.memory.id)).history
    assert (history.id, history.valid_to, history.superseded_by) == (old.id, now, written.memory.id)
    assert [memory.content for memory in await memories.listed(ME)] == ["I live in Munich"]
    assert len(await memories.listed(ME, history=True)) == 2


async def test_a_memory_is_superseded_once(memories):
    old = await stored(memories, "I live in Berlin")
    new = await memories.write(ME, fact("I live in Munich"), supersedes=old.id)

    with pytest.raises(UsageError, match=f"superseded already.*Correct #{new.memory.id}"):
        await memories.write(ME, fact("I live in Bonn"), supersedes=old.id)
    assert await found(memories, "live") == ["I live in Munich"]


async def test_superseding_by_something_known_makes_no_second_copy(memories):
    berlin = await stored(memories, "I live in Berlin")
    munich = await stored(memories, "I live in Munich")

    written = await memories.write(ME, fact("I live in Munich"), supersedes=berlin.id)

    assert isinstance(written, Stored)
    assert written.memory.id == munich.id
    assert [memory.id for memory in await memories.listed(ME)] == [munich.id]
    assert [memory.id for memory in (await memories.show("me", munich.id)).history] == [berlin.id]


async def test_only_the_spelling_of_a_memory_can_be_corrected(memories):
    old = await stored(memories, "my dog is called rex")

    written = await memories.write(ME, fact("My dog is called Rex"), supersedes=old.id)

    assert isinstance(written, Stored)
    assert await found(memories, "dog") == ["My dog is called Rex"]


async def test_a_page_does_not_supersede_what_the_user_said(memories):
    old = await stored(memories, "I bank with Postbank")

    written = await memories.write(
        ME, fact("The user banks with Evilbank", trust=Trust.WEB, source="web:x"), supersedes=old.id
    )

    assert isinstance(written, Refused)
    assert f"#{old.id} is trusted more" in written.reason
    assert await found(memories, "bank") == ["I bank with Postbank"]


async def test_a_chain_of_a_thousand_corrections_is_shown(memories):
    last = await stored(memories, "Version 0 of the plan")
    drafts = [fact(f"Version {number} of the plan") for number in range(1, 1500)]
    made = await memories.write_many("me", drafts)

    def chain(tx):
        for old, new in zip([last, *made], made, strict=False):
            memory_rows.supersede(tx, old, new.id, NOON)

    await memories.database.write(chain)

    assert len((await memories.show("me", made[-1].id)).history) == 1499


@pytest.mark.parametrize("content", ["", "My password is hunter2", "x" * 4001, "<html>"])
async def test_what_is_refused_leaves_nothing(memories, content):
    assert isinstance(await memories.write(ME, fact(content)), Refused)
    assert await memories.listed(ME) == []
    assert memories.embedder.asked == []


SCOPED = [
    (MemoryScope.USER, {}, {"agent": "a", "session_id": SessionId("s")}, True),
    (MemoryScope.AGENT, {"agent": "poet"}, {"agent": "poet"}, True),
    (MemoryScope.AGENT, {"agent": "poet"}, {"agent": "clerk"}, False),
    (MemoryScope.AGENT, {"agent": "poet"}, {}, False),
    (MemoryScope.SESSION, {"session_id": TALK}, {"session_id": TALK}, True),
    (MemoryScope.SESSION, {"session_id": TALK}, {"session_id": SessionId("other")}, False),
    (MemoryScope.SESSION, {"session_id": TALK}, {"agent": "poet"}, False),
]


@pytest.mark.parametrize(("scope", "of", "who", "seen"), SCOPED)
async def test_a_scope_decides_who_sees_a_memory(memories, scope, of, who, seen):
    memory = await stored(memories, "The heron eats frogs", scope=scope, **of)
    viewer = Viewer(owner="me", **who)

    assert bool(await found(memories, "heron frogs", viewer)) is seen
    assert bool(await memories.listed(viewer)) is seen
    correction = memories.write(viewer, fact("The heron eats fish"), supersedes=memory.id)
    if seen or viewer == ME:
        assert isinstance(await correction, Stored)
    else:
        with pytest.raises(NotFound):
            await correction


@pytest.mark.parametrize("scope", [MemoryScope.AGENT, MemoryScope.SESSION])
async def test_a_memory_that_nobody_could_see_cannot_be_drafted(scope):
    with pytest.raises(UsageError, match=f"names its {scope.value}"):
        fact("x is y", scope=scope)


async def test_the_same_for_fewer_eyes_is_merged_with_what_all_see(memories):
    everyone = await stored(memories, "Anna is my sister")

    written = await memories.write(
        ME, fact("Anna is my sister", scope=MemoryScope.AGENT, agent="poet")
    )
    other = await stored(memories, "Tom is my son", scope=MemoryScope.AGENT, agent="poet")
    wider = await memories.write(ME, fact("Tom is my son"))

    assert written.memory.id == everyone.id
    assert isinstance(wider, Stored)
    assert wider.memory.id != other.id


async def test_someone_elses_number_is_as_good_as_none(memories):
    mine = await stored(memories, "The heron eats frogs")
    gone = await memories.forget("me", ids(await stored(memories, "The stork eats mice")))
    before = await everything(memories)

    for number in (mine.id, 999, 0, -1, 2**63, 2**200):
        with pytest.raises(NotFound, match=rf"No memory #{number}\."):
            await memories.show("you", number)
        with pytest.raises(NotFound, match=rf"No memory #{number}\."):
            await memories.write(YOU, fact("The heron eats fish"), supersedes=number)
        chosen = Selection(ids=frozenset({number}))
        assert await memories.listed(YOU, chosen) == []
        assert (await memories.would_forget("you", chosen)).memories == ()
        assert (await memories.forget("you", chosen)).memories == ()
        assert (await memories.forget("you", chosen, at_once=True)).memories == ()
    with pytest.raises(NotFound, match="nothing to undo"):
        await memories.undo("you", gone.batch)

    assert await everything(memories) == before


async def test_nobody_hangs_a_memory_on_someone_elses(memories):
    mine = await stored(memories, "The heron eats frogs")

    theirs = await stored(memories, "Herons are birds", YOU, derived_from=(mine.id, 999))

    assert (await memories.show("you", theirs.id)).origins == ()
    assert (await memories.would_forget("me", ids(mine))).memories == (mine,)


async def test_a_failing_embedder_delays_the_vector_and_loses_nothing(memories):
    memories.embedder.failures = None
    await memories.write(ME, fact("The heron eats frogs"))
    await memories.write_many("me", [said("Herons are grey")])
    result = await memories.find(ME, Query(text="heron frogs"))
    assert result.hits[0].memory.content == "The heron eats frogs"
    assert "only words" in result.degraded
    assert (await memories.stats("me")).missing == 2

    memories.embedder.failures = 0
    assert await memories.refill() == ""

    assert (await memories.stats("me")).missing == 0
    assert (await memories.find(ME, Query(text="heron frogs"))).degraded == ""


async def test_without_an_embedder_everything_else_works(tmp_path):
    async with desk(tmp_path / "home", silent=True) as memories:
        await memories.write(ME, fact("The heron eats frogs"))

        assert await found(memories, "frogs") == ["The heron eats frogs"]
        assert "no embedder" in await memories.refill()
        assert (await memories.stats("me")).missing == 0


async def test_a_secret_that_slips_through_is_redacted_wherever_text_goes(tmp_path):
    async with desk(tmp_path / "home", environ={"DB_PASSWORD": "p4ss-w0rd-9"}) as memories:
        drafts = [
            said(f"the keys are {KEY} and p4ss-w0rd-9", source=f"file:{KEY}", actor=KEY),
            said("and what else?"),
        ]
        made = await memories.write_many("me", drafts)
        texts = await everything(memories)
        await memories.forget("me", ids(*made))
        texts += await everything(memories)

        assert "[redacted]" in made[0].content
        assert [piece for piece in (*PIECES, "w0rd") if piece in texts] == []
        embedded = str(memories.embedder.asked)
        assert [piece for piece in (*PIECES, "w0rd") if piece in embedded] == []


async def test_half_a_letter_nuls_and_every_script_can_be_remembered(memories):
    for content in (
        "half a \ud83d letter",
        "a \x00 nul",
        "\u202eabc def",
        "猫が好きです",
        "🎉 party",
    ):
        [memory] = await memories.write_many(
            "me", [fact(content, source="file:\udc80", actor="\ud800")]
        )
        assert (await memories.show("me", memory.id)).memory == memory
        assert isinstance(await memories.write(ME, fact(content)), Stored | Merged | Similar)
    assert "猫が好きです" in await found(memories, "猫")
    assert await memories.forget("me", Selection(source="file:?"))


@pytest.mark.parametrize(("limit", "count"), [(-1, 0), (0, 0), (2, 2), (10**30, 5)])
async def test_a_list_has_no_more_than_was_asked_for(memories, limit, count):
    await memories.write_many("me", [fact(f"fact {number}") for number in range(5)])

    assert len(await memories.listed(ME, limit=limit)) == count
    assert len(await memories.listed(ME, limit=5, offset=-3)) == 5


async def test_a_list_is_the_latest_first_and_can_be_narrowed(memories):
    await memories.write_many(
        "me",
        [
            fact("one"),
            fact("two", kind=MemoryKind.NOTE),
            fact("three", source="file:x"),
            said("four"),
        ],
    )

    assert [m.content for m in await memories.listed(ME)] == ["four", "three", "two", "one"]
    assert [m.content for m in await memories.listed(ME, Selection(kind=MemoryKind.NOTE))] == [
        "two"
    ]
    assert [m.content for m in await memories.listed(ME, Selection(source="file:x"))] == ["three"]
    assert [m.content for m in await memories.listed(ME, Selection(session_id=TALK))] == ["four"]
    assert await memories.listed(ME, Selection(ids=frozenset())) == []
    assert [m.content for m in await memories.listed(ME, limit=1, offset=1)] == ["three"]


async def test_what_is_said_in_a_session_knows_what_came_before(memories):
    one, two = await memories.write_many("me", [said("Shall we go?"), said("Yes, at nine.")])
    [other] = await memories.write_many("me", [said("Elsewhere", session=SessionId("other"))])
    [three] = await memories.write_many("me", [said("Bring the dog.")])
    theirs = (await memories.write_many("you", [said("A stranger in a session of that name")]))[0]

    assert [m.previous for m in (one, two, other, three, theirs)] == [
        None,
        one.id,
        None,
        two.id,
        None,
    ]
    assert memories.embedder.asked[0] == ("Shall we go?", "Shall we go?\nYes, at nine.")
    assert memories.embedder.asked[2] == ("Yes, at nine.\nBring the dog.",)


async def test_many_drafts_are_written_in_order_and_each_session_goes_on(memories):
    drafts = [said(f"line {number}", session=SessionId(f"s{number % 3}")) for number in range(1203)]

    made = await memories.write_many("me", drafts)

    assert [memory.content for memory in made] == [draft.content for draft in drafts]
    assert [memory.previous for memory in made] == [None, None, None, *(m.id for m in made[:-3])]


async def test_counts_are_of_one_owner_only(memories):
    await stored(memories, "The heron eats frogs")
    await memories.write_many("you", [fact(f"fact {number}") for number in range(7)])
    await memories.forget("you", Selection(ids=frozenset({2, 3})))
    memories.embedder.failures = None
    await memories.write_many("you", [fact("late")])

    stats = await memories.stats("me")

    assert (stats.counts, stats.missing, stats.trash) == ({MemoryKind.FACT: 1}, 0, 0)
    assert stats.spaces == {memories.embedder.space: 1}
    assert (await memories.stats("nobody")).spaces == {}
    assert (await memories.stats("you")).trash == 2


async def test_what_a_newer_memory_replaced_is_not_counted(memories):
    old = await stored(memories, "The heron eats frogs")
    await memories.correct(ME, old.id, "The heron eats fish")

    stats = await memories.stats("me")

    assert (stats.counts, stats.missing) == ({MemoryKind.FACT: 1}, 0)
    assert stats.spaces == {memories.embedder.space: 2}


async def test_a_vector_stands_for_what_is_stored_and_nothing_forgotten_meanwhile(memories):
    first, _ = await memories.write_many("me", [said("The secret valley"), said("Let us go there")])
    embed = memories.embedder.documents

    async def slow(texts):
        vectors = await embed(texts)
        memories.embedder.documents = embed
        await memories.forget("me", Selection(session_id=TALK), at_once=True)
        return vectors

    memories.embedder.documents = slow
    [late] = await memories.write_many("me", [said("When shall we start?")])

    assert late.previous is None
    assert (await memories.stats("me")).missing == 1
    await memories.refill()
    [(vector,)] = await rows(memories, "SELECT vector FROM memory_vectors")
    [expected] = await FakeEmbedder().documents(["When shall we start?"])
    assert np.allclose(np.frombuffer(vector, np.float16), expected, atol=1e-3)
    assert first.content not in await everything(memories)


async def test_reindexing_makes_words_and_entries_again(memories):
    await stored(memories, "The heron eats frogs")
    before = await memories.find(ME, Query(text="heron"))
    await memories.database.write(memory_index.clear)
    assert await found(memories, "heron", fusion="rrf") == ["The heron eats frogs"]

    assert await memories.reindex() == ""

    assert await memories.find(ME, Query(text="heron")) == before
