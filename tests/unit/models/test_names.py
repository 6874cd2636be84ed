from typing import get_args

import pytest
from pydantic_ai.models import KnownModelName

from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError
from long_running_agents.models import names
from long_running_agents.models.names import ModelName, parse

OWN = ModelSettings(base_url="http://10.0.0.1/v1", model_id="qwen")


@pytest.mark.parametrize(
    ("text", "settings", "name"),
    [
        ("openai:gpt-5", None, ModelName("openai", "gpt-5")),
        ("ollama:qwen3:8b", OWN, ModelName("ollama", "qwen3:8b")),
        ("anthropic:claude", None, ModelName("anthropic", "claude")),
        ("local:", None, ModelName("local", "")),
        ("local", OWN, ModelName("local", "")),
        ("local:small", None, ModelName("local", "small")),
        ("qwen", OWN, ModelName("custom", "qwen")),
        ("custom:qwen:7b", OWN, ModelName("custom", "qwen:7b")),
        ("http://h:1/v1#m:7b", None, ModelName("custom", "m:7b", "http://h:1/v1")),
        ("https://h/v1/#a/b", OWN, ModelName("custom", "a/b", "https://h/v1")),
    ],
)
def test_a_name_is_taken_apart(text, settings, name):
    assert parse(text, settings) == name


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("gpt-5", "expected 'provider:model'"),
        ("openai:", "expected 'provider:model'"),
        ("http://h/v1", "'address#model'"),
        ("http://#m", "'address#model'"),
        ("http://[#m", "'address#model'"),
        ("opnai:gpt-5", r"Did you mean openai:gpt-5\? 'lra models list'"),
        ("custom:x", r"agent.model.base_url \(AGENT_MODEL_URL\)"),
        ("nonsense:x", "lra models use NAME"),
        ("http://me:secret@h/v1#m", "AGENT_MODEL_KEY"),
    ],
)
def test_a_wrong_name_says_what_is_right(text, advice):
    with pytest.raises(ConfigError, match=advice) as refused:
        parse(text)
    assert "secret" not in str(refused.value)


def test_our_key_goes_to_the_address_it_is_for_and_nowhere_else():
    same = names.server_of(parse("http://10.0.0.1/v1#other", OWN), OWN)
    others = [
        names.server_of(parse(f"{address}#other", OWN), OWN).key
        for address in ("http://10.0.0.2/v1", "https://10.0.0.2/v1", "http://10-0.0.2/v1")
    ]

    assert same.key == "AGENT_MODEL_KEY"
    assert len({same.key, *others}) == 4


@pytest.mark.parametrize(
    ("text", "settings", "advice"),
    [
        ("qwen", OWN, "agent.model.base_url (AGENT_MODEL_URL) says http://10.0.0.1/v1."),
        ("ollama:x", OWN, "Is the server at http://127.0.0.1:11434/v1 running?"),
        ("openai:x", OWN, "with OPENAI_API_KEY."),
        ("anthropic:x", OWN, "'lra models list'"),
    ],
)
def test_a_silent_model_says_which_setting_and_which_command(text, settings, advice):
    told = names.advice(parse(text, settings), settings)

    assert advice in told
    assert "'lra models use NAME' chooses" in told


def test_the_models_behind_keys_and_short_cuts_are_known_ones():
    known = get_args(KnownModelName.__value__)

    assert names.GEMINI in known
    assert {name for name in names.USUAL.values() if not name.startswith("openrouter:")} <= {*known}
    assert {*names.USUAL} == {
        *names.LIBRARY,
        *(name for name, each in names.SERVERS.items() if each.needs_key),
    }


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ollama:qwen3", "OLLAMA_CONTEXT_LENGTH=32768"),
        ("http://127.0.0.1:11434/v1#qwen3", "OLLAMA_CONTEXT_LENGTH=32768"),
        ("lmstudio:qwen3", "--context-length 32768"),
        ("http://127.0.0.1:8080/v1#qwen3", "llama-server -c"),
    ],
)
def test_each_server_has_its_own_way_to_read_more(name, remedy):
    settings = ModelSettings()

    assert remedy in names.roomier(names.parse(name, settings), settings)
