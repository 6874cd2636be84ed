"""Model servers on this machine: a table of the known ones, and a look at who answers.

Only GET, only loopback unless a person named the address, never a prompt: looking costs a server
nothing and tells it nothing.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx2

from long_running_agents.errors import ConfigError
from long_running_agents.models.names import SERVERS

Json = dict[str, Any]

_HOST = "127.0.0.1"
_OK = 200
_UNAVAILABLE = 503
_LAST_PORT = 65535
_TIMEOUT = httpx2.Timeout(1.0, connect=0.3)
_LONGEST = 2.0
"""Seconds after which a server that trickles its answer is given up."""
_MOST_BYTES = 2_000_000
_EMBEDDINGS = ("embed", "bge-", "rerank")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that a server says it has."""

    name: str
    context_window: int | None = None
    """Tokens it reads at once as it is loaded now; None when the server does not say."""
    loaded: bool | None = None
    """Whether it is in memory; None when the server does not say."""
    chats: bool = True
    """Whether it is for conversations, and not for embeddings."""
    assumed: bool = False
    """Whether the window is only what such a server usually takes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answered."""

    kind: str
    """What it is, for a person."""
    provider: str
    """The provider its models are named by, if it has a name of its own."""
    base_url: str
    models: tuple[FoundModel, ...]
    loading: bool = False
    """Whether it is still reading its model from the disk."""

    @property
    def address(self) -> str:
        """Host and port."""
        return self.base_url.partition("://")[2].partition("/")[0]

    def full_name(self, model: FoundModel) -> str:
        """The name under which a model of this server can be asked."""
        known = SERVERS.get(self.provider)
        if known is not None and known.base_url == self.base_url:
            return f"{self.provider}:{model.name}"
        return f"{self.base_url}#{model.name}"

    def usual(self) -> FoundModel | None:
        """The model to ask when none is named: one in memory, else the first for conversations."""
        chatting = [model for model in self.models if model.chats]
        return next((model for model in chatting if model.loaded), next(iter(chatting), None))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back from one path."""

    status: int
    body: Json

    @property
    def ok(self) -> bool:
        """Whether the path exists and answered."""
        return self.status == _OK


Replies = Mapping[str, Reply]
Read = Callable[[Replies], "tuple[FoundModel, ...] | None"]


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of server, and how to tell it."""

    key: str
    """What ``agent.model.probe`` calls it."""
    kind: str
    port: int
    paths: tuple[str, ...]
    """What is read from it."""
    read: Read
    """From the replies to the models; None when it is some other server."""

    @property
    def base_url(self) -> str:
        """Where its chat completions are."""
        return f"http://{_HOST}:{self.port}/v1"


def _lm_studio(replies: Replies) -> tuple[FoundModel, ...] | None:
    newer, older = replies.get("/api/v1/models"), replies.get("/api/v0/models")
    if newer is not None and newer.ok and "models" in newer.body:
        return tuple(_lm_studio_model(item) for item in _items(newer.body, "models"))
    if older is not None and older.ok and "data" in older.body:
        return tuple(
            FoundModel(
                _name(item),
                _number(item.get("loaded_context_length")),
                loaded=item.get("state") == "loaded",
                chats=item.get("type") != "embeddings",
            )
            for item in _items(older.body, "data")
        )
    return None


def _lm_studio_model(item: Json) -> FoundModel:
    instances = _items(item, "loaded_instances")
    window = None
    if instances:
        # The window it was loaded with, which is often less than the model could have.
        config: object = instances[0].get("config")
        window = _number(cast("Json", config).get("context_length")) if _is_json(config) else None
    return FoundModel(
        _name(item), window, loaded=bool(instances), chats=item.get("type") != "embedding"
    )


def _ollama(replies: Replies) -> tuple[FoundModel, ...] | None:
    version, tags = replies.get("/api/version"), replies.get("/api/tags")
    if version is None or not version.ok or "version" not in version.body:
        return None
    running = replies.get("/api/ps")
    loaded = {_name(item): item for item in _items(running.body if running else {}, "models")}
    return tuple(
        FoundModel(
            name,
            _number(loaded.get(name, {}).get("context_length")),
            loaded=name in loaded,
            chats=not any(mark in name for mark in _EMBEDDINGS),
        )
        for name in (_name(item) for item in _items(tags.body if tags else {}, "models"))
    )


def _vllm(replies: Replies) -> tuple[FoundModel, ...] | None:
    listed = replies.get("/v1/models")
    items = _items(listed.body, "data") if listed is not None and listed.ok else []
    if not any(item.get("owned_by") == "vllm" for item in items):
        return None
    return tuple(
        FoundModel(_name(item), _number(item.get("max_model_len")), loaded=True) for item in items
    )


def _llama_server(replies: Replies) -> tuple[FoundModel, ...] | None:
    health, listed, props = (replies.get(path) for path in ("/health", "/v1/models", "/props"))
    if health is not None and health.status == _UNAVAILABLE:
        error: object = health.body.get("error")
        return () if "oading model" in str(error) else None
    items = _items(listed.body, "data") if listed is not None and listed.ok else []
    if not any(item.get("owned_by") == "llamacpp" for item in items):
        return None
    settings: object = props.body.get("default_generation_settings") if props else None
    window = _number(cast("Json", settings).get("n_ctx")) if _is_json(settings) else None
    return tuple(
        FoundModel(_name(item), window or _number(_meta(item).get("n_ctx")), loaded=True)
        for item in items
    )


KNOWN: tuple[Known, ...] = (
    Known("lmstudio", "LM Studio", 1234, ("/api/v1/models", "/api/v0/models"), _lm_studio),
    Known("ollama", "Ollama", 11434, ("/api/version", "/api/tags", "/api/ps"), _ollama),
    Known("vllm", "vLLM", 8000, ("/version", "/v1/models"), _vllm),
    Known("llama-server", "llama-server", 8080, ("/health", "/v1/models", "/props"), _llama_server),
)
"""Every server that is recognised, with its usual port."""


def wanted(probe: Sequence[str]) -> list[Known]:
    """The servers that ``agent.model.probe`` asks to look for, as kind or kind:port.

    Raises:
        ConfigError: There is no such kind, or no such port.
    """
    known = {each.key: each for each in KNOWN}
    found: list[Known] = []
    for text in probe:
        kind, _, port = text.partition(":")
        if kind not in known or (port and not (port.isdecimal() and 0 < int(port) <= _LAST_PORT)):
            raise ConfigError(
                f"agent.model.probe: {text!r} not understood:",
                hint=f"expected one of {', '.join(known)}, with or without a :port.",
            )
        found.append(replace(known[kind], port=int(port)) if port else known[kind])
    return found


async def probe(client: httpx2.AsyncClient, servers: Sequence[Known] = KNOWN) -> list[Found]:
    """See which servers answer, all at once; the order is that of the table."""
    answers = await asyncio.gather(*(_look(client, server) for server in servers))
    return [found for found in answers if found is not None]


def probing_client() -> httpx2.AsyncClient:
    """A client for probing: no proxy of the environment, no redirect elsewhere."""
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=_TIMEOUT)


async def at(client: httpx2.AsyncClient, base_url: str, key: str = "") -> Found | None:
    """Which kind of server answers at an address that somebody has named."""
    base_url = base_url.rstrip("/")
    answers = await asyncio.gather(
        *(_look(client, server, base_url, _bearer(key)) for server in KNOWN)
    )
    return next((found for found in answers if found is not None), None)


async def listed(client: httpx2.AsyncClient, base_url: str, key: str = "") -> list[str] | None:
    """The models that any server lists; None when nobody answers."""
    items = await items_at(client, base_url, key)
    return None if items is None else [_name(item) for item in items]


async def items_at(client: httpx2.AsyncClient, base_url: str, key: str = "") -> list[Json] | None:
    """What any server says about its models; None when nobody answers."""
    reply = await fetch_json(client, f"{base_url.rstrip('/')}/models", _bearer(key))
    if reply is None or not reply.ok:
        return None
    return [item for table in ("data", "models") for item in _items(reply.body, table)]


def _bearer(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


async def _look(
    client: httpx2.AsyncClient,
    server: Known,
    base_url: str = "",
    headers: Mapping[str, str] | None = None,
) -> Found | None:
    base_url = base_url or server.base_url
    root = base_url.removesuffix("/v1")
    replies = await asyncio.gather(
        *(fetch_json(client, root + path, headers) for path in server.paths)
    )
    heard = {
        path: reply for path, reply in zip(server.paths, replies, strict=True) if reply is not None
    }
    models = server.read(heard)
    if models is None:
        return None
    provider = server.key if server.key in SERVERS else ""
    health = heard.get("/health")
    loading = not models and health is not None and not health.ok
    return Found(server.kind, provider, base_url, models, loading=loading)


async def fetch_json(
    client: httpx2.AsyncClient,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: Json | None = None,
) -> Reply | None:
    """One GET, or a POST if there is a body; None when nobody there speaks JSON."""
    method = "GET" if body is None else "POST"
    try:
        async with (
            asyncio.timeout(_LONGEST),
            client.stream(method, url, headers=headers, json=body, timeout=_TIMEOUT) as reply,
        ):
            raw = b""
            async for piece in reply.aiter_bytes():
                raw += piece
                if len(raw) > _MOST_BYTES:
                    return None
            said: object = json.loads(raw)
    except (httpx2.HTTPError, TimeoutError, ValueError):
        return None
    return Reply(reply.status_code, cast("Json", said)) if _is_json(said) else None


def _is_json(value: object) -> bool:
    return isinstance(value, dict)


def _items(body: Json, key: str) -> list[Json]:
    found: object = body.get(key)
    if not isinstance(found, list):
        return []
    return [cast("Json", item) for item in cast("list[object]", found) if _is_json(item)]


def _meta(item: Json) -> Json:
    meta: object = item.get("meta")
    return cast("Json", meta) if _is_json(meta) else {}


def _name(item: Json) -> str:
    return str(item.get("id") or item.get("key") or item.get("name") or "")


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
