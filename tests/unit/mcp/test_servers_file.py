import json

import pytest

from long_running_agents.errors import ConfigError
from long_running_agents.mcp.base import Endpoint, Program
from long_running_agents.mcp.config import read

VARIABLES = {
    "PATH": "/bin",
    "HOME": "/people/ada",
    "LC_ALL": "C",
    "TOKEN": "t0k3n-t0k3n",
    "OPENAI_API_KEY": "sk-ours",
    "LD_PRELOAD": "/evil.so",
    "PYTHONPATH": "/x",
}


def written(tmp_path, servers):
    path = tmp_path / "mcp.json"
    path.write_text(servers if isinstance(servers, str) else json.dumps({"mcpServers": servers}))
    return read(path, VARIABLES)


def test_a_home_without_the_file_has_no_servers(tmp_path):
    assert read(tmp_path / "mcp.json", VARIABLES).servers == ()


def test_a_program_is_read_with_little_of_the_environment(tmp_path):
    entry = {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "${PATH}/x", "${NOT_SET:-y}"],
        "env": {"API_TOKEN": "${TOKEN}"},
    }
    [server] = written(tmp_path, {"github": entry}).servers

    assert server.way == Program(
        command="npx",
        args=("-y", "/bin/x", "y"),
        env={"PATH": "/bin", "HOME": "/people/ada", "LC_ALL": "C", "API_TOKEN": "t0k3n-t0k3n"},
        cwd="/people/ada",
    )
    assert (server.problem, server.disabled, server.timeout) == ("", False, 60)


def test_an_address_is_read_with_its_headers(tmp_path):
    entry = {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    found = written(tmp_path, {"web": entry})

    [server] = found.servers
    assert server.way == Endpoint(
        url="https://a.example/mcp", headers={"Authorization": "Bearer t0k3n-t0k3n"}
    )
    assert found.secrets == {"Bearer t0k3n-t0k3n", "t0k3n-t0k3n"}


def test_a_folder_is_meant_from_the_home(tmp_path):
    entry = {"command": "x", "cwd": "sub"}

    assert written(tmp_path, {"a": entry}).servers[0].way.cwd == str(tmp_path / "sub")


def test_only_what_is_named_like_a_secret_is_one(tmp_path):
    env = {"GITHUB_TOKEN": "abcdefgh", "LOG_LEVEL": "verbose", "PATH": "/opt/bin"}

    assert written(tmp_path, {"a": {"command": "x", "env": env}}).secrets == {"abcdefgh"}


def test_a_variable_that_is_not_set_is_the_problem_of_that_server_alone(tmp_path):
    found = written(tmp_path, {"a": {"command": "${NOPE} ${NADA}"}, "b": {"command": "x"}})

    assert [server.problem for server in found.servers] == ["NADA, NOPE is not set", ""]


def test_what_is_shown_of_a_way_holds_no_secret(tmp_path):
    servers = {
        "a": {"url": "https://me:secret@a.example/mcp?key=secret"},
        "b": {"command": "x", "args": ["--key=secret"]},
    }
    shown = [str(server.way) for server in written(tmp_path, servers).servers]

    assert shown == ["https://a.example/mcp", "x"]


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "has no table 'mcpServers'"),
        ('{"servers": {}}', "has no table 'mcpServers'"),
        ({"a": 5}, "mcpServers.a: "),
        ({"a": {}}, "exactly one of 'command' and 'url'"),
        ({"a": {"command": "x", "url": "http://x"}}, "exactly one of 'command' and 'url'"),
        ({"a": {"command": ""}}, "mcpServers.a.command"),
        ({"a": {"command": ["x"]}}, "mcpServers.a.command"),
        ({"a": {"command": "x", "args": "y"}}, "mcpServers.a.args"),
        ({"a": {"command": "x", "env": {"A": 1}}}, "mcpServers.a.env.A"),
        ({"a": {"command": "x", "autoApprove": ["*"]}}, "mcpServers.a.autoApprove"),
        ({"a": {"command": "x", "headers": {}}}, "mcpServers.a.headers: only an address"),
        ({"a": {"url": "http://x", "env": {}}}, "mcpServers.a.env: only a program"),
        ({"a": {"url": "file:///etc/passwd"}}, "mcpServers.a.url"),
        ({"a": {"url": "http://x", "type": "sse"}}, 'the older "sse" is not'),
        ({"a": {"url": "http://x", "type": "stdio"}}, "mcpServers.a.type"),
        ({"a": {"command": "x", "type": "http"}}, "mcpServers.a.type"),
        ({"a": {"command": "x", "timeout": 0}}, "mcpServers.a.timeout"),
        ({"a": {"command": "x", "timeout": "soon"}}, "mcpServers.a.timeout"),
        ({"a": {"command": "x", "disabled": "no"}}, "mcpServers.a.disabled"),
        ({"a": {"command": "x", "allow": "*"}}, "mcpServers.a.allow"),
        ({"a" * 41: {"command": "x"}}, "the name is too long"),
        ({"": {"command": "x"}}, "the name is too long"),
        ({"a b": {"command": "x"}, "a/b": {"command": "x"}}, "the same names"),
    ],
)
def test_what_is_wrong_is_named_with_file_server_and_key(tmp_path, servers, words):
    with pytest.raises(ConfigError) as raised:
        written(tmp_path, servers)

    assert words in str(raised.value)
    assert str(tmp_path / "mcp.json") in raised.value.message
    assert raised.value.hint
