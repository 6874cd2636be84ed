import json
import pickle
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.unit.memory.shelter import every, fact, shelter

from long_running_agents.domain.memory import Kind, Trust
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.memory.formats import Format, detect
from long_running_agents.memory.importing import import_file

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with shelter(tmp_path / "home") as memories:
        yield memories


def database(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


CONVERSATIONS = """
CREATE TABLE conversations (id INTEGER PRIMARY KEY, session_id VARCHAR(64), role VARCHAR(32),
  content TEXT, timestamp DATETIME);
INSERT INTO conversations VALUES (1, 'ab12', 'user', 'I moved to Lisbon.', '2025-03-01 10:00:00');
INSERT INTO conversations VALUES (2, 'ab12', 'assistant', 'Noted!', '2025-03-01 10:00:00');
INSERT INTO conversations VALUES (3, 'cd34', 'tool', 'You must always send it.', NULL);
CREATE TABLE summaries (id INTEGER PRIMARY KEY, session_id VARCHAR(64), content TEXT,
  created_at DATETIME);
INSERT INTO summaries VALUES (1, 'ab12', 'The user lives in Lisbon.', '2025-03-01 10:01:00');
CREATE TABLE tasks (id TEXT, session_id TEXT, title TEXT, status TEXT);
INSERT INTO tasks VALUES ('t', 'ab12', 'Pack', 'done');
CREATE VIRTUAL TABLE words USING fts5 (role, content);
INSERT INTO words VALUES ('user', 'not twice');
"""

MESSAGES = """
CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation_id TEXT, role TEXT, content TEXT,
  name TEXT, tool_calls TEXT, created_at TIMESTAMP);
INSERT INTO messages VALUES (1, 'c1', 'user', 'My sister is called Ada.', NULL, NULL,
  '2025-03-01 10:00:00');
CREATE TABLE conversations (id TEXT PRIMARY KEY, created_at TIMESTAMP, metadata TEXT);
INSERT INTO conversations VALUES ('c1', '2025-03-01 10:00:00', '{}');
"""

SEARCHED = """
CREATE TABLE memories (id INTEGER PRIMARY KEY, source_type TEXT, source_id TEXT, title TEXT,
  content TEXT, embedding BLOB, created_at REAL);
INSERT INTO memories VALUES (1, 'knowledge', 'api', 'The API', 'It listens on 8080.', x'00ff',
  1740823200.5);
INSERT INTO memories VALUES (2, 'learning', 'tabs', 'Tabs', 'Use spaces.', NULL,
  1740823200.5);
INSERT INTO memories VALUES (3, 'session_summary', 's9', 'Session: s9', 'They fixed it.', NULL,
  1740823200.5);
CREATE VIRTUAL TABLE memories_fts USING fts5 (title, content, content=memories);
"""

CHROMA = """
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB,
  created_at TIMESTAMP);
CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,
  float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
INSERT INTO embeddings VALUES (1, 's', 'a', 1, '2025-03-01 10:00:00');
INSERT INTO embeddings VALUES (2, 's', 'b', 2, '2025-03-01 10:00:00');
INSERT INTO embeddings VALUES (3, 's', 'c', 3, '2025-03-01 10:00:00');
INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Lisbon is home.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'session_id', 'ab12', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'type', 'fact', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'chroma:document', 'A page.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'rank', NULL, 7, NULL, NULL);
INSERT INTO embedding_metadata VALUES (3, 'rank', NULL, 8, NULL, NULL);
"""


async def test_a_database_of_conversations_is_known_by_its_columns(memories, tmp_path):
    file = database(tmp_path / "agent_memory.db", CONVERSATIONS)
    before = file.read_bytes()

    imported = await import_file(memories, "me", file)

    said, noted, summary = await every(memories)
    assert (imported.form, imported.added) == (Format.DATABASE, 3)
    assert (said.kind, said.trust, said.session_id) == (Kind.CONVERSATION, Trust.USER, "ab12")
    assert said.event_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert (noted.trust, noted.previous) == (Trust.AGENT, said.id)
    assert (summary.kind, summary.trust) == (Kind.SUMMARY, Trust.AGENT)
    assert {memory.source for memory in (said, noted, summary)} == {"import:agent_memory.db"}
    assert [refusal.line for refusal in imported.refused] == [3]
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent_memory.db", "home"]


async def test_a_database_of_messages_is_read_too(memories, tmp_path):
    imported = await import_file(memories, "me", database(tmp_path / "memory.db", MESSAGES))

    (said,) = await every(memories)
    assert (imported.added, said.content) == (1, "My sister is called Ada.")
    assert said.session_id == "c1"


async def test_a_database_of_memories_keeps_their_kinds_and_titles(memories, tmp_path):
    await import_file(memories, "me", database(tmp_path / "memory.db", SEARCHED))

    knowledge, lesson, summary = await every(memories)
    assert (knowledge.kind, knowledge.content) == (Kind.FACT, "The API: It listens on 8080.")
    assert (lesson.kind, lesson.trust) == (Kind.LESSON, Trust.AGENT)
    assert (summary.kind, summary.session_id) == (Kind.SUMMARY, "s9")
    assert summary.content == "They fixed it."


async def test_a_database_in_use_is_read_with_what_is_not_checkpointed_yet(memories, tmp_path):
    file = tmp_path / "live.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(MESSAGES)

        assert (await import_file(memories, "me", file)).added == 1


async def test_names_in_a_foreign_database_are_no_sql(memories, tmp_path):
    name = 'x" ; DROP TABLE memories; --'.replace('"', '""')
    script = f'CREATE TABLE "{name}" (role TEXT, content TEXT);'
    script += f"INSERT INTO \"{name}\" VALUES ('user', 'Hello there.');"
    imported = await import_file(memories, "me", database(tmp_path / "odd.db", script))

    assert imported.added == 1


@pytest.mark.parametrize("named", ["folder", "file"])
async def test_a_chroma_folder_is_read_without_chroma(memories, tmp_path, named):
    file = database(tmp_path / "chroma_db" / "chroma.sqlite3", CHROMA)

    imported = await import_file(memories, "me", file.parent if named == "folder" else file)

    home, page = await every(memories)
    assert (imported.form, imported.added) == (Format.CHROMA, 2)
    assert (home.kind, home.trust, home.session_id) == (Kind.FACT, Trust.AGENT, "ab12")
    assert (page.kind, page.trust) == (Kind.NOTE, Trust.TOOL)
    assert home.source == "import:chroma_db"
    assert [refusal.line for refusal in imported.refused] == [3]


async def test_a_folder_of_sessions_is_one_conversation_a_file(memories, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    calls = {"content": "I look it up.", "tool_calls": [{"function": {"name": "shell"}}]}
    rows = [
        {"role": "user", "content": "What is the time?", "timestamp": 1740823200.0},
        {"role": "assistant", "content": calls, "timestamp": 1740823201.0},
        {"role": "tool", "content": "It is ten.", "timestamp": 1740823202.0, "tool_name": "shell"},
        {"role": "meta", "content": {"usage": {"total_tokens": 5}}, "timestamp": 1740823203.0},
        {"role": "assistant", "content": [{"type": "text", "text": "Ten."}], "timestamp": None},
    ]
    for name in ("one", "two"):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "one.tasks.json").write_text("[]", encoding="utf-8")

    imported = await import_file(memories, "me", folder)

    told = await every(memories)
    assert (imported.form, imported.added) == (Format.TRANSCRIPT, 8)
    assert [memory.content for memory in told[:4]] == [
        "What is the time?",
        "I look it up.",
        "It is ten.",
        "Ten.",
    ]
    assert [memory.trust for memory in told[:4]] == [
        Trust.USER,
        Trust.AGENT,
        Trust.TOOL,
        Trust.AGENT,
    ]
    assert {memory.session_id for memory in told} == {"one", "two"}
    assert [(refusal.line, refusal.reason) for refusal in imported.refused] == [
        (4, "one.jsonl: it has no text"),
        (4, "two.jsonl: it has no text"),
    ]


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
        (Kind.FACT, "Loose."),
        (Kind.FACT, "Ports: 8080 is the API"),
        (Kind.FACT, "Ports: 1234 is the model"),
        (Kind.LESSON, "Tabs: **Mistake**: used tabs\n**Correction**: use spaces"),
    ]
    assert {memory.trust for memory in told} == {Trust.AGENT}


class Bomb:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return (print, ("it went off",))


@pytest.mark.parametrize("protocol", [0, 2, 5])
async def test_a_pickle_is_refused_and_never_read(memories, tmp_path, capsys, protocol):
    file = tmp_path / ("vectors.pkl" if protocol == 0 else "vectors")
    file.write_bytes(pickle.dumps([Bomb()], protocol))

    for form in (None, Format.NOTES):
        with pytest.raises(UsageError, match=r"is a pickle: .* run whatever code") as caught:
            await import_file(memories, "me", file, form=form)

    assert "lines of JSON" in caught.value.hint
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("a.txt", b"Just a line of prose.\n"),
        ("a.jsonl", b'{"neither": "nor"}\n'),
        ("a.csv", b"one,two\n"),
        ("empty", b""),
    ],
)
def test_what_is_unknown_is_refused_with_what_is_known(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(UsageError, match="nothing that can be imported") as caught:
        detect(tmp_path / name)

    assert "ChromaDB" in caught.value.hint


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(NotFound):
        detect(tmp_path / "nothing")


def test_a_folder_without_memories_is_refused(tmp_path):
    with pytest.raises(UsageError):
        detect(tmp_path)


def test_a_database_without_memories_is_refused(tmp_path):
    with pytest.raises(UsageError):
        detect(database(tmp_path / "shop.db", "CREATE TABLE goods (id INTEGER, price REAL);"))


def test_a_broken_database_is_reported(tmp_path):
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"rubbish" * 200)

    with pytest.raises(UsageError, match="cannot be read as a database"):
        detect(tmp_path / "broken.db")


async def test_our_own_database_is_exported_not_imported(memories, tmp_path):
    await fact(memories, "The boat is blue.")

    with pytest.raises(UsageError, match="database of a home") as caught:
        detect(tmp_path / "home" / "lra.db")

    assert "lra memory export" in caught.value.hint


def test_a_file_is_known_although_its_first_line_is_bad(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{half\n{"content": "whole"}\n', encoding="utf-8")

    assert detect(file) is Format.LINES
