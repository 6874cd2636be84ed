import pickle

import pytest
from tests.unit.memory.shelter import every, fact, shelter

from long_running_agents.domain.memory import MemoryKind, Trust
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.memory.transfer import Format, detect, import_file

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with shelter(tmp_path / "home") as memories:
        yield memories


async def test_knowledge_becomes_facts_and_learnings_become_lessons(memories, tmp_path):
    knowledge = tmp_path / "knowledge.md"
    knowledge.write_text(
        "# Agent Knowledge\n\nLoose.\n\n## Ports\n*Source: session s1 | Confidence: high*\n\n"
        "- 8080 is the API\n- 1234 is the model\n",
        encoding="utf-8",
    )
    learnings = tmp_path / "learnings.md"
    learnings.write_text(
        "# Agent Learnings\n\n## Tabs\n*Source: session s1 | Category: other*\n\n"
        "**Mistake**: used tabs\n\n**Correction**: use spaces\n",
        encoding="utf-8",
    )

    await import_file(memories, "me", knowledge)
    await import_file(memories, "me", learnings)

    told = await every(memories)
    assert [(memory.kind, memory.content) for memory in told] == [
        (MemoryKind.FACT, "Loose."),
        (MemoryKind.FACT, "Ports: 8080 is the API"),
        (MemoryKind.FACT, "Ports: 1234 is the model"),
        (MemoryKind.LESSON, "Tabs: **Mistake**: used tabs\n**Correction**: use spaces"),
    ]
    assert {memory.trust for memory in told} == {Trust.AGENT}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("a.txt", b"Just a line of prose.\n"),
        ("a.jsonl", b'{"neither": "nor"}\n'),
        ("a.csv", b"one,two\n"),
        ("empty", b""),
        ("vectors.pkl", pickle.dumps(["a", "b"])),
        ("shop.db", b"SQLite format 3\0" + b"rubbish" * 200),
    ],
)
def test_what_is_unknown_is_refused_with_what_is_known(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(UsageError, match="nothing that can be imported") as caught:
        detect(tmp_path / name)

    assert "JSON lines" in caught.value.hint
    assert "Markdown" in caught.value.hint


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        detect(tmp_path / "nothing")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="nothing that can be imported"):
        detect(tmp_path)


async def test_a_database_is_refused_whatever_it_is_said_to_be(memories, tmp_path):
    await fact(memories, "The boat is blue.")

    for form in (None, Format.LINES, Format.NOTES):
        with pytest.raises(UsageError, match="nothing that can be imported") as caught:
            await import_file(memories, "me", tmp_path / "home" / "lra.db", form=form)

    assert "lra memory export" in caught.value.hint
    assert len(await every(memories)) == 1


def test_a_file_is_known_although_its_first_line_is_bad(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{half\n{"content": "whole"}\n', encoding="utf-8")

    assert detect(file) is Format.LINES
