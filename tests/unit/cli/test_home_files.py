"""`lra init`, `lra config` and `lra doctor`."""

import json
import re
import socket
import sqlite3
import sys
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.scripted_process import scripted_process

from long_running_agents import doctor
from long_running_agents.cli.main import run
from long_running_agents.cli.setup import config_toml
from long_running_agents.config import load
from long_running_agents.config.loader import every_key
from long_running_agents.config.settings import Settings
from long_running_agents.errors import CorruptData
from long_running_agents.home import Home
from long_running_agents.store.integrity import examine
from long_running_agents.testing import Rule, Script, say


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def mode(path):
    return path.stat().st_mode & 0o777


def test_init_fills_what_a_sandbox_left_empty(home, capsys):
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "SOUL.md").touch()

    assert run(["init"]) == 0
    assert (home / "workspace" / "SOUL.md").read_text()


def test_init_makes_a_private_home(home, capsys):
    assert run(["init"]) == 0
    assert mode(home) == 0o700
    assert mode(home / ".env") == 0o600
    assert (home / "workspace" / "SOUL.md").read_text()
    assert (home / "workspace" / "USER.md").read_text()
    shown = capsys.readouterr().out
    assert "lra doctor" in shown
    assert "lra chat" in shown


def test_init_leaves_what_exists(home):
    home.mkdir()
    (home / ".env").write_text("OPENAI_API_KEY=mine")
    assert run(["init"]) == 0
    assert (home / ".env").read_text() == "OPENAI_API_KEY=mine"


def test_init_by_force_keeps_every_old_file(home):
    run(["init"])
    (home / ".env").write_text("first")
    run(["init", "--force"])
    (home / ".env").write_text("second")
    run(["init", "--force"])
    run(["init", "--force"])
    assert (home / ".env.bak").read_text() == "first"
    assert (home / ".env.bak2").read_text() == "second"
    assert not (home / ".env.bak3").exists()
    assert not (home / "config.toml.bak").exists()


def test_init_does_not_contradict_a_json_config(home):
    home.mkdir()
    (home / "config.json").write_text("{}")
    run(["init"])
    assert not (home / "config.toml").exists()


def test_init_says_where_it_cannot_write(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["--home", str(tmp_path / "file" / "home"), "init"]) == 75
    assert "--home or LRA_HOME" in capsys.readouterr().err


def test_the_template_changes_nothing_until_it_is_edited(home):
    run(["init"])
    loaded = load(home=home, environ={})
    assert loaded.settings == Settings()
    assert not loaded.origins


def test_the_template_shows_every_key_with_its_default():
    whole = config_toml()
    assert all(f"# {key.rpartition('.')[2]} =" in whole for key in every_key())
    set_keys = re.sub(r"^# (\w+ = .+)$", r"\1", whole, flags=re.MULTILINE)
    assert Settings.model_validate(tomllib.loads(set_keys)) == Settings()


def test_config_shows_values_and_where_they_came_from(home, capsys, monkeypatch):
    monkeypatch.setenv("AGENT_MODEL", "openai:x")
    assert run(["config", "--origin"]) == 0
    shown = capsys.readouterr().out
    assert "agent.model.model_id\topenai:x\tenvironment (AGENT_MODEL)" in shown
    assert "gateway.port\t8000\tdefault" in shown
    assert len(shown.splitlines()) == len(every_key())


def test_config_shows_one_key_or_a_section(capsys):
    assert run(["config", "gateway.port"]) == 0
    assert capsys.readouterr().out == "8000\n"
    assert run(["config", "gateway", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gateway.host"] == "127.0.0.1"
    assert run(["config", "gateway.port", "--json", "--origin"]) == 0
    assert json.loads(capsys.readouterr().out) == {"value": 8000, "origin": "default"}


def test_config_never_shows_a_secret(home, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("DATABASE_URL", "sqlite://me:hunter22@host/x.db")
    assert run(["config", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "hunter22" not in shown
    assert "sk-abc" not in shown


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "advice"),
    [
        (["config", "gateway.prot"], {}, 3, "Did you mean gateway.port?"),
        (["config"], {"LRA_GATEWAY__PORT": "many"}, 2, "environment (LRA_GATEWAY__PORT)"),
        (["config"], {"LRA_GATEWAY__PROT": "1"}, 2, "Did you mean gateway.port?"),
        (["doctor"], {"AGENT_MAX_STEPS": "0"}, 2, "greater than or equal to 1"),
    ],
)
def test_bad_values_are_named(arguments, variables, code, advice, capsys, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run(arguments) == code
    assert advice in capsys.readouterr().err


def test_a_broken_config_file_is_named(home, capsys):
    home.mkdir()
    (home / "config.toml").write_text("[agent\n")
    assert run(["doctor"]) == 2
    assert str(home / "config.toml") in capsys.readouterr().err


def states(capsys):
    return {each["name"]: each for each in json.loads(capsys.readouterr().out)}


def test_doctor_is_content_with_a_good_home(home, capsys, monkeypatch):
    monkeypatch.setenv("AGENT_MODEL", "scripted")
    run(["init"])
    capsys.readouterr()
    with scripted_process(Script((Rule("", (say("hi"),)),))) as url:
        monkeypatch.setenv("AGENT_MODEL_URL", url)
        assert run(["doctor", "--json"]) == 0
    assert {each["state"] for each in states(capsys).values()} == {"ok"}


def test_doctor_asks_whether_the_model_server_is_there(home, capsys, monkeypatch):
    monkeypatch.setenv("AGENT_MODEL", "mine")
    with socket.socket() as taken:
        # Bound and not listening: nobody answers, and nobody else can take it.
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AGENT_MODEL_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        assert run(["doctor", "--json"]) == 1
    found = states(capsys)["model"]
    assert (found["state"], "does not answer" in found["detail"]) == ("problem", True)


def test_doctor_starts_the_servers_of_mcp_json(home, capsys):
    home.mkdir(exist_ok=True)
    server = {"command": "no-such-program-anywhere"}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"clock": server}}))
    run(["doctor", "--json"])
    found = states(capsys)["mcp clock"]
    assert found["state"] == "warning"
    assert "no-such-program-anywhere" in found["fix"]


def test_doctor_names_the_system_library_that_the_embedded_engine_lacks(
    home, capsys, monkeypatch, tmp_path
):
    broken = 'raise ImportError("libgomp.so.1: cannot open shared object file: No such file")'
    (tmp_path / "xllamacpp.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    run(["doctor", "--json"])
    found = states(capsys)["embedded model"]
    assert found["state"] == "warning"
    assert "libgomp.so.1" in found["detail"]
    assert "apt-get install libgomp1" in found["fix"]


def test_doctor_names_problems_and_their_fixes(home, capsys, monkeypatch):
    run(["init"])
    (home / ".env").chmod(0o644)
    (home / "lra.db").write_bytes(b"this is no database at all, it is only text" * 100)
    monkeypatch.setenv("AGENT_MODEL", "openai:gpt-5-mini")
    capsys.readouterr()
    assert run(["doctor", "--json"]) == 1
    found = states(capsys)
    assert found["secrets"]["fix"] == f"chmod 600 {home / '.env'}"
    assert found["database"]["state"] == "problem"
    assert "OPENAI_API_KEY" in found["model"]["fix"]
    assert run(["doctor"]) == 1
    assert f"chmod 600 {home / '.env'}" in capsys.readouterr().out


def test_doctor_says_who_owns_the_home(home, capsys):
    with Home(home).owned():
        run(["doctor", "--json"])
        assert "in use by process" in states(capsys)["home"]["detail"]
    run(["doctor", "--json"])
    assert states(capsys)["home"]["detail"].endswith("not in use")


def memory_line(capsys):
    run(["doctor", "--json"])
    lines = json.loads(capsys.readouterr().out)
    return next(line for line in lines if line["name"] == "memory")


def test_doctor_looks_at_what_is_remembered(home, capsys, monkeypatch):
    assert memory_line(capsys)["detail"] == "nothing yet"
    run(["memory", "add", "My dog is called Rex"])
    capsys.readouterr()
    assert memory_line(capsys)["state"] == "ok"
    monkeypatch.setenv("LRA_MEMORY__EMBEDDER", "off")
    assert memory_line(capsys)["state"] == "warning"
    run(["memory", "add", "I live in Lisbon"])
    capsys.readouterr()
    monkeypatch.delenv("LRA_MEMORY__EMBEDDER")
    line = memory_line(capsys)
    assert "vectors missing: 1" in line["detail"]
    assert "lra memory reindex" in line["fix"]
    with closing(sqlite3.connect(home / "lra.db")) as database, database:
        database.execute("DELETE FROM memory_words WHERE rowid = 1")
    line = memory_line(capsys)
    assert line["state"] == "problem"
    run(["memory", "reindex"])
    capsys.readouterr()
    assert memory_line(capsys)["state"] == "ok"


def test_doctor_names_a_setting_that_gives_no_embedder(home, capsys, monkeypatch):
    run(["memory", "add", "My dog is called Rex"])
    capsys.readouterr()
    monkeypatch.setenv("LRA_MEMORY__EMBEDDING_MODEL", "nonsense")
    line = memory_line(capsys)
    assert line["state"] == "problem"
    assert "nonsense" in line["detail"]


def test_doctor_sees_a_clock_that_is_wrong():
    assert doctor.time(datetime(1970, 1, 1, tzinfo=UTC)).state is doctor.CheckState.PROBLEM


@pytest.mark.parametrize(
    ("name", "state"),
    [("", "problem"), ("gpt-5", "problem"), ("anthropic:x", "problem")],
)
def test_doctor_knows_models_by_name(name, state, tmp_path):
    flags = {"agent.model.model_id": name, "agent.model.probe": []}
    loaded = load(home=tmp_path, environ={}, flags=flags)
    assert doctor.model(loaded).state == state


def test_a_foreign_database_is_recognised(tmp_path):
    import sqlite3  # noqa: PLC0415 - only here

    path = Path(tmp_path / "lra.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(CorruptData, match="not one of ours"):
        examine(path)
