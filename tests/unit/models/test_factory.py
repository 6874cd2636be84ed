import json

import httpx2
import pytest
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters

from long_running_agents.config import load
from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.models.factory import ModelFactory, OneModel
from long_running_agents.models.names import LIBRARY, configured_name, installed
from long_running_agents.models.quirks import ALL, Capabilities, ability_of
from long_running_agents.testing import ScriptedModel, say

pytestmark = pytest.mark.anyio

KEYS = {"OPENAI_API_KEY": "key-openai", "OPENROUTER_API_KEY": "key-openrouter"}


class Wire:
    """A network that only takes notes."""

    def __init__(self):
        self.sent = []
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer))

    def answer(self, request):
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.sent.append((str(request.url), bearer, json.loads(request.content)["model"]))
        choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"choices": [choice]})


def factory(wire, variables=KEYS, **settings):
    return ModelFactory(ModelSettings(**settings), variables, wire.client)


async def asked(wire, made, name=None):
    """Ask the first choice and see what went over the wire."""
    model = made.choices(name)[0].model
    await model.request([ModelRequest.user_text_prompt("x")], None, ModelRequestParameters())
    return wire.sent[-1]


@pytest.fixture
async def wire(model_requests):
    made = Wire()
    yield made
    await made.client.aclose()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, None),
        ({"provider": "openai"}, None),
        ({"base_url": "http://x/v1"}, None),
        ({"model_id": "openai:gpt-5-mini"}, "openai:gpt-5-mini"),
        ({"provider": "openai", "model_id": "gpt-5-mini"}, "openai:gpt-5-mini"),
        ({"model_id": "qwen", "base_url": "http://x/v1"}, "custom:qwen"),
        ({"model_id": "qwen:7b", "base_url": "http://x/v1"}, "custom:qwen:7b"),
        ({"provider": "ollama", "model_id": "qwen:7b"}, "ollama:qwen:7b"),
    ],
)
def test_the_settings_name_a_model(settings, name):
    assert configured_name(ModelSettings(**settings)) == name


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("openai:gpt-5-mini", ("https://api.openai.com/v1", "key-openai", "gpt-5-mini")),
        ("openrouter:meta/llama:free",
         ("https://openrouter.ai/api/v1", "key-openrouter", "meta/llama:free")),
        ("ollama:qwen3:8b", ("http://127.0.0.1:11434/v1", "no-key", "qwen3:8b")),
        ("lmstudio:qwen", ("http://127.0.0.1:1234/v1", "no-key", "qwen")),
    ],
)  # fmt: skip
async def test_a_name_says_where_to_ask_and_with_which_key(wire, name, sent):
    url, key, model = sent

    assert await asked(wire, factory(wire), name) == (f"{url}/chat/completions", key, model)


@pytest.mark.parametrize(
    "settings",
    [
        {"model_id": "qwen"},
        {"model_id": "qwen", "provider": "lmstudio"},
        {"model_id": "qwen", "provider": "mine"},
        {"model_id": "qwen", "provider": "custom"},
    ],
)
async def test_an_address_of_ones_own_never_gets_another_providers_key(wire, settings):
    settings = {**settings, "base_url": "http://10.0.0.1/v1/"}

    url, key, model = await asked(wire, factory(wire, **settings))
    assert (url, key, model) == ("http://10.0.0.1/v1/chat/completions", "no-key", "qwen")
    own = {**KEYS, "AGENT_MODEL_KEY": "key-own"}
    assert (await asked(wire, factory(wire, own, **settings)))[1] == "key-own"


async def test_another_provider_is_asked_at_its_own_address(wire):
    made = factory(wire, model_id="qwen", base_url="http://10.0.0.1/v1")

    assert (await asked(wire, made, "openai:gpt-5"))[:2] == (
        "https://api.openai.com/v1/chat/completions",
        "key-openai",
    )
    assert (await asked(wire, made, "other-model"))[0].startswith("http://10.0.0.1/")


async def test_a_key_in_the_env_file_of_the_home_works(wire, tmp_path):
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=from-file\nAGENT_MODEL=openai:gpt-5-mini\n", encoding="utf-8"
    )
    loaded = load(home=tmp_path, environ={})
    made = ModelFactory(loaded.settings.agent.model, loaded.variables, wire.client)

    assert (await asked(wire, made))[1] == "from-file"


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:x", "OPENAI_API_KEY"), ("openrouter:x", "OPENROUTER_API_KEY")]
)
def test_a_missing_key_is_named(name, variable):
    for variables in ({}, {variable: ""}):
        with pytest.raises(NotConfigured, match=rf"{variable} is not set.*Export {variable}"):
            factory(Wire(), variables).choices(name)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_a_provider_whose_package_is_missing_says_how_to_get_it(provider):
    if installed(LIBRARY[provider][0]):
        pytest.skip(f"{provider} is installed")
    with pytest.raises(NotConfigured, match=rf"pip install 'long-running-agents\[{provider}\]'"):
        factory(Wire()).choices(f"{provider}:x")


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"'nonsense' is not known: use one of openai, openrouter"
    ):
        factory(Wire()).choices("nonsense:x")


@pytest.mark.parametrize("name", ["gpt-5", "openai:"])
def test_a_name_without_a_provider_or_model_is_refused_with_the_form(name):
    with pytest.raises(ConfigError, match="expected 'provider:model'"):
        factory(Wire()).choices(name)


def test_without_any_model_the_way_to_one_is_shown():
    with pytest.raises(NotConfigured, match=r"No model is configured. .*AGENT_MODEL_URL.*lra demo"):
        factory(Wire(), {}).choices(None)


def test_fallbacks_follow_in_order_and_only_once():
    made = factory(
        Wire(), model_id="openai:a", fallback=("ollama:b", "openai:a", "openrouter:c", "ollama:b")
    )

    assert [choice.name for choice in made.choices(None)] == [
        "openai:a",
        "ollama:b",
        "openrouter:c",
    ]
    assert [choice.name for choice in made.choices("ollama:b")] == [
        "ollama:b", "openai:a", "openrouter:c",
    ]  # fmt: skip


def test_a_model_is_made_once():
    made = factory(Wire())

    assert made.choices("openai:a")[0] is made.choices("openai:a")[0]


class Notebook:
    """Knows one old model, and takes note of who is asked about."""

    def __init__(self):
        self.asked = []

    def ability(self, endpoint, model):
        return Capabilities(native_tools=False) if model == "old" else ALL

    def learned(self, endpoint, model):
        self.asked.append((endpoint, model))


def test_what_is_known_of_a_model_is_heeded_and_what_it_teaches_is_heard():
    notebook = Notebook()
    settings = ModelSettings(base_url="http://10.0.0.1/v1/", model_id="old")
    made = ModelFactory(settings, KEYS, Wire().client, known=notebook)
    names = ("old", "ollama:new", "openai:old")
    known = [made.choices(name)[0].model.wrapped.ability for name in names]

    assert [ability.lacks for ability in known] == [
        {"native_tools"}, set(), {"native_tools", "text_calls"},
    ]  # fmt: skip
    assert notebook.asked == [
        ("http://10.0.0.1/v1", "old"),
        ("http://127.0.0.1:11434/v1", "new"),
        ("https://api.openai.com/v1", "old"),
    ]


def test_a_model_that_is_there_already_answers_to_every_name():
    model = ScriptedModel([say("hi")])

    assert [choice.model for choice in OneModel(model).choices("whatever")] == [model]


@pytest.mark.parametrize(("declared", "sees"), [(None, True), (True, True), (False, False)])
async def test_the_settings_say_whether_a_model_sees(wire, declared, sees):
    [choice] = factory(wire, pictures=declared).choices("openai:gpt-5")
    assert ability_of(choice.model).pictures is sees
