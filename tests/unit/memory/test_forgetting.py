import re
import sqlite3
from datetime import timedelta

import numpy as np
import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import (
    ME,
    NOON,
    TALK,
    a_turn,
    desk,
    everything,
    found,
    ids,
    orphans,
    remember,
    rows,
    said,
    stored,
)

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, Query, Selection, Trust
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.home import Home

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        yield opened


def contents(memories):
    return [memory.content for memory in memories]


async def remembered(memories):
    return contents(reversed(await memories.listed(ME, history=True, limit=1000)))


async def picture(memories):
    """Everything that searching, showing and linking is made of."""
    tables = {
        name: await rows(memories, f"SELECT * FROM {name} ORDER BY 1, 2")
        for name in ("memories", "memory_links", "memory_vectors", "memory_entries", "memory_words")
    }
    hits = [
        (hit.memory, hit.score, hit.why)
        for question in ("heron frogs", "where shall we meet", "mill")
        for hit in (await memories.find(ME, Query(text=question))).hits
    ]
    return tables, hits


async def test_a_memory_is_forgotten_by_its_number(memories):
    heron = await stored(memories, "The heron eats frogs")
    await stored(memories, "The stork eats mice")

    gone = await memories.forget("me", ids(heron))

    assert gone.memories == (heron,)
    assert gone.batch is not None
    assert await found(memories, "heron frogs eats") == ["The stork eats mice"]
    assert await remembered(memories) == ["The stork eats mice"]
    with pytest.raises(NotFound):
        await memories.show("me", heron.id)
    assert await orphans(memories) == []


SELECTIONS = [
    (Selection(session_id=TALK), ["said here"]),
    (Selection(source="file:a"), ["of the file"]),
    (Selection(kind=MemoryKind.NOTE), ["a note of today"]),
    (Selection(before=NOON + timedelta(minutes=5)), ["an old fact", "said here", "of the file"]),
    (Selection(before=NOON), []),
    (Selection(source="file:a", kind=MemoryKind.NOTE), []),
    (Selection(source="file"), []),
    (Selection(source="%"), []),
    (Selection(ids=frozenset()), []),
    (Selection(ids=frozenset(), session_id=TALK), []),
    (Selection(ids=frozenset({1, 2}), session_id=TALK), ["said here"]),
]


@pytest.mark.parametrize(("selection", "forgotten"), SELECTIONS)
async def test_exactly_what_is_meant_is_forgotten(memories, selection, forgotten):
    drafts = [MemoryDraft(content="an old fact"), said("said here")]
    await memories.write_many("me", [*drafts, MemoryDraft(content="of the file", source="file:a")])
    await memories.clock.advance(600)
    await memories.write_many("me", [MemoryDraft(content="a note of today", kind=MemoryKind.NOTE)])
    before = await remembered(memories)

    rehearsed = await memories.would_forget("me", selection)
    assert await remembered(memories) == before
    gone = await memories.forget("me", selection)

    assert contents(gone.memories) == contents(rehearsed.memories) == forgotten
    assert await remembered(memories) == [text for text in before if text not in forgotten]


@pytest.mark.parametrize("at_once", [False, True])
async def test_forgetting_nothing_in_particular_is_a_mistake(memories, at_once):
    await stored(memories, "The heron eats frogs")

    with pytest.raises(UsageError, match="Nothing says what to forget"):
        await memories.forget("me", Selection(), at_once=at_once)
    with pytest.raises(UsageError, match="Nothing says what to forget"):
        await memories.would_forget("me", Selection())
    assert await remembered(memories) == ["The heron eats frogs"]


async def a_family(memories):
    """A page, what was derived from it in two steps, and a bystander."""
    page = await stored(memories, "The page tells of the mill", source="web:x", trust=Trust.WEB)
    fact = await stored(memories, "The mill is old", derived_from=(page.id,))
    summary = await stored(
        memories, "Old things abound", kind=MemoryKind.SUMMARY, derived_from=(fact.id,)
    )
    other = await stored(memories, "The heron eats frogs")
    return page, fact, summary, other


async def test_a_source_goes_with_everything_derived_from_it_and_comes_back(memories):
    page, fact, summary, other = await a_family(memories)
    before = await picture(memories)

    gone = await memories.forget("me", Selection(source="web:x"))

    assert gone.memories == (page, fact, summary)
    assert gone.derived == {fact.id, summary.id}
    assert await remembered(memories) == ["The heron eats frogs"]
    assert await found(memories, "old mill page things") in ([], ["The heron eats frogs"])
    assert await orphans(memories) == []
    back = await memories.undo("me", gone.batch)
    assert back == [page, fact, summary]
    assert await picture(memories) == before
    assert contents((await memories.show("me", page.id)).derived) == contents([fact, summary])
    assert await orphans(memories) == []
    assert other.id == 4


async def test_a_rehearsal_changes_nothing(memories):
    await a_family(memories)
    before = await everything(memories)

    gone = await memories.would_forget("me", Selection(source="web:x"))

    assert len(gone.memories) == 3
    assert gone.batch is None
    assert await everything(memories) == before


async def test_circles_of_derivation_end(memories):
    one = await stored(memories, "One is derived")
    two = await stored(memories, "Two is derived", derived_from=(one.id,))
    await rows_written(memories, "INSERT INTO memory_links VALUES (:a, :b)", a=one.id, b=two.id)

    gone = await memories.forget("me", ids(two))

    assert len(gone.memories) == 2
    assert len(await memories.undo("me", gone.batch)) == 2
    assert contents((await memories.show("me", one.id)).origins) == ["Two is derived"]


async def rows_written(memories, query, **values):
    from sqlalchemy import text  # noqa: PLC0415 - only where a state is forged

    await memories.database.write(lambda tx: tx.execute(text(query), values))


async def a_correction(memories, **changed):
    old = await stored(memories, "I live in Berlin")
    await memories.clock.advance(60)
    draft = MemoryDraft(content="I live in Munich", **changed)
    new = (await memories.write(ME, draft, supersedes=old.id)).memory
    return old, new


async def test_a_memory_named_by_its_number_goes_with_what_it_superseded(memories):
    old, new = await a_correction(memories)
    before = await picture(memories)

    gone = await memories.forget("me", ids(new))

    assert [memory.id for memory in gone.memories] == [old.id, new.id]
    assert await found(memories, "live", as_of=NOON) == []
    await memories.undo("me", gone.batch)
    assert await picture(memories) == before
    assert await found(memories, "live") == ["I live in Munich"]
    assert await found(memories, "live", as_of=NOON) == ["I live in Berlin"]


async def test_forgetting_only_the_old_leaves_the_new(memories):
    old, _ = await a_correction(memories)

    gone = await memories.forget("me", ids(old))

    assert await remembered(memories) == ["I live in Munich"]
    await memories.undo("me", gone.batch)
    assert await found(memories, "live") == ["I live in Munich"]


async def test_without_the_source_of_a_correction_the_old_is_true_again_until_undone(memories):
    await a_correction(memories, source="file:letter", trust=Trust.AGENT)
    before = await picture(memories)

    gone = await memories.forget("me", Selection(source="file:letter"))

    assert contents(gone.memories) == ["I live in Munich"]
    assert await found(memories, "live") == ["I live in Berlin"]
    [berlin] = await memories.listed(ME)
    assert (berlin.valid_to, berlin.superseded_by) == (None, None)
    await memories.undo("me", gone.batch)
    assert await picture(memories) == before


async def test_what_was_true_again_can_be_corrected_again(memories):
    old, _ = await a_correction(memories, source="file:letter", trust=Trust.AGENT)
    await memories.forget("me", Selection(source="file:letter"))

    await memories.write(ME, MemoryDraft(content="I live in Bonn"), supersedes=old.id)

    assert await found(memories, "live") == ["I live in Bonn"]


async def test_with_the_middle_of_a_chain_gone_the_end_still_stands(memories):
    _, middle = await a_correction(memories, source="file:letter", trust=Trust.AGENT)
    await memories.write(ME, MemoryDraft(content="I live in Bonn"), supersedes=middle.id)

    await memories.forget("me", Selection(source="file:letter"))

    assert await found(memories, "live") == ["I live in Bonn"]


async def test_a_correction_derived_from_a_forgotten_page_is_undone_with_it(memories):
    page = await stored(memories, "A page about Munich", source="web:x", trust=Trust.WEB)
    await a_correction(memories, derived_from=(page.id,), trust=Trust.AGENT)

    await memories.forget("me", Selection(source="web:x"))

    assert await found(memories, "live") == ["I live in Berlin"]


async def vector(memories, memory):
    [(blob,)] = await rows(
        memories, "SELECT vector FROM memory_vectors WHERE memory_id = :n", n=memory.id
    )
    return np.frombuffer(blob, np.float16)


async def embedded(text):
    return (await FakeEmbedder().documents([text]))[0].astype(np.float16)


async def test_what_was_said_next_no_longer_stands_for_what_is_forgotten(memories):
    talk = await memories.write_many(
        "me", [said("We meet."), said("At the mill."), said("At nine.")]
    )
    before = await picture(memories)

    gone = await memories.forget("me", ids(talk[1]))

    after = (await memories.show("me", talk[2].id)).memory
    assert after.previous == talk[0].id
    assert np.array_equal(await vector(memories, after), await embedded("We meet.\nAt nine."))
    await memories.undo("me", gone.batch)
    assert await picture(memories) == before


async def test_pieces_of_a_talk_come_back_in_any_order(memories):
    talk = await memories.write_many("me", [said(f"line {number} of it") for number in range(6)])
    before = await picture(memories)

    batches = [(await memories.forget("me", ids(talk[n]))).batch for n in (2, 0, 3, 5)]
    for place in (1, 3, 0, 2):
        await memories.undo("me", batches[place])

    assert await picture(memories) == before


async def test_when_the_embedder_fails_the_vectors_of_what_is_left_are_made_later(memories):
    talk = await memories.write_many("me", [said("At the mill."), said("At nine.")])
    memories.embedder.failures = None

    await memories.forget("me", ids(talk[0]))

    assert (await memories.stats("me")).missing == 1
    memories.embedder.failures = 0
    await memories.refill()
    assert np.array_equal(await vector(memories, talk[1]), await embedded("At nine."))


async def test_forgetting_embeds_only_what_it_must(memories):
    memories.embedder.failures = None
    await memories.write_many("me", [MemoryDraft(content=f"fact {number}") for number in range(50)])
    memories.embedder.failures = 0
    memories.embedder.asked.clear()

    gone = await memories.forget("me", Selection(ids=frozenset({1})))
    await memories.undo("me", gone.batch)

    assert memories.embedder.asked == [("fact 0",)]


async def test_numbers_are_never_used_twice(memories):
    last = await stored(memories, "The heron eats frogs")
    await memories.forget("me", ids(last), at_once=True)

    assert (await stored(memories, "The stork eats mice")).id == last.id + 1


async def test_after_thirty_days_there_is_nothing_to_undo(memories):
    gone = await memories.forget("me", ids(await stored(memories, "The heron eats frogs")))
    await memories.clock.advance(30 * 86400 - 1)
    await memories.tidy()
    assert (await memories.stats("me")).trash == 1
    await memories.clock.advance(1)

    # Even if nobody has tidied up yet.
    assert (await memories.stats("me")).trash == 0
    with pytest.raises(NotFound, match=r"nothing to undo.*kept for 30 days"):
        await memories.undo("me", gone.batch)
    await memories.tidy()

    assert "heron" not in await everything(memories)


async def test_what_is_undone_is_undone_once(memories):
    gone = await memories.forget("me", ids(await stored(memories, "The heron eats frogs")))
    await memories.undo("me", gone.batch)

    with pytest.raises(NotFound):
        await memories.undo("me", gone.batch)
    assert len(await memories.listed(ME)) == 1


async def test_what_was_derived_stays_away_while_its_origin_is_forgotten(memories):
    page, fact, *_ = await a_family(memories)
    first = await memories.forget("me", ids(fact))
    second = await memories.forget("me", ids(page))

    with pytest.raises(
        UsageError, match=rf"#{fact.id} was derived from #{page.id}.*{second.batch}"
    ):
        await memories.undo("me", first.batch)
    await memories.undo("me", second.batch)
    await memories.undo("me", first.batch)

    assert contents((await memories.show("me", fact.id)).origins) == [page.content]


async def test_what_goes_at_once_takes_what_was_derived_from_it_out_of_the_trash(memories):
    page, fact, *_ = await a_family(memories)
    first = await memories.forget("me", ids(fact))

    await memories.forget("me", ids(page), at_once=True)

    with pytest.raises(NotFound):
        await memories.undo("me", first.batch)
    assert "mill" not in await everything(memories)


async def test_what_lies_in_the_trash_can_be_made_to_go_at_once(memories):
    page, *_ = await a_family(memories)
    await memories.forget("me", ids(page))

    gone = await memories.forget("me", Selection(source="web:x"), at_once=True)

    assert len(gone.memories) == 3
    assert gone.batch is None
    assert "mill" not in await everything(memories)
    assert await remembered(memories) == ["The heron eats frogs"]


WORD = re.compile("quokka|xylophon|zanzibar", re.IGNORECASE)


async def test_what_goes_at_once_leaves_no_trace_in_any_table_or_byte(tmp_path):
    home = tmp_path / "home"
    async with desk(home) as memories:
        await memories.write_many(
            "me", [MemoryDraft(content=f"common words {n}") for n in range(200)]
        )
        talk = [
            said("The quokka plays the xylophone", actor="Quokka", session=SessionId("zanzibar")),
            said("Does it?", session=SessionId("zanzibar")),
        ]
        secret, after = await memories.write_many("me", talk)
        await stored(
            memories, "Quokkas make music", source="file:quokka", derived_from=(secret.id,)
        )
        await memories.write_many(
            "me", [MemoryDraft(content=f"more words {n}") for n in range(200)]
        )

        await memories.forget("me", ids(secret, after), at_once=True)

        assert WORD.findall(await everything(memories)) == []
        assert await orphans(memories) == []
        assert len(await found(memories, "common words", limit=1000)) >= 200
    # Whatever SQLite still had in its write-ahead log is gone when the last connection is.
    files = [path for path in Home(home).path.rglob("*") if path.is_file()]
    assert [path.name for path in files if WORD.search(path.read_bytes().decode("latin-1"))] == []


async def test_a_name_that_others_still_use_stays_usable(memories):
    one, two = await memories.write_many(
        "me", [said("I was at the mill", actor="Lena"), said("I was at the lake", actor="Lena")]
    )
    assert len(await found(memories, "Lena", actor="lena")) == 2

    await memories.forget("me", ids(one), at_once=True)
    assert await found(memories, "lake", actor="lena") == ["I was at the lake"]
    await memories.forget("me", ids(two), at_once=True)
    await memories.write_many("me", [said("I am back at the lake", actor="Lena")])

    # The search that has seen the old name knows the new one, too.
    assert await found(memories, "lake", actor="lena") == ["I am back at the lake"]


async def test_what_is_forgotten_with_a_way_back_is_in_no_table_but_the_trash(memories):
    await memories.forget("me", ids(await stored(memories, "The quokka plays the xylophone")))

    trash = str(await rows(memories, "SELECT body FROM memory_trash"))

    assert "quokka" in trash
    # The full-text index may keep deleted words until it merges; no search sees them.
    for name in ("memories", "memory_words", "memory_words_content", "memory_entries"):
        assert "quokka" not in str(await rows(memories, f"SELECT * FROM {name}"))


async def test_a_turn_whose_memory_was_forgotten_is_not_remembered_again(memories):
    from tests.unit.store.house import add_session, add_turn, end_turn  # noqa: PLC0415

    from long_running_agents.store import memories as store_memories  # noqa: PLC0415
    from long_running_agents.store import turns  # noqa: PLC0415

    await memories.database.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
    await memories.database.write(lambda tx: end_turn(tx, "t1"))
    turn = await memories.database.read(lambda tx: turns.get(tx, "t1"))
    await remember(memories, turn, "lra")

    await memories.forget("me", Selection(session_id=turn.session_id))

    assert await memories.database.read(lambda tx: store_memories.unremembered(tx, limit=9)) == []
    assert a_turn().id == turn.id


async def test_a_damaged_process_cannot_leave_half_a_forgetting(memories):
    await a_family(memories)
    before = await picture(memories)
    await rows_written(
        memories,
        "CREATE TRIGGER broken BEFORE DELETE ON memories WHEN old.content = 'Old things abound' "
        "BEGIN SELECT RAISE(ABORT, 'no'); END",
    )

    with pytest.raises(sqlite3.IntegrityError):
        await memories.forget("me", Selection(source="web:x"))

    assert await picture(memories) == before
    assert (await memories.stats("me")).trash == 0
