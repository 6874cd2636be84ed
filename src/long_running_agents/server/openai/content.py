"""Parts of messages and tools, as both protocols write them."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, JsonValue, field_validator

from long_running_agents.domain.brought import ClientTool
from long_running_agents.tools.selection import CORE

MOST_TOOLS = 128
MOST_MESSAGES = 5_000

_TEXT = ("text", "input_text", "output_text", "refusal", "summary_text")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Part(BaseModel):
    """A part of a message. Only words are understood."""

    type: str
    text: str = ""
    refusal: str = ""

    @field_validator("type")
    @classmethod
    def _words_only(cls, kind: str) -> str:
        if kind not in _TEXT:
            raise ValueError(f"only text is understood here, not {kind!r}")
        return kind


Content = str | list[Part] | None


def text_of(content: Content) -> str:
    """The words of a message."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(text for part in content if (text := part.text or part.refusal))


class Function(BaseModel):
    """A function that the client runs."""

    name: str
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("a name has up to 64 letters, digits, '_' and '-'")
        if name in CORE:
            raise ValueError("this name is ours alone: it helps where not all can be shown")
        return name

    def tool(self) -> ClientTool:
        """The same, as a turn keeps it."""
        schema: dict[str, Any] = {"type": "object", "properties": {}, **(self.parameters or {})}
        return ClientTool(name=self.name, description=self.description or "", schema=schema)


def chosen(tools: Sequence[Function], choice: JsonValue) -> tuple[ClientTool, ...]:
    """The tools that are offered: with a choice of one only that one, and none with 'none'.

    Whether one is called stays the model's decision: an agent that had to call would never end.
    """
    if choice == "none":
        return ()
    named = _named(choice)
    offered = {tool.name: tool.tool() for tool in tools if named in (None, tool.name)}
    return tuple(offered.values())


def _named(choice: JsonValue) -> str | None:
    if not isinstance(choice, dict):
        return None
    function = choice.get("function", choice)
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None


def _no_value(value: JsonValue) -> JsonValue:
    if value not in (None, False, [], {}, 0):
        raise ValueError("not supported here")
    return value


def _plain_text(value: JsonValue) -> JsonValue:
    kind = value.get("type", "text") if isinstance(value, dict) else "text"
    if kind != "text":
        raise ValueError("the agent answers in text only")
    return value


def _text_alone(value: list[str] | None) -> list[str] | None:
    if value not in (None, ["text"]):
        raise ValueError("the agent answers in text only")
    return value


Unsupported = Annotated[JsonValue, AfterValidator(_no_value)]
"""What would change the meaning of an answer, and cannot be had."""
PlainText = Annotated[JsonValue, AfterValidator(_plain_text)]
TextAlone = Annotated[list[str] | None, AfterValidator(_text_alone)]
OnlyOne = Annotated[int | None, Field(ge=1, le=1)]


class Named(BaseModel):
    """A conversation, by its id."""

    id: str


class Metadata(BaseModel):
    """What a request says of itself."""

    model_config = {"extra": "allow"}

    session_id: str | None = None
    task: JsonValue = None


def session_named(
    header: str | None, conversation: str | Named | None, metadata: Metadata | None
) -> str | None:
    """The session that a request names: by header, as its conversation, or in its metadata."""
    named = conversation.id if isinstance(conversation, Named) else conversation
    return header or named or (metadata.session_id if metadata else None)
