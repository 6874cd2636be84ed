"""Model servers on this machine: a table of the known ones, and a look at who answers.

Only GET, only loopback unless a person named the address, never a prompt: looking costs a server
nothing and tells it nothing.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import cast

import httpx2

from long_running_agents.errors import ConfigError
from long_running_agents.models.chat_protocol import Json, table, tables
from long_running_agents.models.names import CHOOSE, SERVERS

_HOST = "127.0.0.1"
_OK = 200
_UNAVAILABLE = 503
_LAST_PORT = 65535
_TIMEOUT = httpx2.Timeout(2.0, connect=0.5)
_LONGEST = 3.0
"""Seconds after which a server that trickles its answer is given up."""
_MOST_BYTES = 2_000_000
_JSON = "application/json"
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
class FoundServer:
    """A server that answered."""

    kind: str
    """What it is, for a person."""
    provider: str
    """The provider its models are named by, if it has a name of its own."""
    base_url: str
    models: tuple[FoundModel, ...]
    loading: bool = False
    """Whether it is still reading its model from the disk."""
    configured: str = ""
    """The provider its models are named by when it is the server of the settings."""

    @property
    def address(self) -> str:
        """Host and port."""
        return self.base_url.partition("://")[2].partition("/")[0]

    def full_name(self, model: FoundModel) -> str:
        """The name under which a model of this server can be asked."""
        if self.configured:
            return f"{self.configured}:{model.name}"
        known = SERVERS.get(self.provider)
        if known is not None and known.base_url == self.base_url:
            return f"{self.provider}:{model.name}"
        return f"{self.base_url}#{model.name}"

    def usual(self) -> FoundModel | None:
        """The model to ask when none is named: one in memory, else the first for conversations."""
        chatting = [model for model in self.models if model.chats]
        return next((model for model in chatting if model.loaded), next(iter(chatting), None))


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """What came back from one path."""

    status: int
    body: Json
    kind: str = _JSON
    """What it is; anything but JSON has no body here."""

    @property
    def ok(self) -> bool:
        """Whether the path exists and answered."""
        return self.status == _OK


_SILENCE = ProbeReply(0, {})
Replies = Mapping[str, ProbeReply]
"""By path; silence where nobody spoke JSON."""
Read = Callable[[Replies], "tuple[FoundModel, ...] | None"]


@dataclass(frozen=True, slots=True)
class KnownServer:
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
    newer, older = replies["/api/v1/models"], replies["/api/v0/models"]
    if newer.ok and "models" in newer.body:
        return tuple(_lm_studio_model(item) for item in tables(newer.body, "models"))
    if not older.ok or "data" not in older.body:
        return None
    return tuple(
        FoundModel(
            name_of(item),
            _number(item.get("loaded_context_length")),
            loaded=item.get("state") == "loaded",
            chats=item.get("type") != "embeddings",
        )
        for item in tables(older.body, "data")
    )


def _lm_studio_model(item: Json) -> FoundModel:
    instances = tables(item, "loaded_instances")
    # The window it was loaded with, which is often less than the model could have.
    config = table(instances[0], "config") if instances else {}
    return FoundModel(
        name_of(item),
        _number(config.get("context_length")),
        loaded=bool(instances),
        chats=item.get("type") != "embedding",
    )


def _ollama(replies: Replies) -> tuple[FoundModel, ...] | None:
    version = replies["/api/version"]
    if not version.ok or "version" not in version.body:
        return None
    loaded = {name_of(item): item for item in tables(replies["/api/ps"].body, "models")}
    names = [name_of(item) for item in tables(replies["/api/tags"].body, "models")]
    return tuple(
        FoundModel(
            name,
            _number(loaded.get(name, {}).get("context_length")),
            loaded=name in loaded,
            chats=not any(mark in name for mark in _EMBEDDINGS),
        )
        for name in names
    )


def _owned(replies: Replies, owner: str) -> list[Json]:
    """The listed models, if they are of such a server."""
    listed = replies["/v1/models"]
    items = tables(listed.body, "data") if listed.ok else []
    return items if any(item.get("owned_by") == owner for item in items) else []


def _vllm(replies: Replies) -> tuple[FoundModel, ...] | None:
    items = _owned(replies, "vllm")
    models = [
        FoundModel(name_of(each), _number(each.get("max_model_len")), loaded=True) for each in items
    ]
    return tuple(models) or None


def _llama_server(replies: Replies) -> tuple[FoundModel, ...] | None:
    if (health := replies["/health"]).status == _UNAVAILABLE:
        return () if "oading model" in str(health.body.get("error")) else None
    settings = table(replies["/props"].body, "default_generation_settings")
    window = _number(settings.get("n_ctx"))
    models = [
        FoundModel(name_of(item), window or _number(table(item, "meta").get("n_ctx")), loaded=True)
        for item in _owned(replies, "llamacpp")
    ]
    return tuple(models) or None


KNOWN: tuple[KnownServer, ...] = (
    KnownServer("lmstudio", "LM Studio", 1234, ("/api/v1/models", "/api/v0/models"), _lm_studio),
    KnownServer("ollama", "Ollama", 11434, ("/api/version", "/api/tags", "/api/ps"), _ollama),
    KnownServer("vllm", "vLLM", 8000, ("/version", "/v1/models"), _vllm),
    KnownServer(
        "llama-server", "llama-server", 8080, ("/health", "/v1/models", "/props"), _llama_server
    ),
)
"""Every server that is recognised, with its usual port."""


def wanted(probe: Sequence[str]) -> list[KnownServer]:
    """The servers that ``agent.model.probe`` asks to look for, as kind or kind:port."""
    known = {each.key: each for each in KNOWN}
    found: list[KnownServer] = []
    for text in probe:
        kind, _, port = text.partition(":")
        if kind not in known or (port and not (port.isdecimal() and 0 < int(port) <= _LAST_PORT)):
            raise ConfigError(
                f"agent.model.probe: {text!r} not understood:",
                hint=f"expected one of {', '.join(known)}, with or without a :port.",
            )
        found.append(replace(known[kind], port=int(port)) if port else known[kind])
    return found


async def probe(
    client: httpx2.AsyncClient, servers: Sequence[KnownServer] = KNOWN
) -> list[FoundServer]:
    """See which servers answer, all at once; the order is that of the table."""
    answers = await asyncio.gather(*(_look(client, server) for server in servers))
    return [found for found in answers if found is not None]


def probing_client() -> httpx2.AsyncClient:
    """A client for probing: no proxy of the environment, no redirect elsewhere."""
    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=_TIMEOUT)


async def at(client: httpx2.AsyncClient, base_url: str, key: str = "") -> FoundServer | None:
    """Which kind of server answers at an address that somebody has named."""
    base_url = base_url.rstrip("/")
    answers = await asyncio.gather(
        *(_look(client, server, base_url, bearer(key)) for server in KNOWN)
    )
    return next((found for found in answers if found is not None), None)


async def listed(client: httpx2.AsyncClient, base_url: str, key: str = "") -> list[str] | None:
    """The models that any server lists; None when nobody answers."""
    items = await items_at(client, base_url, key)
    return None if items is None else [name_of(item) for item in items]


async def items_at(client: httpx2.AsyncClient, base_url: str, key: str = "") -> list[Json] | None:
    """What any server says about its models; None when nobody answers."""
    reply = await fetch_json(client, f"{base_url.rstrip('/')}/models", bearer(key))
    return None if reply is None else models_in(reply)


def models_in(reply: ProbeReply) -> list[Json] | None:
    """The models in an answer; None when it is no list of models."""
    keys = [key for key in ("data", "models") if isinstance(reply.body.get(key), list)]
    if not reply.ok or not keys:
        return None
    return [item for key in keys for item in tables(reply.body, key)]


def bearer(key: str) -> Mapping[str, str]:
    """The header that shows a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


async def _look(
    client: httpx2.AsyncClient,
    server: KnownServer,
    base_url: str = "",
    headers: Mapping[str, str] | None = None,
) -> FoundServer | None:
    base_url = base_url or server.base_url
    root = base_url.removesuffix("/v1")
    replies = await asyncio.gather(
        *(fetch_json(client, root + path, headers) for path in server.paths)
    )
    heard = dict(zip(server.paths, (reply or _SILENCE for reply in replies), strict=True))
    models = server.read(heard)
    if models is None:
        return None
    provider = server.key if server.key in SERVERS else ""
    loading = not models and heard.get("/health", _SILENCE).status == _UNAVAILABLE
    return FoundServer(server.kind, provider, base_url, models, loading=loading)


async def fetch_json(
    client: httpx2.AsyncClient,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: Json | None = None,
) -> ProbeReply | None:
    """One GET, or a POST if there is a body; None when nobody there speaks JSON."""
    try:
        reply = await fetch(client, url, headers, body)
    except (httpx2.HTTPError, TimeoutError):
        return None
    return reply if reply.kind == _JSON else None


async def fetch(
    client: httpx2.AsyncClient,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: Json | None = None,
    *,
    patience: float | None = None,
) -> ProbeReply:
    """What comes back, whatever it is."""
    method, timeout = "GET" if body is None else "POST", patience or _TIMEOUT
    async with (
        asyncio.timeout(patience or _LONGEST),
        client.stream(method, url, headers=headers, json=body, timeout=timeout) as reply,
    ):
        raw = b""
        async for piece in reply.aiter_bytes():
            raw += piece
            if len(raw) > _MOST_BYTES:
                break
    try:
        said: object = json.loads(raw)
    except ValueError:
        said = None
    if isinstance(said, dict):
        return ProbeReply(reply.status_code, cast("Json", said), _JSON)
    return ProbeReply(reply.status_code, {}, reply.headers.get("content-type", "no content type"))


def name_of(item: Json) -> str:
    """What a server calls one of its models."""
    return str(item.get("id") or item.get("key") or item.get("name") or "")


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


OLLAMAS_USUAL = 4096
"""What Ollama loads a model with unless it is told otherwise; OLLAMA_CONTEXT_LENGTH tells it, and
cannot be asked for."""

_MOST_SHOWN = 30
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
_FIELDS = ("max_model_len", "context_length", "context_window")


async def window_at(
    client: httpx2.AsyncClient, base_url: str, model: str, key: str = ""
) -> int | None:
    """The window that a model is served with; None when its server does not say for certain."""
    found = await at(client, base_url, key)
    if found is None:
        return await _listed(client, base_url, model, key)
    names = (model, f"{model}:latest")
    known = [each for each in found.models if each.name in names]
    if known and known[0].context_window is None:
        found = await with_idle(client, replace(found, models=tuple(known)))
        known = list(found.models)
    return known[0].context_window if known and not known[0].assumed else None


async def with_idle(client: httpx2.AsyncClient, found: FoundServer) -> FoundServer:
    """The same server, with what Ollama would load its idle models with."""
    if found.kind != "Ollama":
        return found
    models = found.models[:_MOST_SHOWN]
    filled = await asyncio.gather(*(_shown(client, found, each) for each in models))
    return replace(found, models=(*filled, *found.models[_MOST_SHOWN:]))


async def _shown(client: httpx2.AsyncClient, found: FoundServer, model: FoundModel) -> FoundModel:
    if model.context_window is not None or not model.chats:
        return model
    # A POST, but it changes nothing and loads nothing.
    url = f"{found.base_url.removesuffix('/v1')}/api/show"
    reply = await fetch_json(client, url, body={"model": model.name})
    if reply is None or not reply.ok:
        return model
    chosen = _NUM_CTX.search(str(reply.body.get("parameters") or ""))
    window = int(chosen[1]) if chosen else OLLAMAS_USUAL
    most = _made_for(reply.body)
    return replace(
        model, context_window=min(window, most) if most else window, assumed=chosen is None
    )


def _made_for(shown: Json) -> int | None:
    for key, value in table(shown, "model_info").items():
        if key.endswith(".context_length") and isinstance(value, int) and value > 0:
            return value
    return None


async def _listed(client: httpx2.AsyncClient, base_url: str, model: str, key: str) -> int | None:
    """What an unknown server says in its list of models."""
    for item in await items_at(client, base_url, key) or ():
        if item.get("id") == model:
            stated = [item.get(field) for field in _FIELDS]
            return next((each for each in stated if isinstance(each, int) and each > 0), None)
    return None


_PATIENCE = 10.0
"""Seconds; the server may be at the other end of a slow line."""
_WRONG_KEY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTrial:
    """What came of asking a server for its models."""

    base_url: str
    """The address that answered, which may end in ``/v1`` where the one given did not."""
    status: int = 0
    """What it answered with; 0 when nobody did."""
    ok: bool = False
    """Whether it gave a list of models."""
    models: tuple[str, ...] = ()
    message: str = ""
    hint: str = ""

    @property
    def refused(self) -> bool:
        """Whether no model there can be asked."""
        return not self.status or self.status in _WRONG_KEY


async def try_server(base_url: str, key: str = "") -> ServerTrial:
    """Ask the server at an address for its models."""
    base_url = base_url.rstrip("/")
    url, headers = f"{base_url}/models", bearer(key)
    async with httpx2.AsyncClient(follow_redirects=False) as client:
        try:
            reply = await fetch(client, url, headers, patience=_PATIENCE)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as error:
            said = f"{error or type(error).__name__}".rstrip(".")
            message, hint = f"Nobody answers at {base_url}: {said}.", "Is the server running?"
            return ServerTrial(base_url=base_url, message=message, hint=f"{hint} {CHOOSE}")
    if (listed := models_in(reply)) is not None:
        message = f"The server at {base_url} lists {len(listed)} models."
        models = tuple(name_of(item) for item in listed)
        return ServerTrial(
            base_url=base_url, status=reply.status, models=models, message=message, ok=True
        )
    if reply.status in _WRONG_KEY:
        message = f"The server at {base_url} wants another key (HTTP {reply.status})."
        hint = "Give its key along with the address."
    else:
        what = f"HTTP {reply.status}, {reply.kind}"
        message = f"The server at {base_url} lists no models ({what})."
        hint = "Is it an OpenAI-compatible server? Its address usually ends in /v1."
    return ServerTrial(base_url=base_url, status=reply.status, message=message, hint=hint)


async def found(address: str, key: str = "") -> ServerTrial:
    """Ask a server whose address a person has typed, with ``/v1`` and without."""
    base = (address if "://" in address else f"http://{address}").rstrip("/")
    bare = base.removesuffix("/v1")
    trials = [await try_server(base if base != bare else f"{bare}/v1", key)]
    if not trials[0].ok and trials[0].status:
        trials.append(await try_server(bare, key))
    return next((trial for trial in trials if trial.ok), trials[0])
