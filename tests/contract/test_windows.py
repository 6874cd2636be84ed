"""What a server says about its windows is found, and what it would only guess at is marked."""

import pytest
from tests.contract.fake_servers import LLAMA_SERVER, LM_STUDIO, OLLAMA, STRANGER, VLLM, FakeServer

from long_running_agents.errors import ConfigError
from long_running_agents.models import detection
from long_running_agents.models.detection import probing_client, window_at, with_idle
from long_running_agents.testing import make_app

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patience")]

SHOWN = {
    "roomy": {
        "parameters": 'stop "<|end|>"\nnum_ctx                        16384\n',
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
    },
    "greedy": {"parameters": "num_ctx 99999", "model_info": {"llama.context_length": 8192}},
    "plain": {"model_info": {"llama.context_length": 131072}},
    "tiny": {"model_info": {"llama.context_length": 2048}},
    "odd": {"parameters": None, "model_info": "none"},
}
IDLE = {
    **OLLAMA,
    "/api/tags": {"models": [{"name": f"{name}:latest"} for name in (*SHOWN, "gone", "embed")]},
    "/api/show": lambda asked: (
        SHOWN.get(asked["model"].removesuffix(":latest")) or (404, {"error": "not found"})
    ),
}


def at(server):
    return f"http://127.0.0.1:{server.port}/v1"


@pytest.mark.parametrize(
    ("bodies", "model", "window"),
    [
        (LM_STUDIO, "qwen/qwen3-8b", 4096),
        (LM_STUDIO, "qwen/qwen3-30b", None),
        (OLLAMA, "qwen3:8b", 4096),
        (VLLM, "Qwen/Qwen3-8B", 40960),
        (LLAMA_SERVER, "qwen3.gguf", 8192),
        (LLAMA_SERVER, "another", None),
        (STRANGER, "mine", None),
        ({"/v1/models": {"data": [{"id": "mine", "max_model_len": 2048}]}}, "mine", 2048),
        ({}, "mine", None),
        # What is set is certain; what Ollama does when nothing is set is not ours to know.
        (IDLE, "roomy", 16384),
        (IDLE, "roomy:latest", 16384),
        (IDLE, "greedy", 8192),
        (IDLE, "plain", None),
        (IDLE, "gone", None),
    ],
)
async def test_a_server_is_asked_for_the_window_of_a_model(bodies, model, window):
    async with FakeServer(bodies).running() as server, probing_client() as client:
        assert await window_at(client, at(server), model) == window


async def test_idle_models_are_listed_with_what_they_would_be_loaded_with():
    async with FakeServer(IDLE).running() as server, probing_client() as client:
        found = await with_idle(client, await detection.at(client, at(server)))
    windows = {
        model.name.removesuffix(":latest"): (model.context_window, model.assumed)
        for model in found.models
    }

    assert windows == {
        "roomy": (16384, False),
        "greedy": (8192, False),
        "plain": (4096, True),
        "tiny": (2048, True),
        "odd": (4096, True),
        "gone": (None, False),
        "embed": (None, False),
    }
    posted = {path for method, path, _ in server.asked if method == "POST"}
    assert posted == {"/api/show"}


async def test_the_key_of_a_server_is_shown_to_it_alone():
    async with FakeServer(VLLM).running() as server, probing_client() as client:
        await window_at(client, at(server), "m", "own-key")

    assert {headers["authorization"] for _, _, headers in server.asked} == {"Bearer own-key"}


async def test_an_app_knows_what_its_server_says(tmp_path):
    little = {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 300}]}}
    async with FakeServer(little).running() as server:
        environ = {"AGENT_MODEL_URL": at(server), "AGENT_MODEL": "m"}
        with pytest.raises(ConfigError, match="context window of 300 tokens is too small"):
            async with make_app(tmp_path, environ=environ):
                pass
        # A person knows better.
        async with make_app(tmp_path, environ=environ, agent__model__context_window=9000):
            pass


async def test_an_app_opens_whatever_its_model_is_called(tmp_path):
    async with make_app(tmp_path, environ={"AGENT_MODEL": "nonsense:x"}):
        pass
