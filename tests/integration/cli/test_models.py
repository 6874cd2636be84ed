"""`lra models`, the offer of the embedded model, and `doctor --deep`."""

import importlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.contract.fake_servers import OLLAMA
from tests.unit.models.fake_local import server as fake_server

from long_running_agents.domain.model_card import ModelCard

HOME = "LRA_HOME"
LOCAL = "long_running_agents.models.local"


@pytest.fixture
def embedded(monkeypatch):
    """A stand-in where the package that runs models would be."""
    for name in ("catalog", "model", "server"):
        module = importlib.import_module(f"tests.unit.models.fake_local.{name}")
        monkeypatch.setitem(sys.modules, f"{LOCAL}.{name}", module)
    fake_server.served.clear()


@pytest.fixture
def no_embedded(monkeypatch):
    monkeypatch.setattr(f"{LOCAL}.catalog.CATALOG", {})


@pytest.fixture
def ollama(monkeypatch):
    """Something that looks like Ollama, on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = OLLAMA.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            there = self.path == "/api/show"
            self.send_response(200 if there else 404)
            self.end_headers()
            self.wfile.write(b'{"model_info": {"llama.context_length": 131072}}')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LRA_AGENT__MODEL__PROBE", f"ollama:{server.server_port}")
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture
def unset(monkeypatch, lra):
    monkeypatch.delenv("AGENT_MODEL")
    monkeypatch.delenv("AGENT_MODEL_URL")


def listed(lra):
    code, out, _ = lra("models", "list", "--json")
    assert code == 0
    return {each["name"]: each for each in json.loads(out)}


def test_the_list_has_what_is_set_found_and_embedded(lra, ollama, embedded):
    found = listed(lra)

    assert found["custom:scripted"]["chosen"]
    assert found[f"{ollama}#qwen3:8b"]["context_window"] == 4096
    assert found[f"{ollama}#qwen3:8b"]["note"] == "loaded"
    assert found[f"{ollama}#llama3.2:3b"]["context_window"] == 4096
    assert found[f"{ollama}#llama3.2:3b"]["note"] == "not loaded; the window is the usual one"
    assert found["local:big"] == {
        "name": "local:big",
        "source": "embedded",
        "chosen": False,
        "context_window": None,
        "note": "1.5 GB, Apache-2.0, not here yet: lra models pull big",
        "size": 1_500_000_000,
        "licence": "Apache-2.0",
        "installed": False,
        "card": None,
    }
    code, out, _ = lra("models", "list")
    assert code == 0
    assert out.splitlines()[0].startswith("*\tcustom:scripted\tsettings, server at 127.0.0.1:")


def test_an_empty_list_says_how_to_get_something(lra, unset, no_embedded):
    code, _, err = lra("models", "list")

    assert code == 1
    assert "AGENT_MODEL=openai:gpt-5-mini" in err
    assert listed(lra) == {}


def test_a_key_is_enough_to_be_chosen(lra, unset, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")

    assert listed(lra)["openai:gpt-5-mini"]["chosen"]


def test_use_writes_what_was_checked(lra, unset, model_url, monkeypatch):
    lra("init")
    code, out, _ = lra("models", "use", f"{model_url}#scripted")
    assert code == 0
    assert "config.toml" in out
    code, out, _ = lra("ask", "hello")
    assert (code, out) == (0, "Hello there, friend.\n")
    code, _, err = lra("models", "use", f"{model_url}#scriptd")
    assert code == 3
    assert "Did you mean scripted?" in err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    assert lra("models", "use", "openai:gpt-5")[0] == 0
    values = json.loads(lra("config", "agent.model", "--json")[1])
    assert values["agent.model.model_id"] == "openai:gpt-5"
    # The server stays, and so does what it has.
    assert values["agent.model.servers"] == [model_url]
    assert f"{model_url}#scripted" in listed(lra)


def test_use_refuses_a_server_that_does_not_answer(lra, unset, tmp_path):
    code, _, err = lra("models", "use", "http://127.0.0.1:9/v1#x")

    assert code == 75
    assert "Nobody answers at http://127.0.0.1:9/v1" in err
    assert not (tmp_path / "home" / "config.toml").exists()


def test_a_configured_server_stays_when_another_model_is_used(
    lra, model_url, monkeypatch, tmp_path
):
    monkeypatch.delenv("AGENT_MODEL")
    monkeypatch.delenv("AGENT_MODEL_URL")
    lra("init")
    config = tmp_path / "home" / "config.toml"
    config.write_text(f'[agent.model]\nmodel_id = "scripted"\nbase_url = "{model_url}"\n')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    assert lra("models", "use", "openai:gpt-5")[0] == 0
    found = listed(lra)
    assert found["openai:gpt-5"]["chosen"]
    assert not found["custom:scripted"]["chosen"]
    assert lra("models", "use", "custom:scripted")[0] == 0
    assert lra("ask", "hello")[:2] == (0, "Hello there, friend.\n")
    # A model that the environment names goes before one that was chosen.
    lra("models", "use", "openai:gpt-5")
    monkeypatch.setenv("AGENT_MODEL", "scripted")
    assert lra("ask", "hello")[:2] == (0, "Hello there, friend.\n")


@pytest.mark.parametrize(
    ("name", "code", "advice"),
    [
        ("openai:gpt-5", 1, "Export OPENAI_API_KEY"),
        ("opnai:gpt-5", 2, "Did you mean openai:gpt-5?"),
        ("gpt-5", 2, "expected 'provider:model'"),
        ("local:huge", 3, "lra models list"),
    ],
)
def test_use_refuses_a_name_that_cannot_work(lra, unset, embedded, tmp_path, name, code, advice):
    got, _, err = lra("models", "use", name)

    assert got == code
    assert advice in err
    assert not (tmp_path / "home" / "config.toml").exists()


def test_use_says_when_the_environment_goes_before(lra, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    code, _, err = lra("models", "use", "openai:gpt-5")

    assert code == 0
    assert "But environment (AGENT_MODEL) goes before the file." in err


def test_a_test_prints_and_keeps_the_card(lra, model_url):
    code, out, _ = lra("models", "test", "--json")
    assert code == 0
    card = json.loads(out)["card"]
    assert set(card) == {*ModelCard.__dataclass_fields__}
    assert (card["endpoint"], card["streaming"], card["native_tools"]) == (model_url, True, False)

    found = listed(lra)["custom:scripted"]
    assert found["card"] == card
    assert "tools: none" in found["note"]


def test_doctor_looks_deep_at_every_model(lra, monkeypatch):
    monkeypatch.setenv("LRA_AGENT__MODEL__FALLBACK", "http://127.0.0.1:9/v1#gone")
    lra("init")
    code, out, _ = lra("doctor", "--deep", "--json")

    assert code == 1
    deep = json.loads(out)
    assert {each["name"] for each in deep["checks"]} > {"model", "database"}
    assert [each["name"] for each in deep["models"]] == [
        "custom:scripted",
        "http://127.0.0.1:9/v1#gone",
    ]
    assert "Is the server at http://127.0.0.1:9/v1 running?" in deep["models"][1]["hint"]
    code, out, _ = lra("doctor", "--deep")
    assert "context window" in out


def test_without_any_model_chat_and_ask_say_what_to_do(lra, unset, no_embedded, tmp_path):
    for arguments in (["ask", "hi"], ["chat"]):
        code, _, err = lra(*arguments, stdin="hi\n")
        assert code == 1
        assert "lra models list" in err
    assert not (tmp_path / "home" / "lra.db").exists()


def test_nothing_is_fetched_unasked(lra, unset, embedded, tmp_path):
    code, _, err = lra("ask", "hi")

    assert code == 1
    assert "lra models pull" in err
    assert not (tmp_path / "home" / "models").exists()


def test_a_chat_through_a_pipe_fetches_nothing_either(lra, unset, embedded, tmp_path):
    code, out, err = lra("chat", stdin="hi\n")

    assert (code, out) == (1, "")
    assert "lra models pull" in err
    assert not (tmp_path / "home" / "models").exists()


def test_weights_that_nothing_here_could_run_are_not_fetched(lra, unset, embedded, monkeypatch):
    monkeypatch.setattr("tests.unit.models.fake_local.catalog.RUNTIME", "no_such_runtime")
    code, _, err = lra("ask", "hi", "--model", "local:")

    assert code == 1
    assert "pip install 'long-running-agents[local]'" in err
    assert "Downloading" not in err


@pytest.mark.parametrize("name", ["local:", "local", "local:big"])
def test_naming_the_embedded_model_is_agreeing_to_fetch_it(lra, unset, embedded, name):
    code, out, err = lra("ask", "hi", "--model", name)

    assert (code, out) == (0, "I am small.\n")
    assert "Downloading" in err
    assert "is small: it chats, but errs often" in err
    code, _, err = lra("ask", "hi", "--model", name)
    assert "Downloading" not in err


def test_an_embedded_model_that_is_here_answers_by_itself(lra, unset, embedded):
    code, out, _ = lra("models", "pull", "big")
    assert code == 0
    assert "big.gguf" in out
    assert lra("models", "pull", "big")[1] == "big is here already.\n"

    code, out, err = lra("chat", stdin="hi\n")
    assert code == 0
    assert "I am small." in out
    assert err.count("local:big is small") == 1


def test_weights_can_come_from_a_file(lra, unset, embedded, tmp_path):
    there = tmp_path / "there.gguf"
    there.write_text("")
    lra("models", "pull", "--from", str(there))

    pulled = tmp_path / "home" / "models" / "qwen2.5-coder-0.5b.gguf"
    assert pulled.read_text() == f"weights from {there}"


def test_an_embedded_model_can_be_served(lra, unset, embedded):
    lra("models", "pull", "big")
    assert lra("models", "serve", "big", "--port", "0", "--key", "k")[0] == 0
    assert fake_server.served == [("big.gguf", "127.0.0.1", 0, "k")]
    code, _, err = lra("models", "serve", "big", "--host", "0.0.0.0")
    assert code == 2
    assert "--key" in err


def test_weights_of_ones_own_can_be_served(lra, unset, embedded, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    assert lra("models", "serve", "--engine", "transformers", "--path", str(mine))[0] == 0
    assert fake_server.served == [("mine by transformers", "127.0.0.1", 8089, None)]
    code, _, err = lra("models", "serve", "big", "--path", str(mine))
    assert code == 2
    assert "Give one of them" in err


def test_without_the_extra_the_command_that_brings_it_is_named(lra, unset, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")

    for command in (
        ("models", "serve", "--engine", "transformers", "--path", str(tmp_path)),
        ("models", "use", f"local:{tmp_path}"),
        ("ask", "hi", "--model", f"local:{tmp_path}"),
    ):
        code, _, err = lra(*command)
        assert code == 1
        assert "pip install 'long-running-agents[transformers]'" in err


def test_weights_of_ones_own_can_be_used_and_asked(lra, unset, embedded, monkeypatch, tmp_path):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    code, out, err = lra("ask", "hi", "--model", "local:./mine")

    assert (code, out) == (0, "I am small.\n")
    # Nobody can say how good a model is that nobody knows.
    assert "is small" not in err
    assert lra("models", "use", "local:./mine")[0] == 0
    written = (tmp_path / "home" / "config.toml").read_text(encoding="utf-8")
    assert f'"local:{tmp_path}/mine"' in written


def test_a_server_that_is_found_is_asked_and_that_is_said(lra, unset, ollama):
    code, _, err = lra("ask", "hi")

    assert f"asking {ollama}#qwen3:8b. 'lra models use" in err
    # It only looks like Ollama: the turn itself fails, and says where it asked.
    assert code == 75
    assert ollama in err


def test_gemini_is_a_short_cut(lra, unset):
    code, _, err = lra("ask", "hi", "--gemini")
    assert code == 1
    assert "google" in err
    code, _, err = lra("ask", "hi", "--gemini", "--model", "openai:x")
    assert code == 2


def test_an_address_alone_is_enough_for_a_server_with_one_model(lra, monkeypatch):
    monkeypatch.delenv("AGENT_MODEL")
    code, out, err = lra("ask", "hi")

    assert (code, out) == (0, "Hello there, friend.\n")
    assert "the only model at" in err
    monkeypatch.setenv("AGENT_MODEL_URL", "http://127.0.0.1:9/v1")
    code, _, err = lra("ask", "hi")
    assert code == 1
    assert "agent.model.base_url (AGENT_MODEL_URL) says http://127.0.0.1:9/v1" in err


def test_a_server_is_added_and_used(lra, unset, model_url, tmp_path):
    bare = model_url.removesuffix("/v1")
    code, out, _ = lra("models", "add", bare, "--use", "scripted")
    assert (code, "is remembered" in out) == (0, True)
    assert lra("ask", "hello")[:2] == (0, "Hello there, friend.\n")
    before = (tmp_path / "home" / "config.toml").read_bytes()
    code, _, err = lra("models", "add", "http://127.0.0.1:9", "--key", stdin="secret-of-it\n")
    assert code == 75
    assert "Nobody answers at http://127.0.0.1:9/v1" in err
    assert (tmp_path / "home" / "config.toml").read_bytes() == before
    assert not (tmp_path / "home" / ".env").exists()


def test_a_key_is_kept_and_removed(lra, unset, tmp_path):
    env = tmp_path / "home" / ".env"
    code, out, err = lra("models", "key", "openai", stdin="sk-made-up-0123456789\n")
    assert (code, err) == (0, "")
    assert "sk-made-up" not in out
    assert env.read_text() == "OPENAI_API_KEY='sk-made-up-0123456789'\n"
    assert env.stat().st_mode & 0o777 == 0o600
    assert listed(lra)["openai:gpt-5-mini"]["chosen"]
    assert lra("models", "key", "openai", "--remove")[0] == 0
    assert env.read_text().strip() == ""
    assert lra("models", "key", "nobody", stdin="x")[0] == 3
    assert lra("models", "key", "openai", stdin="")[0] == 2
    assert lra("models", "key", "openai", stdin="a'b")[0] == 2
