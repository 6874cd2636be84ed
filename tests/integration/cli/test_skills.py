"""`lra skills` on a home that nobody serves, with the real sandbox."""

import json
import subprocess
import sys

import pytest

from long_running_agents.home import Home

DOUBLE = '''def double(number: int) -> int:
    """Twice as much.

    Args:
        number: What is doubled.
    """
    return 2 * number
'''
FASTER = DOUBLE.replace("2 * number", "number + number")
EVIL = 'import socket\n\n\ndef call() -> str:\n    """Call."""\n    return socket.gethostname()\n'


@pytest.fixture
def kept(lra, tmp_path):
    """Proposes a function: kept(source) -> its file."""

    def keep(source, *arguments):
        path = tmp_path / "tool.py"
        path.write_text(source)
        assert lra("create-tool", "--file", str(path), *arguments)[0] == 0
        return path

    return keep


def listed(lra, *arguments):
    return {
        each["name"]: each for each in json.loads(lra("skills", "list", "--json", *arguments)[1])
    }


def test_an_empty_home_has_no_skills_and_stays_empty(lra, tmp_path):
    assert lra("skills")[:2] == (0, "")
    assert "lra create-tool" in lra("skills", "list")[2]
    assert lra("skills", "list", "--json")[:2] == (0, "[]\n")
    assert lra("skills", "problems", "--json")[:2] == (0, "[]\n")
    assert lra("skills", "show", "double")[0] == 3
    assert lra("skills", "run", "double")[0] == 3
    assert not (tmp_path / "home").exists()


def test_a_skill_waits_is_approved_and_can_be_run(lra, kept):
    kept(DOUBLE)
    code, out, err = lra("skills")
    assert (code, out) == (0, "double\tproposed\t1\t0\t0\tTwice as much.\n")
    assert "1 skill waits for approval: lra skills approve double" in err

    assert lra("skills", "approve", "double")[0] == 2
    assert listed(lra)["double"]["state"] == "proposed"
    code, _, err = lra("skills", "approve", "double", "--yes")
    assert (code, err) == (0, "approved: double is enabled, version 1.\n")
    assert lra("skills", "approve", "double", "--yes")[0] == 75

    assert lra("skills", "run", "double", "number=21")[:2] == (0, "42\n")
    assert (
        json.loads(lra("skills", "run", "double", "--args", '{"number": 2}', "--json")[1])["shown"]
        == "4"
    )
    assert listed(lra)["double"]["calls"] == 0


def test_all_of_a_skill_is_shown(lra, kept):
    kept(DOUBLE, "--yes")
    out = lra("skills", "show", "double")[1]
    assert "number: whole number, needed. What is doubled." in out
    assert "returns    whole number" in out
    assert "standing   approved by person" in out
    assert "trial      passed" in out
    assert out.endswith(DOUBLE)
    shown = json.loads(lra("skills", "show", "double", "--version", "1", "--json")[1])
    assert shown["skill"]["state"] == "enabled"
    assert shown["version"]["source"] == DOUBLE
    assert shown["version"]["trial"]["passed"] is True
    assert lra("skills", "show", "double", "--version", "2")[0] == 3


def test_versions_follow_each_other_and_go_back(lra, kept):
    kept(DOUBLE, "--yes")
    kept(FASTER)
    code, out, _ = lra("skills", "diff", "double")
    assert code == 0
    assert "-    return 2 * number\n+    return number + number\n" in out
    assert listed(lra, "--state", "proposed")["double"]["version"] == 1
    assert listed(lra, "--state", "disabled") == {}
    assert lra("skills", "approve", "double", "--version", "2", "--yes")[0] == 0
    numbers = [line.split("\t")[:3] for line in lra("skills", "versions", "double")[1].splitlines()]
    assert numbers == [["2", "approved", "yes"], ["1", "approved", ""]]
    assert lra("skills", "rollback", "double")[0] == 0
    assert [
        each["in_use"] for each in json.loads(lra("skills", "versions", "double", "--json")[1])
    ] == [False, True]
    assert lra("skills", "rollback", "double", "2")[2] == (
        "rolled back: double is enabled, version 2.\n"
    )
    assert lra("skills", "diff", "double", "1", "1")[:2] == (0, "")
    assert lra("skills", "diff", "double", "1", "9")[0] == 3


def test_a_skill_rests_comes_back_and_goes(lra, kept):
    kept(DOUBLE, "--yes")
    workspace = Home(kept(FASTER).parent / "home").workspace
    assert (workspace / "skills" / "double.py").read_text() == DOUBLE
    assert lra("skills", "reject", "double")[0] == 0
    assert lra("skills", "disable", "double", "--reason", "not now")[0] == 0
    assert listed(lra)["double"]["note"] == "not now"
    assert "not now" in lra("skills", "show", "double")[1]
    assert lra("skills", "enable", "double")[2] == "enabled: double is enabled, version 1.\n"

    assert lra("skills", "delete", "double")[0] == 2
    assert lra("skills", "delete", "double", "--yes")[2] == "deleted: double\n"
    assert lra("skills", "list", "--json")[1] == "[]\n"
    assert not (workspace / "skills" / "double.py").exists()
    assert lra("skills", "delete", "double", "--yes")[0] == 3


@pytest.mark.parametrize("name", ["", "..", "/etc/passwd", "A", "x" * 100, "\udcff", "naïve"])
@pytest.mark.parametrize("command", ["show", "versions", "approve", "reject", "enable", "run"])
def test_what_no_skill_can_be_called_is_not_found(lra, command, name):
    assert lra("skills", command, "--", name)[0] == 3


def test_calls_that_cannot_be_are_refused_before_anything_runs(lra, kept):
    kept(DOUBLE)
    for arguments in (
        ["number"], ["number=x"], ["number=1", "number=2"], [], ["number=1", "other=2"],
        ["number=1", "--args", "{}"], ["--args", "[]"], ["--args", "{"],
    ):  # fmt: skip
        code, out, err = lra("skills", "run", "double", *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("error: ")


def test_a_call_that_breaks_says_why(lra, kept):
    halve = 'def halve(number: int) -> float:\n    """Divide."""\n    return 1 / number\n'
    kept(halve)
    code, out, err = lra("skills", "run", "halve", "number=0")
    assert (code, out) == (1, "")
    assert "ZeroDivisionError" in err


def test_skills_are_carried_in_a_module(lra, kept, tmp_path):
    kept(DOUBLE, "--yes")
    exported = tmp_path / "tools.py"
    assert lra("skills", "export", "double", "-o", str(exported))[0] == 0
    assert lra("skills", "export", "nothing")[0] == 3
    assert lra("export-tools", "-o", str(exported))[0] == 2
    assert lra("export-tools", "-o", str(exported), "--force")[0] == 0
    assert lra("export-tools", "-o", str(tmp_path / "none" / "x.py"))[0] == 75
    assert lra("export-tools")[1].count("def double") == 1
    command = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tools; print(tools.double(4))"
    )
    assert subprocess.check_output([sys.executable, "-c", command], text=True) == "8\n"

    lra("skills", "delete", "double", "--yes")
    code, out, err = lra("skills", "import", str(exported))
    assert (code, out) == (0, "double\t1\tproposed\n")
    assert "lra skills approve double" in err
    assert json.loads(lra("skills", "import", str(exported), "--json")[1])[0]["number"] == 1


def test_files_that_are_none_are_refused(lra, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n")
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00")
    for command in (["skills", "import"], ["validate-tool"], ["create-tool", "--file"]):
        assert lra(*command, str(tmp_path))[0] == 2
        assert lra(*command, str(tmp_path / "missing.py"))[0] == 3
        assert lra(*command, str(binary))[0] == 2
    assert lra("skills", "import", str(broken))[0] == 2
    assert lra("skills", "list", "--json")[1] == "[]\n"


def test_a_file_that_cannot_be_a_skill_is_a_problem(lra, tmp_path):
    folder = tmp_path / "home" / "workspace" / "skills"
    folder.mkdir(parents=True)
    (folder / "call.py").write_text(EVIL)
    # Whoever opens the home looks into the folder.
    assert lra("ask", "hello")[0] == 0
    assert "1 file cannot be a skill: lra skills problems" in lra("skills")[2]
    [problem] = json.loads(lra("skills", "problems", "--json")[1])
    assert problem["path"] == "skills/call.py"
    assert "socket" in lra("skills", "problems")[1]


def test_what_waits_is_told_when_a_chat_begins(lra, kept):
    kept(DOUBLE)
    assert "1 skill waits for approval: lra skills approve double" in lra("chat", stdin="hi\n")[2]
    lra("skills", "approve", "double", "--yes")
    assert "waits for approval" not in lra("chat", stdin="hi\n")[2]


def test_switched_off_is_said(lra, monkeypatch):
    monkeypatch.setenv("LRA_AGENT__TOOLS__ENABLE__SKILLS", "false")
    assert "Skills are switched off" in lra("skills")[2]
    assert lra("chat", stdin="hi\n")[0] == 0


def test_what_is_no_text_or_no_number_breaks_nothing(lra, kept):
    kept(DOUBLE, "--yes")
    assert lra("skills", "disable", "double", "--reason", "\udcff")[0] == 0
    assert listed(lra)["double"]["note"] == "?"
    assert lra("skills", "export", "\udcff")[0] == 3
    assert lra("skills", "show", "double", "--version", str(1 << 80))[0] == 2
    assert lra("skills", "diff", "double", "0")[0] == 2
