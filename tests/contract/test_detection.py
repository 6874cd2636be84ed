"""Servers on this machine are recognised by what they answer, and are asked nothing else."""

import httpx2
import pytest
from starlette.responses import PlainTextResponse, RedirectResponse
from tests.contract.fake_servers import (
    LLAMA_SERVER,
    LM_STUDIO,
    LOADING,
    OLD_LM_STUDIO,
    OLLAMA,
    STRANGER,
    VLLM,
    FakeServer,
    known,
    silent_port,
)

from long_running_agents.models import detection
from long_running_agents.models.detection import FoundModel, listed, probe, probing_client

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("patience")]


async def look(key, bodies):
    async with FakeServer(bodies).running() as server, probing_client() as client:
        found = await probe(client, [known(key, server.port)])
    return server, found


@pytest.mark.parametrize(
    ("key", "bodies", "usual"),
    [
        ("lmstudio", LM_STUDIO, FoundModel("qwen/qwen3-8b", 4096, loaded=True)),
        ("lmstudio", OLD_LM_STUDIO, FoundModel("qwen2.5", 8192, loaded=True)),
        ("ollama", OLLAMA, FoundModel("qwen3:8b", 4096, loaded=True)),
        ("vllm", VLLM, FoundModel("Qwen/Qwen3-8B", 40960, loaded=True)),
        ("llama-server", LLAMA_SERVER, FoundModel("qwen3.gguf", 8192, loaded=True)),
    ],
)
async def test_a_server_is_recognised_with_its_loaded_model_and_real_window(key, bodies, usual):
    server, [found] = await look(key, bodies)

    assert found.usual() == usual
    assert found.base_url == f"http://127.0.0.1:{server.port}/v1"
    assert found.full_name(usual) == f"http://127.0.0.1:{server.port}/v1#{usual.name}"
    assert not found.loading


@pytest.mark.parametrize(
    ("key", "bodies"),
    [("lmstudio", LM_STUDIO), ("ollama", OLLAMA), ("vllm", VLLM), ("llama-server", LLAMA_SERVER)],
)
async def test_looking_is_only_ever_a_get_and_shows_no_key(key, bodies, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server, _ = await look(key, bodies)

    assert server.asked
    assert {method for method, _, _ in server.asked} == {"GET"}
    assert not any("authorization" in headers for _, _, headers in server.asked)


async def test_all_are_found_at_once_in_the_order_of_the_table():
    async with (
        FakeServer(LM_STUDIO).running() as first,
        FakeServer(OLLAMA).running() as second,
        FakeServer(LLAMA_SERVER).running() as third,
        probing_client() as client,
    ):
        wanted = [
            known("lmstudio", first.port),
            known("ollama", second.port),
            known("llama-server", third.port),
        ]
        found = await probe(client, wanted)

    assert [each.kind for each in found] == ["LM Studio", "Ollama", "llama-server"]


async def test_models_for_embeddings_are_not_for_talking():
    _, [found] = await look("ollama", OLLAMA)

    assert [model.name for model in found.models if not model.chats] == ["nomic-embed-text:latest"]


async def test_a_server_that_is_still_loading_is_there_without_a_model():
    _, [found] = await look("llama-server", LOADING)

    assert found.loading
    assert found.usual() is None


@pytest.mark.parametrize("key", ["lmstudio", "ollama", "vllm", "llama-server"])
@pytest.mark.parametrize(
    "bodies",
    [
        {},
        STRANGER,
        {"/v1/models": PlainTextResponse("<html>"), "/api/version": PlainTextResponse("hi")},
        {"/v1/models": {"data": "none"}, "/api/v1/models": {"models": None}},
        {"/v1/models": {"data": [1, None, {"owned_by": 7}]}, "/health": (503, {})},
    ],
)
async def test_any_other_server_is_left_alone(key, bodies):
    _, found = await look(key, bodies)

    assert not [each for each in found if each.models]


async def test_a_redirect_is_not_followed():
    async with FakeServer(OLLAMA).running() as target:
        away = RedirectResponse(f"http://127.0.0.1:{target.port}/api/version")
        _, found = await look("ollama", {"/api/version": away})

    assert found == []
    assert target.asked == []


async def test_nobody_there_and_nobody_speaking_are_the_same(monkeypatch):
    monkeypatch.setattr(detection, "_TIMEOUT", httpx2.Timeout(0.2))
    with silent_port() as silent:
        async with probing_client() as client:
            assert await probe(client, [known("vllm", silent)]) == []
    async with probing_client() as client:
        assert await probe(client, [known("ollama", silent)]) == []


@pytest.mark.parametrize("field", ["id", "name", "key"])
@pytest.mark.parametrize("table", ["data", "models"])
async def test_any_servers_models_can_be_listed(table, field):
    bodies = {"/v1/models": {table: [{field: "a"}, {field: "b"}]}}
    async with FakeServer(bodies).running() as server, probing_client() as client:
        url = f"http://127.0.0.1:{server.port}/v1/"
        assert await listed(client, url, "own-key") == ["a", "b"]

    assert server.asked[0][2]["authorization"] == "Bearer own-key"
    async with probing_client() as client:
        assert await listed(client, url) is None
