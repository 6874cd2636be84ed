import httpx2
import pytest

from long_running_agents.config.settings import MemorySettings
from long_running_agents.errors import ConfigError
from long_running_agents.memory.factory import choose_embedder
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


class Network:
    """Answers every request with a vector, and remembers what was sent where."""

    def __init__(self):
        self.sent = []

    def __call__(self, request):
        self.sent.append((str(request.url), request.headers.get("authorization", "")))
        return httpx2.Response(200, json={"data": [{"index": 0, "embedding": [1.0, 0.0]}]})


async def asked(variables=None, **settings):
    """The space of the chosen embedder, and what it sent for one question."""
    network = Network()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(network)) as client:
        embedder = choose_embedder(
            MemorySettings(**settings), variables or {}, client, clock=FrozenClock()
        )
        await embedder.query("boat")
        return embedder.space, network.sent


def space(**settings):
    return choose_embedder(MemorySettings(**settings), {}, httpx2.AsyncClient()).space


def test_without_settings_the_bundled_one_is_used():
    assert space() == "bundled:l2-supercat-256:1"


@pytest.mark.parametrize("settings", [{"embedder": "off"}, {"enabled": False}])
def test_it_can_be_switched_off(settings):
    assert choose_embedder(MemorySettings(**settings), {}, httpx2.AsyncClient()) is None


def test_a_named_embedder_goes_before_a_server():
    chosen = space(embedder="bundled", embedding_base_url="http://h/v1", embedding_model="m")
    assert chosen.startswith("bundled:")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("http://10.5.0.2:1234/v1", "10.5.0.2:1234"),
        ("https://me:secret@example.org/v1?key=secret", "example.org:443"),
        ("http://[::1]/v1", "::1:80"),
    ],
)
def test_the_space_of_a_server_names_the_model_and_the_place_and_no_secret(address, place):
    assert space(embedding_base_url=address, embedding_model="m:latest") == (
        f"server:m:latest@{place}"
    )


async def test_a_server_of_ones_own_gets_the_key_for_it_and_no_other():
    keys = {"OPENAI_API_KEY": "theirs", "EMBEDDING_API_KEY": "own"}
    own = {"embedding_base_url": "http://h:1/v1", "embedding_model": "m"}

    assert (await asked(keys, **own))[1] == [("http://h:1/v1/embeddings", "Bearer own")]
    assert (await asked({"OPENAI_API_KEY": "theirs"}, **own))[1][0][1] == ""


async def test_openai_gets_its_key_by_name_and_by_address():
    keys = {"OPENAI_API_KEY": "theirs"}
    address = "https://api.openai.com/v1"
    sent = [(f"{address}/embeddings", "Bearer theirs")]

    assert await asked(keys, embedding_model="openai:small") == ("openai:small", sent)
    assert (await asked(keys, embedding_base_url=address, embedding_model="small"))[1] == sent


async def test_a_local_server_can_be_named_and_its_models_may_have_colons():
    chosen, sent = await asked(embedding_model="ollama:nomic-embed-text:latest")

    assert chosen == "ollama:nomic-embed-text:latest"
    assert sent == [("http://127.0.0.1:11434/v1/embeddings", "")]


def test_other_providers_are_loaded_when_they_are_asked():
    assert space(embedding_model="voyageai:voyage-4") == "voyageai:voyage-4"


@pytest.mark.parametrize(
    "settings",
    [
        {"embedding_model": "nomic-embed-text:latest"},
        {"embedding_model": "small"},
        {"embedding_model": "openai:"},
        {"embedding_base_url": "http://h/v1"},
        {"embedding_base_url": "h:80/v1", "embedding_model": "m"},
        {"embedding_base_url": "http://[/v1", "embedding_model": "m"},
        {"embedding_base_url": "http://h:99999/v1", "embedding_model": "m"},
    ],
)
def test_settings_that_name_nothing_are_refused_with_the_key_to_change(settings):
    with pytest.raises(ConfigError, match=r"memory\.embedding_|such as http"):
        space(**settings)
