"""`lra mcp` and what `lra doctor` says of it."""

import json

from tests.contract.mcp.homes import plain, write


def mcp_check(lra):
    checks = json.loads(lra("doctor", "--json")[1])
    [check] = [check for check in checks if check["name"] == "mcp"]
    return check


def test_servers_are_listed_with_their_tools_or_why_there_are_none(lra, tmp_path):
    folder = tmp_path / "scripts"
    write(
        tmp_path / "home",
        plain={**plain(folder, {"name": "look"}, {"name": "odd"}), "deny": ["o*"]},
        gone={"command": "no-such-program"},
        off={"command": "no-such-program", "disabled": True},
    )
    code, out, _ = lra("mcp", "list", "--json")
    found = {each["name"]: each for each in json.loads(out)}

    assert code == 0
    assert {name: each["state"] for name, each in found.items()} == {
        "plain": "ready",
        "gone": "failed",
        "off": "disabled",
    }
    assert found["plain"]["protocol"] == "2025-06-18"
    assert found["plain"]["listing"]["offers"][0]["name"] == "plain_look"
    assert found["plain"]["listing"]["refused"][0]["tool"] == "odd"
    assert "no-such-program" in found["gone"]["reason"]
    assert "plain\tready\tplain_look\todd" in lra("mcp", "list")[1]


def test_one_server_is_tried_and_the_exit_code_tells(lra, tmp_path):
    shell = {"command": "sh", "args": ["-c", "echo no key >&2; exit 1"], "env": {"A_KEY": "no key"}}
    look = {"name": "look", "description": "Looks\x1b[2J around."}
    write(tmp_path / "home", plain=plain(tmp_path, look), bad=shell)

    code, out, _ = lra("mcp", "test", "plain")
    assert code == 0
    assert "plain_look: [From the foreign server 'plain'] Looks[2J around." in out
    code, out, _ = lra("mcp", "test", "bad")
    assert code == 1
    assert "it ended before it answered ([redacted])" in out
    code, _, err = lra("mcp", "test", "nobody")
    assert code == 3
    assert "There is: plain, bad." in err


def test_a_home_without_servers_says_so(lra, tmp_path):
    code, out, err = lra("mcp", "list")

    assert (code, out) == (0, "")
    assert "No server is named" in err
    assert not (tmp_path / "home").exists()
    assert mcp_check(lra)["detail"] == "0 servers in mcp.json"


def test_a_mistake_in_the_file_is_told_with_its_place(lra, tmp_path):
    write(tmp_path / "home", web={"url": "http://127.0.0.1/", "key": "x"})

    code, _, err = lra("mcp", "list")
    assert code == 2
    assert "mcp.json: mcpServers.web.key" in err
    assert lra("ask", "hello")[0] == 2
    assert mcp_check(lra)["state"] == "problem"


def test_doctor_looks_at_the_file_without_starting_anything(lra, tmp_path):
    home = tmp_path / "home"
    headers = {"Authorization": "Bearer 12345678"}
    write(home, web={"url": "http://127.0.0.1:1/", "headers": headers})
    (home / "mcp.json").chmod(0o644)
    assert "can be read by others" in mcp_check(lra)["detail"]
    (home / "mcp.json").chmod(0o600)
    assert mcp_check(lra)["state"] == "ok"
    write(home, web={"url": "http://127.0.0.1:1/${NOT_SET}"})
    assert mcp_check(lra)["detail"] == "web: NOT_SET is not set"
