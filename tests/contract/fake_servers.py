"""The model servers people run at home, as far as looking at them goes."""

import socket
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from long_running_agents.models.detection import KNOWN

LM_STUDIO = {
    "/api/v1/models": {
        "models": [
            {"type": "embedding", "key": "nomic-embed-text", "loaded_instances": []},
            {"type": "llm", "key": "qwen/qwen3-30b", "loaded_instances": []},
            {
                "type": "llm",
                "key": "qwen/qwen3-8b",
                "loaded_instances": [{"id": "qwen3-8b", "config": {"context_length": 4096}}],
                "max_context_length": 32768,
                "capabilities": {"trained_for_tool_use": True},
            },
        ]
    }
}
OLD_LM_STUDIO = {
    # It answers 200 to what it does not know.
    "/api/v1/models": {"error": "Unexpected endpoint or method. (GET /api/v1/models)"},
    "/api/v0/models": {
        "object": "list",
        "data": [
            {"id": "nomic", "type": "embeddings", "state": "not-loaded"},
            {"id": "qwen2.5", "type": "llm", "state": "loaded", "loaded_context_length": 8192},
        ],
    },
}
OLLAMA = {
    "/api/version": {"version": "0.12.3"},
    "/api/tags": {
        "models": [
            {"name": "nomic-embed-text:latest"},
            {"name": "llama3.2:3b"},
            {"name": "qwen3:8b"},
        ]
    },
    "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 4096}]},
}
VLLM = {
    "/version": {"version": "0.11.0"},
    "/v1/models": {
        "object": "list",
        "data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}],
    },
}
LLAMA_SERVER = {
    "/health": {"status": "ok"},
    "/v1/models": {
        "models": [{"name": "qwen3.gguf"}],
        "data": [{"id": "qwen3.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}],
    },
    "/props": {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1},
}
LOADING = {"/health": (503, {"error": {"code": 503, "message": "Loading model"}})}
STRANGER = {
    "/health": {"status": "ok"},
    "/version": {"version": "1.0"},
    "/v1/models": {"object": "list", "data": [{"id": "mine", "owned_by": "me"}]},
    "/props": [],
    "/api/version": "not an object",
}


def known(key, port):
    """A kind of server, looked for at another port than its own."""
    [kind] = [each for each in KNOWN if each.key == key]
    return replace(kind, port=port)


class FakeServer:
    """Answers GET with fixed bodies, and remembers what it was asked."""

    def __init__(self, bodies):
        self.asked = []
        self.port = 0
        self._bodies = bodies
        self._app = Starlette(
            routes=[Route("/{path:path}", self._answer, methods=["GET", "POST", "PUT", "DELETE"])]
        )

    async def _answer(self, request):
        path = request.url.path
        self.asked.append((request.method, path, dict(request.headers)))
        body = self._bodies.get(path)
        if callable(body) and not isinstance(body, Response):
            body = body(await request.json())
        if isinstance(body, tuple):
            return JSONResponse(body[1], status_code=body[0])
        if body is None:
            return PlainTextResponse("404 page not found", status_code=404)
        return body if isinstance(body, Response) else JSONResponse(body)

    @asynccontextmanager
    async def running(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False
        )
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup(sockets=[listener])
        try:
            yield self
        finally:
            for each in server.servers:
                each.close()
            for connection in tuple(server.server_state.connections):
                connection.transport.abort()
            listener.close()


@contextmanager
def silent_port():
    """A port that can be connected to, and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]
