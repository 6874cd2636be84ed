"""Nothing of another owner is found, counted, named or changed, whatever is asked."""

import asyncio
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.memory.desk import NOON, TALK, desk, everything, rows, said

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryKind,
    MemoryScope,
    Query,
    Selection,
    Similar,
    Trust,
    Viewer,
)
from long_running_agents.errors import LraError

MARK = "zebrafish"
"""A word in everything of the other owner's."""

MINE = [
    MemoryDraft(content="My heron eats frogs at the mill"),
    MemoryDraft(content="The mill opens at nine on Sundays", source="file:mill", trust=Trust.TOOL),
    MemoryDraft(
        content="A lesson about herons",
        kind=MemoryKind.LESSON,
        scope=MemoryScope.AGENT,
        agent="poet",
    ),
    said("Where is the mill?"),
    said("By the lake, near the old bridge.", actor="lra", trust=Trust.AGENT),
    MemoryDraft(content="Herons are grey", event_at=NOON - timedelta(days=300)),
]
THEIRS = [
    *(replace(draft, content=f"{draft.content} {MARK}") for draft in MINE),
    MemoryDraft(content=f"{MARK} heron mill frogs lake bridge grey nine", source=f"web:{MARK}"),
    said(f"o1 o2 owner {MARK} NEAR OR AND NOT", session=SessionId("secret-talk"), actor="Mallory"),
    MemoryDraft(
        content=f"{MARK} plans", scope=MemoryScope.SESSION, session_id=SessionId("secret-talk")
    ),
]


class World:
    """A home that two owners share, kept open for many examples."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.opened = desk(Path(self.folder.name) / "home")
        self.memories = self.run(self.opened.__aenter__())
        # Mixed, so that numbers tell nothing.
        for mine, theirs in zip(MINE, THEIRS, strict=False):
            self.run(self.memories.write_many("you", [theirs]))
            self.run(self.memories.write_many("me", [mine]))
        self.run(self.memories.write_many("you", THEIRS[len(MINE) :]))
        gone = self.run(self.memories.forget("you", Selection(source=f"web:{MARK}")))
        self.batch = gone.batch
        self.numbers = frozenset(
            number
            for [number] in self.run(
                rows(self.memories, "SELECT id FROM memories WHERE owner='you'")
            )
        )
        self.theirs = self.everything_of("you")

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def everything_of(self, owner):
        queries = (
            "SELECT * FROM memories WHERE owner = :o ORDER BY id",
            "SELECT * FROM memory_trash WHERE owner = :o ORDER BY memory_id",
            (
                "SELECT v.* FROM memory_vectors v JOIN memories m ON m.id = v.memory_id"
                " WHERE m.owner = :o ORDER BY v.memory_id"
            ),
            (
                "SELECT w.rowid, w.* FROM memory_words w JOIN memories m ON m.id = w.rowid"
                " WHERE m.owner = :o ORDER BY 1"
            ),
            (
                "SELECT e.* FROM memory_entries e JOIN memories m ON m.id = e.memory_id"
                " WHERE m.owner = :o ORDER BY 1"
            ),
        )
        return [self.run(rows(self.memories, query, o=owner)) for query in queries]

    def close(self):
        self.run(self.opened.__aexit__(None, None, None))
        self.loop.close()
        self.folder.cleanup()


@pytest.fixture(scope="module")
def world():
    opened = World()
    yield opened
    opened.close()


CRAFTED = [
    MARK,
    f"{MARK} heron",
    f'"{MARK}"',
    f"{MARK}*",
    'owner : "o1"',
    "owner : o2",
    "o1",
    "o2 o1 o3",
    'words : "heron" OR owner : "o2"',
    "heron NEAR/5 mill",
    "heron AND NOT mill",
    '" OR 1=1 --',
    "'; DROP TABLE memories; --",
    "' UNION SELECT content FROM memories --",
    "(((((",
    "^heron",
    "{words owner} : heron",
    "-heron",
    "heron\x00mill",
    "\x00",
    "\ud800 heron",
    "?!.,;:",
    "",
    "   ",
    "*",
    "%",
    "_",
    "a" * 100_000,
    f"{MARK} " * 12_000,
    "o2 " * 30_000,
    "Mallory",
    "what did Mallory say in secret-talk?",
    "last May",
    "鱼 zebrafish 魚",
    "\u200b\u202e",
    "NEAR",
]
QUESTIONS = st.one_of(
    st.sampled_from(CRAFTED),
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [MARK, "heron", "mill", '"', "'", "o1", "o2", "owner", ":", "OR", "*", "("]
        ),
        max_size=8,
    ).map(" ".join),
)
NAMES = st.sampled_from(
    ["secret-talk", "talk", "", "poet", "Mallory", "mallory", "user", "you", MARK, "\udcff"]
)
MAYBE = st.none() | NAMES
MOMENTS = st.none() | st.integers(-400, 400).map(lambda days: NOON + timedelta(days=days))
QUERIES = st.builds(
    Query,
    text=QUESTIONS,
    limit=st.sampled_from([0, 1, 5, 50, 10_000]),
    kinds=st.frozensets(st.sampled_from(list(MemoryKind)), max_size=3),
    session_id=MAYBE,
    not_session=MAYBE,
    actor=MAYBE,
    source=st.none()
    | st.sampled_from(["user", "file:mill", f"web:{MARK}", "%", "' OR 1=1 --", "\udcff"]),
    least_trust=st.none() | st.sampled_from(list(Trust)),
    since=MOMENTS,
    until=MOMENTS,
    as_of=MOMENTS,
    fusion=st.sampled_from(["weights", "rrf"]),
)
VIEWERS = st.builds(Viewer, owner=st.just("me"), agent=MAYBE, session_id=MAYBE)
MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def innocent(told):
    assert MARK not in str(told)


@MANY
@given(viewer=VIEWERS, query=QUERIES)
def test_no_question_and_no_filter_brings_up_anothers_memory(world, viewer, query):
    result = world.run(world.memories.find(viewer, query))

    innocent(result)
    assert all(hit.memory.owner == "me" for hit in result.hits)


SELECTIONS = st.builds(
    Selection,
    ids=st.none()
    | st.frozensets(st.integers(-2, 40) | st.sampled_from([2**63, 10**40]), max_size=9),
    session_id=MAYBE,
    source=st.none()
    | st.sampled_from(["user", f"web:{MARK}", "conversation", "%", "' OR 1=1 --", "\udcff"]),
    kind=st.none() | st.sampled_from(list(MemoryKind)),
    before=MOMENTS,
)


@MANY
@given(viewer=VIEWERS, selection=SELECTIONS, number=st.integers(-3, 40), again=st.booleans())
def test_no_list_no_number_and_no_forgetting_reaches_anothers_memory(
    world, viewer, selection, number, again
):
    memories = world.memories
    innocent(world.run(memories.listed(viewer, selection, history=again, limit=10_000)))
    innocent(world.run(memories.stats("me")))
    mine = world.everything_of("me")
    for attempt in (
        lambda: memories.show("me", number),
        lambda: memories.undo("me", world.batch),
        lambda: memories.would_forget("me", selection),
        lambda: forgotten_and_back(memories, selection),
    ):
        try:
            innocent(world.run(attempt()))
        except LraError as error:
            innocent(error)
    assert world.everything_of("you") == world.theirs
    assert [len(table) for table in world.everything_of("me")] == [len(table) for table in mine]


async def forgotten_and_back(memories, selection):
    gone = await memories.forget("me", selection)
    if gone.batch is not None:
        await memories.undo("me", gone.batch)
    return gone


DRAFTS = st.builds(
    MemoryDraft,
    content=st.sampled_from(
        [draft.content for draft in THEIRS] + ["My heron eats fish", f"heron {MARK}", "o2 owner"]
    ),
    kind=st.sampled_from([MemoryKind.FACT, MemoryKind.NOTE]),
    source=st.sampled_from(["user", "file:mill"]),
    derived_from=st.lists(st.integers(0, 40), max_size=4).map(tuple),
    session_id=MAYBE,
)


@MANY
@given(draft=DRAFTS, number=st.none() | st.integers(-1, 40), both=st.booleans())
def test_no_write_meets_merges_links_or_corrects_anothers_memory(world, draft, number, both):
    memories, viewer = world.memories, Viewer(owner="me")
    written = None
    try:
        written = world.run(memories.write(viewer, draft, supersedes=number, keep_both=both))
    except LraError as error:
        innocent(error)
        assert number is not None
    if isinstance(written, Similar):
        assert all(memory.owner == "me" for memory in written.memories)
    elif written is not None and hasattr(written, "memory"):
        assert written.memory.owner == "me"
        shown = world.run(memories.show("me", written.memory.id))
        linked = (*shown.origins, *shown.derived, *shown.history)
        assert all(memory.owner == "me" for memory in linked)
        chosen = Selection(ids=frozenset({written.memory.id}))
        world.run(memories.forget("me", chosen, at_once=True))
    assert world.everything_of("you") == world.theirs


QUESTIONS_OF_MINE = [
    "heron frogs",
    "where is the mill",
    "grey herons at nine",
    "what did the user say about the lake?",
    "old bridge last year",
    "lesson",
]


@pytest.mark.anyio
async def test_my_answers_and_their_scores_are_the_same_whoever_else_lives_here(tmp_path):
    viewer = Viewer(owner="me", agent="poet", session_id=TALK)
    told = []
    for number, strangers in enumerate(([], THEIRS, THEIRS * 40)):
        async with desk(tmp_path / f"home{number}") as memories:
            if strangers:
                await memories.write_many("you", strangers)
            await memories.write_many("me", MINE)
            found = [
                await memories.find(viewer, Query(text=question, fusion=fusion))
                for question in QUESTIONS_OF_MINE
                for fusion in ("weights", "rrf")
            ]
        told.append(
            [
                ([(hit.memory.content, hit.score, dict(hit.why)) for hit in one.hits], one.degraded)
                for one in found
            ]
        )

    assert told[0] == told[1] == told[2]
    assert any(hits for hits, _ in told[0])


@pytest.mark.anyio
async def test_words_that_a_stranger_uses_all_the_time_crowd_nothing_out(tmp_path):
    async with desk(tmp_path / "home", silent=True) as memories:
        await memories.write_many("me", [MemoryDraft(content="The heron sleeps in the reeds")])
        strangers = [MemoryDraft(content=f"heron reeds {number}") for number in range(6000)]
        await memories.write_many("you", strangers)

        result = await memories.find(Viewer(owner="me"), Query(text="heron in the reeds"))

        assert [hit.memory.content for hit in result.hits] == ["The heron sleeps in the reeds"]


@pytest.mark.anyio
async def test_what_i_make_go_at_once_leaves_anothers_alone(tmp_path):
    async with desk(tmp_path / "home") as memories:
        await memories.write_many("you", THEIRS)
        await memories.write_many("me", MINE)
        await memories.forget("you", Selection(source="file:mill"))

        for kind in MemoryKind:
            await memories.forget("me", Selection(kind=kind), at_once=True)

        assert await memories.listed(Viewer(owner="me"), history=True) == []
        viewer = Viewer(owner="you", agent="poet", session_id=SessionId("secret-talk"))
        assert len(await memories.listed(viewer)) == len(THEIRS) - 1
        assert (await memories.stats("you")).trash == 1
        found = await memories.find(viewer, Query(text="Mallory", actor="mallory"))
        assert len(found.hits) == 1
        assert MARK in await everything(memories)
