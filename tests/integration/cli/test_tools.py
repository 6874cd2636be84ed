"""`lra create-tool`, `validate-tool`, `list-tools`, `inspect-tool`, with the real sandbox."""

import json
import subprocess
import sys

import pytest

SHOUT = '''LOUD = "!"


def shout(text: str) -> str:
    """Write a text in capital letters."""
    return text.upper() + LOUD
'''
TWO = f'''{SHOUT}

def whisper(text: str) -> str:
    """Write a text in small letters."""
    return text.lower()
'''
WRONG = "import os\n\n\ndef gone(path):\n    os.remove(path)\n"
LYING = 'def one() -> int:\n    """Give 1."""\n    return "one"\n'


@pytest.fixture
def written(tmp_path):
    def write(source, name="tool.py"):
        path = tmp_path / name
        path.write_text(source)
        return str(path)

    return write


def test_a_good_function_is_valid_and_nothing_is_kept(lra, written, tmp_path):
    code, out, err = lra("validate-tool", written(SHOUT))
    assert (code, err) == (0, "")
    assert out.startswith("shout can be a tool.\n  takes      text: text, needed\n")
    assert "trial      passed" in out
    assert not (tmp_path / "home").exists()


def test_what_is_wrong_is_told_with_its_line_and_its_repair(lra, written):
    path = written(WRONG)
    code, out, _ = lra("validate-tool", path)
    assert code == 1
    assert f"{path}:1: error: The module os may not be imported." in out
    assert f"{path}:4: error: The parameter path has no type hint. Write its type" in out
    found = json.loads(lra("validate-tool", path, "--json")[1])
    assert (found["valid"], found["trial"], found["interface"]) == (False, None, None)
    assert {1, 4} <= {finding["line"] for finding in found["findings"]}


def test_what_fails_its_trial_is_no_tool(lra, written):
    code, out, _ = lra("validate-tool", written(LYING), "--json")
    found = json.loads(out)
    assert (code, found["valid"], found["trial"]["passed"]) == (1, False, False)
    code, out, _ = lra("validate-tool", written(LYING))
    assert "one cannot be a tool." in out
    assert "trial      not passed" in out
    assert lra("create-tool", "--file", written(LYING))[0] == 1


def test_one_function_of_several_is_taken(lra, written):
    path = written(TWO)
    assert json.loads(lra("validate-tool", path, "--json")[1])["name"] == "whisper"
    code, out, _ = lra("validate-tool", path, "--function", "shout", "--json")
    assert (code, json.loads(out)["name"]) == (0, "shout")
    assert lra("validate-tool", path, "--function", "nobody")[0] == 3
    code, out, _ = lra("validate-tool", written("def (:"), "--function", "x")
    assert code == 1
    assert ":1: error: " in out


def test_a_tool_is_made_of_a_file_and_waits(lra, written):
    code, out, err = lra(
        "create-tool", "--file", written(TWO), "--function", "shout", "--name", "yell"
    )
    assert code == 0
    assert out.startswith("yell: version 1\n")
    assert "def whisper" not in out
    assert "yell version 1 is proposed: lra skills approve yell" in err


def test_a_tool_that_is_refused_says_why_and_is_not_kept(lra, written):
    code, out, err = lra("create-tool", "--file", written(WRONG), "--yes")
    assert (code, out) == (1, "")
    assert "- line 1: The module os may not be imported." in err
    assert lra("skills", "list", "--json")[1] == "[]\n"
    assert lra("create-tool", "--file", written(SHOUT), "--name", "write_file")[0] == 1
    assert lra("create-tool", "--file", written(SHOUT), "--name", "Not A Name")[0] == 1


def test_a_tool_can_be_piped_in(environment):
    done = subprocess.run(
        [sys.executable, "-m", "long_running_agents", "create-tool", "--file", "-", "--yes"],
        env=environment,
        input=SHOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "shout version 1 is a tool from now on.\n")


def test_nobody_is_asked_without_a_terminal(lra):
    code, _, err = lra("create-tool", stdin="shout\n")
    assert code == 2
    assert "--file" in err


def test_without_a_sandbox_nothing_is_tried(lra, written, monkeypatch, tmp_path):
    path = written(SHOUT)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert lra("validate-tool", path)[0] == 75
    assert lra("create-tool", "--file", path)[0] == 75


def test_all_tools_are_listed_and_which_are_on(lra, written, monkeypatch):
    lra("create-tool", "--file", written(SHOUT))
    monkeypatch.setenv("LRA_AGENT__TOOLS__ENABLE__SHELL", "false")
    tools = {each["name"]: each for each in json.loads(lra("list-tools", "--json")[1])}
    assert (tools["shout"]["kind"], tools["shout"]["enabled"]) == ("skill", False)
    assert tools["generate_tool"]["kind"] == "built_in"
    assert tools["generate_tool"]["enabled"]
    assert tools["generate_tool"]["powers"] == ["execute", "extend"]
    off = {name for name, tool in tools.items() if tool["family"] == "shell"}
    assert off
    assert not any(tools[name]["enabled"] for name in off)
    lra("skills", "approve", "shout", "--yes")
    lines = lra("list-tools")[1].splitlines()
    assert "shout\ton\tskill\t\tWrite a text in capital letters." in lines


def test_one_tool_is_looked_at(lra, written):
    lra("create-tool", "--file", written(SHOUT), "--yes")
    out = lra("inspect-tool", "shout")[1]
    assert "skill; effect: once; it can change, execute" in out
    assert out.endswith(SHOUT)
    made = json.loads(lra("inspect-tool", "shout", "--json")[1])
    assert (made["kind"], made["effect"], made["skill"]["state"]) == ("skill", "once", "enabled")
    assert made["version"]["source"] == SHOUT
    built = json.loads(lra("inspect-tool", "list_tasks", "--json")[1])
    assert (built["kind"], built["effect"]) == ("built_in", "read")
    assert "built-in (tasks), on" in lra("inspect-tool", "list_tasks")[1]
    assert lra("inspect-tool", "nothing")[0] == 3
    assert lra("inspect-tool", "\udcff")[0] == 3
