"""The embeddings of the scripted server: deterministic, and of shared words."""

import json
from typing import Any, cast

from long_running_agents.testing.reply import estimate_tokens

LONGEST = 1024
"""Tokens of one text, as in a small model; a longer one is refused."""


def texts_in(raw: bytes) -> list[str]:
    """The texts of a request.

    Raises:
        ValueError: It is none, or a text is blank or too long.
    """
    try:
        body: Any = json.loads(raw)
    except ValueError:
        body = None
    given: Any = cast("dict[str, Any]", body).get("input") if isinstance(body, dict) else None
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise ValueError("The body is not an embedding request: expected {'input': ['…', …]}.")
    found = cast("list[object]", texts)
    for text in found:
        if not isinstance(text, str) or not text.strip():
            raise ValueError("A text to embed must not be blank.")
        if estimate_tokens(len(text)) > LONGEST:
            raise ValueError(f"This model's maximum context length is {LONGEST} tokens.")
    return cast("list[str]", found)


def answer(texts: list[str], raw: bytes) -> bytes:
    """The vectors in the shape of the protocol, the last text first: only the index counts."""
    # Only those who embed need numbers.
    from long_running_agents.testing.fake_embedder import hashed  # noqa: PLC0415

    rows = hashed(texts).tolist()
    data = [
        {"object": "embedding", "index": index, "embedding": rows[index]}
        for index in reversed(range(len(rows)))
    ]
    used = sum(estimate_tokens(len(text)) for text in texts)
    return json.dumps(
        {
            "object": "list",
            "data": data,
            "model": json.loads(raw).get("model", "scripted"),
            "usage": {"prompt_tokens": used, "total_tokens": used},
        }
    ).encode()
