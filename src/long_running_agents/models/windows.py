"""The context windows that servers tell of, in words of their own."""

import asyncio
import re
from dataclasses import replace
from typing import Any, cast

import httpx2

from long_running_agents.models import detection
from long_running_agents.models.detection import Found, FoundModel

Json = dict[str, Any]

OLLAMAS_USUAL = 4096
"""What Ollama loads a model with unless it is told otherwise; OLLAMA_CONTEXT_LENGTH tells it, and
cannot be asked for."""

_MOST_SHOWN = 30
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
_FIELDS = ("max_model_len", "context_length", "context_window")


async def window_at(
    client: httpx2.AsyncClient, base_url: str, model: str, key: str = ""
) -> int | None:
    """The window that a model is served with; None when its server does not say for certain.

    Args:
        client: Asks.
        base_url: The server's address, which somebody has named.
        model: The model's name there.
        key: The server's key, if it wants one.
    """
    found = await detection.at(client, base_url, key)
    if found is None:
        return await _listed(client, base_url, model, key)
    names = (model, f"{model}:latest")
    known = [each for each in found.models if each.name in names]
    if known and known[0].context_window is None:
        found = await with_idle(client, replace(found, models=tuple(known)))
        known = list(found.models)
    return known[0].context_window if known and not known[0].assumed else None


async def with_idle(client: httpx2.AsyncClient, found: Found) -> Found:
    """The same server, with what Ollama would load its idle models with."""
    if found.kind != "Ollama":
        return found
    models = found.models[:_MOST_SHOWN]
    filled = await asyncio.gather(*(_shown(client, found, each) for each in models))
    return replace(found, models=(*filled, *found.models[_MOST_SHOWN:]))


async def _shown(client: httpx2.AsyncClient, found: Found, model: FoundModel) -> FoundModel:
    if model.context_window is not None or not model.chats:
        return model
    # A POST, but it changes nothing and loads nothing.
    url = f"{found.base_url.removesuffix('/v1')}/api/show"
    reply = await detection.fetch_json(client, url, body={"model": model.name})
    if reply is None or not reply.ok:
        return model
    chosen = _NUM_CTX.search(str(reply.body.get("parameters") or ""))
    window = int(chosen[1]) if chosen else OLLAMAS_USUAL
    most = _made_for(reply.body)
    return replace(
        model, context_window=min(window, most) if most else window, assumed=chosen is None
    )


def _made_for(shown: Json) -> int | None:
    info: object = shown.get("model_info")
    if not isinstance(info, dict):
        return None
    for key, value in cast("Json", info).items():
        if key.endswith(".context_length") and isinstance(value, int) and value > 0:
            return value
    return None


async def _listed(client: httpx2.AsyncClient, base_url: str, model: str, key: str) -> int | None:
    """What an unknown server says in its list of models."""
    for item in await detection.items_at(client, base_url, key) or ():
        if item.get("id") == model:
            stated = [item.get(field) for field in _FIELDS]
            return next((each for each in stated if isinstance(each, int) and each > 0), None)
    return None
