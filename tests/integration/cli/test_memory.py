"""What is remembered, from the outside."""

import json
import subprocess
import sys

import anyio
import pytest

from long_running_agents.domain.memory import MemoryDraft, Trust, Viewer
from long_running_agents.domain.session import MINE
from long_running_agents.domain.tool import GatedCall
from long_running_agents.home import Home
from long_running_agents.testing import make_app


@pytest.fixture
def known(lra):
    """A home that remembers a dog, later a second one, and a town."""
    lra("memory", "add", "My dog is called Rex")
    lra("memory", "add", "I live in Lisbon", "--kind", "note")
    return lra


def found(lra, *arguments):
    return [each["memory"] for each in json.loads(lra("memory", "search", *arguments)[1])["hits"]]


def numbers(out):
    return [line.split("\t")[0] for line in out.splitlines()]


def test_nothing_is_remembered_in_an_empty_home(lra):
    assert lra("memory", "search", "dog") == (0, "", "Nothing that is remembered answers this.\n")
    assert lra("memory", "list", "--json")[:2] == (0, "[]\n")
    assert "Nothing is remembered yet" in lra("memory", "list")[2]
    assert lra("memory", "show", "1")[0] == 3


def test_what_was_added_is_found_and_says_why(known):
    code, out, err = known("memory", "search", "what", "is my dog's name?")
    assert code == 0
    assert err == ""
    number, kind, who, _, text = out.splitlines()[0].split("\t")
    assert (number, kind, who, text) == ("#1", "fact", "you", "My dog is called Rex")
    assert "score 1.00" in known("memory", "search", "dog", "--why")[1]
    assert found(known, "dog", "--json")[0]["source"] == "user"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--kind", "note"], []),
        (["--since", "1d"], [1]),
        (["--until", "1d"], []),
        (["--as-of", "1d"], []),
        (["--source", "web:nowhere"], []),
        (["--actor", "user"], [1]),
        (["--session", "s"], []),
        (["--fusion", "rrf"], [1]),
    ],
)
def test_filters_come_before_the_ranking(known, filters, expected):
    hits = [each["id"] for each in found(known, "dog", "--json", *filters)]
    assert [number for number in hits if number == 1] == expected


def test_a_query_is_read_from_each_line_of_the_input(known):
    code, out, _ = known("memory", "search", "-n", "1", stdin="dog\n\nLisbon\n")
    assert code == 0
    assert numbers(out) == ["#1", "#2"]


def test_the_module_is_the_same_search(known, environment):
    command = [sys.executable, "-m", "long_running_agents.memory"]
    one = subprocess.run(
        [*command, "Where do I live?"], env=environment, capture_output=True, text=True, check=True
    )
    assert numbers(one.stdout)[0] == "#2"
    several = subprocess.run(
        command, env=environment, input="Lisbon\n", capture_output=True, text=True, check=True
    )
    assert numbers(several.stdout)[0] == "#2"


def test_without_an_embedder_the_search_says_that_it_saw_half(known, monkeypatch):
    monkeypatch.setenv("LRA_MEMORY__EMBEDDER", "off")
    code, out, err = known("memory", "search", "dog")
    assert code == 0
    assert numbers(out) == ["#1"]
    assert "there is no embedder" in err


def test_memories_are_listed_latest_first(known):
    assert numbers(known("memory", "list")[1]) == ["#2", "#1"]
    assert numbers(known("memory", "list", "--kind", "fact")[1]) == ["#1"]
    assert numbers(known("memory", "list", "-n", "1", "--offset", "1")[1]) == ["#1"]
    assert "Nothing of that" in known("memory", "list", "--source", "x")[2]


def test_a_sessions_memories_are_listed_under_the_old_name_too(lra):
    lra("ask", "my cat is called Ada", "--session", "s")
    lra("ask", "hello", "--session", "other")
    listed = lra("list-memory", "-s", "s")[1]
    assert "my cat is called Ada" in listed
    assert "hello" not in listed
    assert lra("memory", "list", "--session", "s")[1] == listed


def test_what_came_to_mind_is_told_and_exported(known):
    _, out, err = known("ask", "what is my dog called?", "--session", "s")
    assert out == "Hello there, friend.\n"
    assert 'recalled #1 "My dog is called Rex" (you, ' in err
    exported = known("sessions", "export", "s")[1]
    assert "- recalled #1 (said by user, source user, " in exported
    assert "): My dog is called Rex\n" in exported


def test_something_similar_is_shown_with_what_to_type_next(known):
    code, out, err = known("memory", "add", "My dog is called Max")
    assert code == 1
    assert numbers(out) == ["#1"]
    assert "lra memory add 'My dog is called Max' --supersedes 1" in err
    assert "--keep-both" in err
    assert known("memory", "add", "My dog is called Max", "--keep-both")[:2] == (0, "#3\n")
    similar = json.loads(known("memory", "add", "My dog is called Tim", "--json")[1])
    assert similar["status"] == "similar"


def test_the_same_is_not_written_twice(known):
    code, out, err = known("memory", "add", "my dog is called rex")
    assert (code, out) == (0, "#1\n")
    assert "Known already" in err
    assert "2 times" in known("memory", "show", "1")[1]


def test_a_refused_memory_is_denied_with_its_reason(known):
    code, out, err = known("memory", "add", "my password is hunter22")
    assert (code, out) == (4, "")
    assert "secret" in err


def test_a_memory_is_switched_off_and_on(known):
    code, out, err = known("memory", "disable", "#1")
    assert (code, out) == (0, "#1\n")
    assert "lra memory enable 1" in err
    assert 1 not in [each["id"] for each in found(known, "dog", "--json")]
    assert found(known, "dog", "--disabled", "--json")[0]["id"] == 1
    assert "fact, off" in known("memory", "list")[1]
    assert "lra memory enable 1" in known("memory", "show", "1")[1]
    assert json.loads(known("memory", "enable", "1", "--json")[1])["enabled"]
    assert found(known, "dog", "--json")[0]["id"] == 1


def test_a_correction_keeps_history(known):
    code, out, err = known("memory", "correct", "#1", "My dog is called Max")
    assert (code, out) == (0, "#3\n")
    assert "It replaces #1" in err
    assert "My dog is called Rex" in known("memory", "show", "3")[1]
    old = json.loads(known("memory", "show", "1", "--json")[1])["memory"]
    assert old["superseded_by"] == 3
    assert "replaced by #3" in known("memory", "show", "1")[1]
    assert numbers(known("memory", "list")[1]) == ["#3", "#2"]
    assert numbers(known("memory", "list", "--history")[1]) == ["#3", "#2", "#1"]
    assert known("memory", "correct", "1", "My dog is called Tim")[0] == 2


def test_a_memory_of_one_session_is_seen_there_alone(lra):
    added = lra("memory", "add", "The code word is tulip", "--scope", "session", "-s", "s")
    assert added[0] == 0
    assert found(lra, "tulip", "--json") == []
    assert len(found(lra, "tulip", "--json", "--session", "s")) == 1
    assert lra("memory", "add", "x y", "--scope", "session")[0] == 2
    assert lra("memory", "add", "x y", "-s", "s")[0] == 2


def test_forgetting_shows_first_and_needs_a_yes(known):
    code, out, err = known("memory", "forget", "--query", "dogs")
    assert code == 2
    assert numbers(out) == ["#1"]
    assert "--yes" in err
    code, out, _ = known("memory", "forget", "1", "--dry-run", "--json")
    assert code == 0
    assert [each["id"] for each in json.loads(out)["memories"]] == [1]
    assert numbers(known("memory", "list")[1]) == ["#2", "#1"]


def test_what_was_forgotten_comes_back(known):
    code, _, err = known("memory", "forget", "1", "--yes")
    assert code == 0
    assert 1 not in [each["id"] for each in found(known, "dog", "--json")]
    [batch] = json.loads(known("memory", "undo", "--json")[1])
    assert batch["memories"] == 1
    assert f"lra memory undo {batch['batch']}" in err
    assert numbers(known("memory", "undo", batch["batch"])[1]) == ["#1"]
    assert found(known, "dog", "--json")[0]["id"] == 1
    assert "Nothing can be undone" in known("memory", "undo")[2]
    assert known("memory", "undo", batch["batch"])[0] == 3


def test_what_was_forgotten_for_good_does_not(known):
    code, _, err = known("memory", "forget", "1", "--now", "--yes")
    assert code == 0
    assert "cannot be undone" in err
    assert known("memory", "undo", "--json")[1] == "[]\n"


def test_conditions_of_forgetting_narrow_each_other(known):
    for conditions in (
        ["--query", "unicorn"],
        ["1", "--query", "Lisbon"],
        ["--query", "dog", "--source", "web:x"],
        ["--before", "1d"],
        ["--session", "s"],
    ):
        code, out, err = known("memory", "forget", *conditions, "--yes")
        assert (code, out) == (0, "")
        assert "Nothing like that" in err
    assert numbers(known("memory", "list")[1]) == ["#2", "#1"]
    assert known("memory", "forget", "--source", "user", "--yes")[0] == 0
    assert known("memory", "list", "--json")[1] == "[]\n"


def test_what_a_server_or_a_tool_told_is_forgotten_by_where_it_came_from(lra, tmp_path):
    told = (
        GatedCall(tool="look", server="notes"),
        GatedCall(tool="list", server="notes"),
        GatedCall(tool="look", server="notes2"),
        GatedCall(tool="web_search", args={"query": "herons"}),
        GatedCall(tool="web_search_more", args={"query": "herons"}),
        GatedCall(tool="shell"),
    )

    async def write():
        async with make_app(tmp_path / "home") as app:
            for number, call in enumerate(told):
                draft = MemoryDraft(content=f"Bird {number} is {'x' * number}", trust=Trust.TOOL,
                              source=call.source)  # fmt: skip
                await app.memories.write(Viewer(owner=MINE), draft, keep_both=True)

    anyio.run(write)
    for source, gone in (
        ("mcp:notes/list", [2]),
        ("mcp:notes", [1]),
        ("mcp:notes2", [3]),
        ("tool:web_search", [4]),
        ("tool:web_search_more/herons", [5]),
        ("tool:shell", [6]),
    ):
        out = lra("memory", "forget", "--source", source, "--yes", "--json")[1]
        assert [each["id"] for each in json.loads(out)["memories"]] == gone, source


def test_forgetting_by_words_reaches_every_scope_and_script(lra):
    lra("memory", "add", "The code word is tulip", "--scope", "session", "-s", "s")
    lra("memory", "add", "Tulips grow here", "--scope", "agent")
    lra("memory", "add", "\u6211\u7684\u72d7\u53eb\u65fa\u8d22")
    gone = lra("memory", "forget", "--query", "tulip", "--yes", "--json")[1]
    assert [each["id"] for each in json.loads(gone)["memories"]] == [1, 2]
    assert lra("memory", "forget", "--query", "\u65fa\u8d22", "--yes")[0] == 0
    assert lra("memory", "list", "--json")[1] == "[]\n"


def test_another_owner_sees_nothing_and_forgets_nothing(known):
    other = ["memory", "--owner", "eve"]
    assert json.loads(known(*other, "search", "dog", "--json")[1])["hits"] == []
    assert known(*other, "list", "--history", "--json")[1] == "[]\n"
    assert known(*other, "show", "1")[0] == 3
    assert known(*other, "export")[1] == ""
    assert known(*other, "correct", "1", "x y z")[0] == 3
    assert known(*other, "forget", "1", "--yes")[0] == 3
    assert "Nothing like that" in known(*other, "forget", "--query", "dog", "--yes")[2]
    assert "Nothing like that" in known(*other, "forget", "--source", "user", "--yes")[2]
    _, _, err = known("memory", "forget", "1", "--yes")
    batch = err.split("undo ")[1].split("'")[0]
    assert known(*other, "undo", batch)[0] == 3
    assert json.loads(known(*other, "stats", "--json")[1])["trash"] == 0


def test_a_home_says_how_much_it_remembers(known):
    counted = json.loads(known("memory", "stats", "--json")[1])
    assert counted["counts"] == {"fact": 1, "note": 1}
    assert counted["missing"] == 0
    assert counted["embedder"].startswith("bundled:")
    assert "memories\t2\n" in known("memory", "stats")[1]


def test_an_index_is_made_again(known):
    assert known("memory", "reindex")[:2] == (0, "2 memories are indexed.\n")
    assert found(known, "dog", "--json")[0]["id"] == 1


def test_memories_go_from_home_to_home(known, tmp_path):
    known("memory", "correct", "1", "My dog is called Max")
    file = tmp_path / "memories.jsonl"
    code, out, err = known("memory", "export", "-o", str(file))
    assert (code, out) == (0, "")
    assert "3" in err
    assert file.stat().st_mode & 0o777 == 0o600
    assert known("memory", "export")[1] == file.read_text()
    other = ["--home", str(tmp_path / "other"), "memory"]
    rehearsed = json.loads(known(*other, "import", str(file), "--dry-run", "--json")[1])
    assert (rehearsed["added"], rehearsed["form"]) == (3, "export")
    assert known(*other, "list", "--json")[1] == "[]\n"
    done = known(*other, "import", str(file))[1]
    assert done == "Added 3, known already 0, refused 0.\n"
    assert "known already 3" in known(*other, "import", str(file))[1]
    assert "My dog is called Max" in known(*other, "search", "dog")[1]
    assert known(*other, "export", "-o", str(tmp_path / "no" / "x"))[0] == 75


def test_what_an_import_refuses_is_told_line_by_line(lra, tmp_path):
    file = tmp_path / "lines.jsonl"
    file.write_text('{"content": "I live in Lisbon"}\n{"content": "my password is hunter22"}\n')
    code, out, err = lra("memory", "import", str(file), "--form", "lines")
    assert (code, out) == (0, "Added 1, known already 0, refused 1.\n")
    assert "line 2: it holds a secret" in err
    assert lra("memory", "import", str(tmp_path / "nothing"))[0] == 3
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    code, _, err = lra("memory", "import", str(tmp_path / "x.bin"))
    assert code == 2
    assert "two formats: JSON lines" in err
    assert "Markdown" in err


def test_looking_works_beside_an_owner_and_changing_does_not(known, tmp_path):
    with Home(tmp_path / "home").owned():
        for arguments in (
            ["search", "dog"],
            ["list"],
            ["show", "1"],
            ["stats"],
            ["undo"],
            ["export"],
        ):
            assert known("memory", *arguments)[0] == 0
        for arguments in (
            ["add", "x y z"],
            ["correct", "1", "x y z"],
            ["disable", "1"],
            ["forget", "1", "--yes"],
            ["reindex"],
            ["import", str(tmp_path)],
        ):
            code, _, err = known("memory", *arguments)
            assert code == 75
            assert "is using" in err


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["show", "9"], 3, "No memory #9."),
        (["show", "x"], 2, "no memory's number"),
        (["correct", "9", "x"], 3, "No memory #9."),
        (["disable", "9"], 3, "No memory #9."),
        (["forget"], 2, "Nothing says what to forget."),
        (["forget", "1", "9", "--yes"], 3, "No memory #9."),
        (["forget", "--query", "?!", "--yes"], 2, "no words"),
        (["forget", "--before", "soon", "--yes"], 2, "'soon'"),
        (["search", "x", "--since", "soon"], 2, "'soon'"),
        (["search", "x", "--session", "../x"], 2, "not accepted"),
        (["search", "x", "--kind", "dream"], 2, "'dream'"),
        (["undo", "nothing"], 3, "nothing to undo"),
        (["add", " "], 4, "empty"),
        (["add", "x y z", "--supersedes", "9"], 3, "No memory #9."),
    ],
)
def test_bad_input_is_refused_with_a_helpful_line(known, arguments, code, line):
    done, out, err = known("memory", *arguments)
    assert (done, out) == (code, "")
    assert line in err
    assert numbers(known("memory", "list")[1]) == ["#2", "#1"]


def test_the_mirror_shows_what_is_remembered_and_nothing_that_was_forgotten(known, tmp_path):
    page = tmp_path / "home" / "workspace" / "memory" / "knowledge.md"
    assert "My dog is called Rex" in page.read_text(encoding="utf-8")
    known("memory", "forget", "1", "--yes")
    assert "Rex" not in page.read_text(encoding="utf-8")
    assert "Lisbon" in page.read_text(encoding="utf-8")
    batch = json.loads(known("memory", "undo", "--json")[1])[0]["batch"]
    known("memory", "undo", batch)
    assert "My dog is called Rex" in page.read_text(encoding="utf-8")
