from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import (
    ME,
    NOON,
    TALK,
    a_turn,
    desk,
    found,
    ids,
    remember,
    rows,
    stored,
)
from tests.unit.memory.test_gate import a_memory
from tests.unit.store.house import add_session, add_turn, end_turn, move_turn

from long_running_agents.domain.memory import MemoryKind, MemoryScope, Selection, Trust, Viewer
from long_running_agents.domain.turn import TurnOrigin, TurnStatus
from long_running_agents.memory.service import PIECE, conversation_drafts, pieces
from long_running_agents.store import memories as store_memories
from long_running_agents.store import sessions, turns

pytestmark = pytest.mark.anyio

SPARE = "The spare key lies under the blue flower pot"


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        await opened.database.write(lambda tx: add_session(tx, TALK))
        yield opened


async def ended(memories, name="t1", prompt="Where do we meet?", answer="At the old mill."):
    """A turn of the session, at its end."""
    await memories.database.write(lambda tx: add_turn(tx, name, TALK, prompt=prompt))
    await memories.database.write(lambda tx: end_turn(tx, name, answer=answer))
    return await memories.database.read(lambda tx: turns.get(tx, name))


def test_a_turn_becomes_what_was_asked_and_what_was_answered():
    asked, answered = conversation_drafts(a_turn(), "lra", [])

    assert (asked.content, asked.actor, asked.trust) == ("Where do we meet?", "user", Trust.USER)
    assert (answered.content, answered.actor, answered.trust) == (
        "At the old mill.",
        "lra",
        Trust.AGENT,
    )
    assert asked.event_at == NOON
    assert answered.event_at == NOON + timedelta(minutes=1)
    assert {asked.kind, answered.kind} == {MemoryKind.CONVERSATION}
    assert {asked.turn_id, answered.turn_id} == {"t1"}


@pytest.mark.parametrize("origin", [TurnOrigin.JOB, TurnOrigin.DELEGATE])
def test_what_an_agent_may_have_asked_is_not_taken_for_the_users_word(origin):
    asked, _ = conversation_drafts(a_turn(origin=origin), "lra", [])

    assert asked.trust is Trust.AGENT
    assert asked.actor == origin.value


@pytest.mark.parametrize("trust", list(Trust))
def test_an_answer_is_trusted_no_more_than_what_it_was_drawn_from(trust):
    turn = a_turn(prompt="Where is it?", answer="It lies under the blue flower pot.")
    heard = [a_memory(SPARE, 7, trust=trust), a_memory("The heron eats frogs", 8)]

    _, answered = conversation_drafts(turn, "lra", heard)

    assert answered.derived_from == (7,)
    assert answered.trust is (trust if trust.rank < Trust.AGENT.rank else Trust.AGENT)


@pytest.mark.parametrize(
    ("scope", "of"),
    [
        (MemoryScope.USER, {}),
        (MemoryScope.AGENT, {"agent": "lra"}),
        (MemoryScope.SESSION, {"session_id": TALK}),
    ],
)
def test_an_answer_is_seen_by_no_more_than_what_it_was_drawn_from(scope, of):
    turn = a_turn(prompt="Where is it?", answer="It lies under the blue flower pot.")

    asked, answered = conversation_drafts(turn, "lra", [a_memory(SPARE, 7, scope=scope, **of)])

    assert (asked.scope, answered.scope) == (MemoryScope.USER, scope)


def test_a_secret_that_was_typed_is_not_remembered():
    asked, answered = conversation_drafts(
        a_turn(prompt="My password is hunter2. Log in!", answer="Used password: hunter2"), "lra", []
    )

    assert "hunter2" not in asked.content + answered.content
    assert "Log in!" in asked.content


def test_a_turn_without_words_makes_no_memories():
    assert conversation_drafts(a_turn(prompt="  \n", answer=""), "lra", []) == []


def test_a_short_text_is_one_piece_as_it_was_written():
    text = "One. Two!  Three?\n\nFour.\n  - five"

    assert pieces(f"\n {text} \n") == [text]


def test_a_long_text_is_cut_where_it_pauses():
    paragraph = "This is a sentence of some length. " * 20
    text = "\n\n".join([paragraph.strip()] * 4)

    found_pieces = pieces(text)

    assert found_pieces == [paragraph.strip()] * 4


@pytest.mark.parametrize(
    "text",
    [
        "word " * 3000,
        "w" * 5000,
        "这是一个很长的句子。" * 400,
        "no full stop but commas, " * 300,
        "👩\u200d👩\u200d👧 " * 900,
        "line\n" * 2000,
        "a" * PIECE + ". " + "b" * PIECE,
    ],
)
def test_no_word_is_lost_and_no_piece_is_too_long(text):
    found_pieces = pieces(text)

    assert all(0 < len(piece) <= PIECE for piece in found_pieces)
    assert "".join("".join(found_pieces).split()) == "".join(text.split())


def test_no_word_is_cut_where_there_is_a_space():
    assert {word for piece in pieces("heron " * 1000) for word in piece.split()} == {"heron"}


def test_a_chinese_sentence_is_not_cut_in_two():
    sentence = "这是一个很长的句子。"

    assert all(piece.endswith("。") for piece in pieces(sentence * 400))


def test_of_a_huge_text_the_beginning_and_the_end_are_kept():
    text = "BEGINNING " + "filler " * 20_000 + "and the question at the END"

    found_pieces = pieces(text)

    assert len(found_pieces) == 20
    assert found_pieces[0].startswith("BEGINNING")
    assert found_pieces[-1].endswith("END")


@given(st.text(max_size=4000))
def test_pieces_of_any_text_are_parts_of_it(text):
    found_pieces = pieces(text)

    assert all(piece and piece in text and len(piece) <= PIECE for piece in found_pieces)
    assert "".join("".join(found_pieces).split()) == "".join(text.split())


async def test_a_turn_is_remembered_and_marked(memories):
    turn = await ended(memories)
    [waiting] = await unremembered(memories)
    assert waiting == turn

    asked, answered = await remember(memories, turn, "lra")

    assert answered.previous == asked.id
    assert await unremembered(memories) == []
    assert set(await found(memories, "where do we meet")) == {asked.content, answered.content}
    assert memories.embedder.asked[0] == (
        "Where do we meet?",
        "Where do we meet?\nAt the old mill.",
    )


async def unremembered(memories):
    return await memories.database.read(lambda tx: store_memories.unremembered(tx, limit=99))


async def test_a_retried_turn_takes_its_own_place(memories):
    await remember(memories, await ended(memories, "t0", "Hello", "Hi"), "lra")
    turn = await ended(memories, answer="At the new bridge.")
    old = await remember(memories, turn, "lra")
    summary = await stored(
        memories, "They meet", kind=MemoryKind.SUMMARY, derived_from=(old[1].id,)
    )
    again = replace(turn, answer="At the old mill.", ended_at=NOON + timedelta(hours=1))

    new = await remember(memories, again, "lra")

    assert [memory.content for memory in new] == ["Where do we meet?", "At the old mill."]
    assert "bridge" not in str(await rows(memories, "SELECT * FROM memories"))
    assert "At the new bridge." not in await found(memories, "bridge")
    # Neither does the vector of its first piece stand for the answer that is gone.
    [(blob,)] = await rows(
        memories, "SELECT vector FROM memory_vectors WHERE memory_id = :n", n=new[0].id
    )
    [expected] = await FakeEmbedder().documents(["Hi\nWhere do we meet?"])
    assert np.allclose(np.frombuffer(blob, np.float16), expected, atol=1e-3)
    # What was derived from it hangs on the new words now.
    gone = await memories.would_forget("me", ids(new[1]))
    assert summary.id in [memory.id for memory in gone.memories]


async def test_a_turn_that_ended_anew_is_read_anew(memories):
    await memories.database.write(lambda tx: add_turn(tx, "t1", TALK))
    await memories.database.write(lambda tx: end_turn(tx, "t1", status=TurnStatus.FAILED))
    turn = await memories.database.read(lambda tx: turns.get(tx, "t1"))
    await remember(memories, turn, "lra")

    def retry(tx):
        move_turn(tx, "t1", TurnStatus.QUEUED)
        turns.claim(tx, "t1")
        now = NOON + timedelta(minutes=9)
        turns.move(tx, turns.get(tx, "t1"), TurnStatus.DONE, now=now, answer="At last.")

    await memories.database.write(retry)

    [again] = await unremembered(memories)
    assert again.answer == "At last."


async def test_the_same_turn_remembered_twice_leaves_one_copy(memories):
    turn = await ended(memories)

    await remember(memories, turn, "lra")
    await remember(memories, turn, "lra")

    assert len(await memories.listed(ME)) == 2
    assert len(await rows(memories, "SELECT rowid FROM memory_words")) == 2


async def test_a_turn_whose_session_was_deleted_meanwhile_is_let_go(memories):
    turn = await ended(memories)
    await memories.database.write(lambda tx: sessions.remove(tx, TALK))

    assert await remember(memories, turn, "lra") == []
    assert await memories.listed(ME) == []


async def test_what_was_heard_of_narrow_scopes_counts_and_of_strangers_does_not(memories):
    private = await stored(memories, SPARE, scope=MemoryScope.AGENT, agent="lra", trust=Trust.TOOL)
    other = await stored(memories, SPARE, Viewer(owner="you"), trust=Trust.WEB)
    turn = await ended(memories, prompt="Where?", answer="It lies under the blue flower pot.")

    _, answered = await remember(memories, turn, "lra", [private.id, other.id, 999])

    assert (answered.trust, answered.scope) == (Trust.TOOL, MemoryScope.AGENT)
    assert [m.id for m in (await memories.show("me", answered.id)).origins] == [private.id]
    clerk = Viewer(owner="me", agent="clerk")
    assert await found(memories, "blue flower pot", clerk) == ["Where?"]


async def test_forgetting_a_source_takes_the_answers_drawn_from_it(memories):
    page = await stored(memories, SPARE, trust=Trust.WEB, source="web:x")
    turn = await ended(memories, prompt="Where?", answer="It lies under the blue flower pot.")
    await remember(memories, turn, "lra", [page.id])

    await memories.forget("me", Selection(source="web:x"), at_once=True)

    assert "flower" not in str(await rows(memories, "SELECT content FROM memories"))
    assert await found(memories, "blue flower pot") == ["Where?"]


async def test_a_long_answer_is_found_by_its_end(memories):
    answer = "Filler sentence number one. " * 150 + "The heron eats frogs."
    turn = await ended(memories, answer=answer)

    made = await remember(memories, turn, "lra")

    assert len(made) > 3
    assert [memory.previous for memory in made] == [None, *(memory.id for memory in made[:-1])]
    [best, *_] = await found(memories, "heron frogs")
    assert best.endswith("The heron eats frogs.")


async def test_a_turn_in_any_script_is_remembered(memories):
    turn = await ended(memories, prompt="猫はどこですか?", answer="Кошка на крыше. \x00 🐈")

    await remember(memories, turn, "lra")

    assert "猫はどこですか?" in await found(memories, "猫")
    assert (await found(memories, "крыше"))[0].startswith("Кошка")


async def test_sessions_of_the_same_name_of_two_owners_are_two_talks(memories):
    turn = await ended(memories)
    await remember(memories, turn, "lra")

    [first, _] = await memories.write_many("you", conversation_drafts(a_turn("t9"), "lra", []))

    assert first.previous is None
    assert first.session_id == TALK
