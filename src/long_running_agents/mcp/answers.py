"""What a server answers, as text: a model reads it, and nothing in it is fetched or opened."""

import json
from collections.abc import Iterable
from typing import Any, assert_never, cast

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from long_running_agents.mcp.talk import Failed, Told

Json = dict[str, Any]


def answer(result: CallToolResult) -> Told | Failed:
    """The result of a call in words."""
    parts = [_shown(block) for block in result.content]
    structured: object = result.structured_content
    if structured is not None and not _says(parts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n\n".join(parts)
    if result.is_error:
        return Failed(text or "The tool failed and does not say why.")
    return Told(text or "(no content)")


def _shown(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _named("image", block.mime_type, block.data)
        case AudioContent():
            return _named("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[resource {block.name}: {block.uri}]"
        case EmbeddedResource(resource=BlobResourceContents() as blob):
            return _named(f"resource {blob.uri}", blob.mime_type or "unknown type", blob.blob)
        case EmbeddedResource():
            return f"[resource {block.resource.uri}]\n{getattr(block.resource, 'text', '')}"
        case _:
            assert_never(block)


def _named(what: str, media_type: str, data: str) -> str:
    # Four characters of Base64 are three bytes.
    return f"[{what}, {media_type}, about {len(data) * 3 // 4} bytes: not shown]"


def _says(parts: Iterable[str], structured: object) -> bool:
    """Whether one of the texts is the structured content already.

    Servers put a value that is no object into a table with the one name "result".
    """
    values = [structured]
    if isinstance(structured, dict) and set(cast("Json", structured)) == {"result"}:
        values.append(cast("Json", structured)["result"])
    return any(text in values or _parsed(text) in values for text in parts)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
