import pytest

from long_running_agents.config import load
from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.models import names, selection
from long_running_agents.models.detection import FoundModel, FoundServer, wanted
from long_running_agents.models.selection import ModelChoice, choose

SET = ModelSettings(model_id="openai:gpt-5")
UNSET = ModelSettings()
KEY = {"OPENAI_API_KEY": "k"}
OLLAMA = FoundServer(
    "Ollama",
    "ollama",
    "http://127.0.0.1:11434/v1",
    (FoundModel("embed", chats=False), FoundModel("cold"), FoundModel("warm", loaded=True)),
)
EMPTY = FoundServer("LM Studio", "lmstudio", "http://127.0.0.1:1234/v1", ())
VLLM = FoundServer("vLLM", "", "http://127.0.0.1:8000/v1", (FoundModel("big"),))


@pytest.mark.parametrize(
    ("settings", "variables", "found", "embedded", "chosen"),
    [
        (SET, KEY, [OLLAMA], ["small"], ModelChoice("openai:gpt-5", "settings")),
        (UNSET, KEY, [OLLAMA], ["small"], ModelChoice("openai:gpt-5-mini", "key of openai")),
        (UNSET, {}, [EMPTY, OLLAMA, VLLM], ["small"],
         ModelChoice("ollama:warm", "found Ollama at 127.0.0.1:11434")),
        (UNSET, {}, [VLLM], [],
         ModelChoice("http://127.0.0.1:8000/v1#big", "found vLLM at 127.0.0.1:8000")),
        (UNSET, {}, [EMPTY], ["small"], ModelChoice("local:small", "embedded", small=True)),
        (ModelSettings(model_id="local:small"), {}, [], [],
         ModelChoice("local:small", "settings", small=True)),
        (ModelSettings(provider="openrouter"), KEY, [], [],
         ModelChoice("openrouter:openai/gpt-5-mini", "settings")),
        (ModelSettings(provider="ollama"), KEY, [VLLM, OLLAMA], [],
         ModelChoice("ollama:warm", "found Ollama at 127.0.0.1:11434")),
    ],
)  # fmt: skip
def test_settings_then_keys_then_servers_then_the_embedded_model(
    settings, variables, found, embedded, chosen
):
    assert choose(settings, variables, found=found, embedded=embedded) == chosen


def test_a_provider_that_can_be_asked_goes_before_one_whose_package_is_missing():
    keys = {"ANTHROPIC_API_KEY": "a", "OPENROUTER_API_KEY": "o"}

    assert choose(UNSET, keys).why == "key of openrouter"
    assert choose(UNSET, {"ANTHROPIC_API_KEY": "a"}).name.startswith("anthropic:")


def test_with_nothing_the_way_is_shown():
    with pytest.raises(NotConfigured, match=r"AGENT_MODEL.*lra models pull.*lra models list"):
        choose(UNSET, {}, found=[EMPTY])


def test_what_to_look_for_can_be_set():
    assert [(each.key, each.port) for each in wanted(["ollama", "llama-server:9000"])] == [
        ("ollama", 11434),
        ("llama-server", 9000),
    ]
    assert [(each.key, each.port) for each in wanted(UNSET.probe)] == [
        (each.key, each.port) for each in wanted(["lmstudio", "ollama", "vllm", "llama-server"])
    ]


@pytest.mark.parametrize("text", ["olama", "ollama:many", "ollama:0", "ollama:70000", ""])
def test_what_cannot_be_looked_for_is_refused(text):
    with pytest.raises(ConfigError, match=r"agent.model.probe: .* lmstudio, ollama"):
        wanted([text])


@pytest.mark.parametrize("name", ["ollama:warm", "http://127.0.0.1:8000/v1#big"])
def test_what_was_found_is_in_force_as_if_it_had_been_set(tmp_path, name):
    loaded = selection.settled(load(home=tmp_path, environ={}), ModelChoice(name, "found it"))

    assert names.configured_name(loaded.settings.agent.model) == name
    assert loaded.origin("agent.model.selected") == "found it"
