"""Requests for chat completions and responses, as clients write them."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    TypeAdapter,
    field_validator,
)

from long_running_agents.domain.turn import AnswerForm, ClientTool
from long_running_agents.server.openai.history import (
    ConversationRequest,
    HistoryEntry,
    SpeakerRole,
    instructions,
)
from long_running_agents.skills.trial import invalid
from long_running_agents.tools.selection import CORE

MOST_TOOLS = 128
MOST_MESSAGES = 5_000
LONGEST_SCHEMA = 60_000
"""Characters of a schema: the model has to read it."""

_TEXT = ("text", "input_text", "output_text", "refusal", "summary_text")
_PICTURES = ("image_url", "input_image")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FORMAT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class ImageAddress(BaseModel):
    """Where a picture is; only pictures that are in their own address are taken."""

    url: str


class Part(BaseModel):
    """A part of a message. Words and pictures are understood."""

    type: str
    text: str = ""
    refusal: str = ""
    image_url: ImageAddress | str | None = None

    @field_validator("type")
    @classmethod
    def _understood(cls, kind: str) -> str:
        if kind not in (*_TEXT, *_PICTURES):
            raise ValueError(f"only text and pictures are understood here, not {kind!r}")
        return kind

    @property
    def picture(self) -> str:
        """Where the picture is that this is; empty for words."""
        told = self.image_url if self.type in _PICTURES else ""
        return told.url if isinstance(told, ImageAddress) else told or ""


Content = str | list[Part] | None


def text_of(content: Content) -> str:
    """The words of a message; of one that only shows something, that it does."""
    if content is None or isinstance(content, str):
        return content or ""
    words = "\n".join(text for part in content if (text := part.text or part.refusal))
    return words or ("[picture]" if pictures_of(content) else "")


def pictures_of(content: Content) -> tuple[str, ...]:
    """Where the pictures of a message are."""
    parts = content if isinstance(content, list) else ()
    return tuple(part.picture for part in parts if part.type in _PICTURES)


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

    One that was chosen by name has to be called once (`form_for`); what else is called stays the
    model's decision, since an agent that always had to call would never end.
    """
    if choice == "none":
        return ()
    named = _named(choice)
    offered = {tool.name: tool.tool() for tool in tools if named in (None, tool.name)}
    return tuple(offered.values())


def form_for(
    form: AnswerForm | None, choice: JsonValue, tools: Sequence[ClientTool]
) -> AnswerForm | None:
    """The form of an answer, with the tool that the client wants to be called."""
    if not (named := _named(choice)) or named not in [tool.name for tool in tools]:
        return form
    return replace(form or AnswerForm(), tool=named)


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


def _form(value: Any) -> AnswerForm | None:
    """The form of an answer: chat completions have one more box around it than responses."""
    asked = _FORMAT.validate_python(value or {})
    kind = asked.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return AnswerForm(json=True)
    if kind != "json_schema":
        raise ValueError(f"text, json_object and json_schema are understood, not {kind!r}")
    inner = _FORMAT.validate_python(asked.get("json_schema", asked))
    schema = _FORMAT.validate_python(inner.get("schema"))
    if wrong := invalid(schema):
        raise ValueError(f"the schema cannot be used: {wrong}")
    if len(json.dumps(schema)) > LONGEST_SCHEMA:
        raise ValueError(f"the schema is too long: at most {LONGEST_SCHEMA} characters")
    return AnswerForm(json=True, schema=schema, name=str(inner.get("name") or "answer"))


def _text_alone(value: list[str] | None) -> list[str] | None:
    if value not in (None, ["text"]):
        raise ValueError("the agent answers in text only")
    return value


Unsupported = Annotated[JsonValue, AfterValidator(_no_value)]
"""What would change the meaning of an answer, and cannot be had."""
Form = Annotated[Any, AfterValidator(_form)]
"""In which form the answer is wanted."""
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


_ROLES = {"developer": SpeakerRole.SYSTEM, **{str(role): role for role in SpeakerRole}}


class CallMade(BaseModel):
    """A call that the client was handed. What it says was called is not looked at."""

    id: str


class CompletionMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: Content = None
    tool_calls: list[CallMade] | None = None
    tool_call_id: str = ""

    def said(self) -> HistoryEntry:
        """The same, as both protocols have it."""
        return HistoryEntry(
            role=_ROLES[self.role],
            text=text_of(self.content),
            pictures=pictures_of(self.content),
            calls=tuple(call.id for call in self.tool_calls or ()),
            call_id=self.tool_call_id,
        )


class CompletionTool(BaseModel):
    """A tool that the client runs."""

    type: Literal["function"]
    function: Function


class StreamOptions(BaseModel):
    """How a stream is sent."""

    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """A request. Fields that are not here are accepted and ignored, such as ``temperature``."""

    model: str
    messages: Annotated[list[CompletionMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[CompletionTool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: JsonValue = None
    metadata: Metadata | None = None
    user: Annotated[str, Field(max_length=500)] | None = None
    conversation: str | Named | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: OnlyOne = None
    logprobs: Unsupported = None
    audio: Unsupported = None
    functions: Unsupported = None
    response_format: Form = None
    modalities: TextAlone = None

    def request(self, header: str | None) -> ConversationRequest:
        """What is asked, whichever protocol it is asked in, in the session that a header names."""
        said = tuple(message.said() for message in self.messages)
        tools = chosen([tool.function for tool in self.tools or ()], self.tool_choice)
        return ConversationRequest(
            model=self.model,
            said=said,
            instructions=instructions(said),
            tools=tools,
            form=form_for(self.response_format, self.tool_choice, tools),
            session=session_named(header, self.conversation, self.metadata),
            user=self.user,
            stream=bool(self.stream),
        )


class MessageItem(BaseModel):
    """Something that somebody said."""

    role: Literal["developer", "system", "user", "assistant"]
    content: Content

    def said(self) -> HistoryEntry:
        """The same, as both protocols have it."""
        shown = pictures_of(self.content)
        return HistoryEntry(role=_ROLES[self.role], text=text_of(self.content), pictures=shown)


class CallItem(BaseModel):
    """A call that the client was handed. What it says was called is not looked at."""

    call_id: str

    def said(self) -> HistoryEntry:
        """The same, as both protocols have it."""
        return HistoryEntry(role=SpeakerRole.ASSISTANT, calls=(self.call_id,))


class ResultItem(BaseModel):
    """What came of a call."""

    call_id: str
    output: Content

    def said(self) -> HistoryEntry:
        """The same, as both protocols have it."""
        text, shown = text_of(self.output), pictures_of(self.output)
        return HistoryEntry(role=SpeakerRole.TOOL, text=text, call_id=self.call_id, pictures=shown)


class OtherItem(BaseModel):
    """What nobody said, such as the thoughts of another model."""

    def said(self) -> HistoryEntry | None:
        """Nothing."""
        return None


class FunctionTool(Function):
    """A tool that the client runs."""

    type: Literal["function"]


class OtherTool(BaseModel):
    """A tool that OpenAI would run itself; here it is not to be had."""

    type: str


_KINDS = {
    "message": "message",
    "function_call": "call",
    "custom_tool_call": "call",
    "function_call_output": "result",
    "custom_tool_call_output": "result",
}


def _type(value: object) -> object:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).get("type")
    return getattr(value, "type", None)


def _kind(value: object) -> str:
    return _KINDS.get(str(_type(value) or "message"), "other")


def _tool(value: object) -> str:
    return "function" if _type(value) == "function" else "other"


Item = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[CallItem, Tag("call")]
    | Annotated[ResultItem, Tag("result")]
    | Annotated[OtherItem, Tag("other")],
    Discriminator(_kind),
]
Tool = Annotated[
    Annotated[FunctionTool, Tag("function")] | Annotated[OtherTool, Tag("other")],
    Discriminator(_tool),
]


class TextOptions(BaseModel):
    """How an answer is written."""

    format: Form = None


class ResponsesRequest(BaseModel):
    """A request. Fields that are not here are accepted and ignored, such as ``reasoning``."""

    model: str
    input: str | Annotated[list[Item], Field(min_length=1, max_length=MOST_MESSAGES)]
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | Named | None = None
    metadata: Metadata | None = None
    user: Annotated[str, Field(max_length=500)] | None = None
    stream: bool | None = None
    tools: Annotated[list[Tool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: JsonValue = None
    max_output_tokens: int | None = None
    background: Unsupported = None
    prompt: Unsupported = None
    text: TextOptions | None = None

    def request(self, header: str | None) -> ConversationRequest:
        """What is asked, whichever protocol it is asked in, in the session that a header names."""
        items = [] if isinstance(self.input, str) else self.input
        said = tuple(each for item in items if (each := item.said()) is not None)
        if isinstance(self.input, str):
            said = (HistoryEntry(role=SpeakerRole.USER, text=self.input),)
        functions = [tool for tool in self.tools or () if isinstance(tool, FunctionTool)]
        tools = chosen(functions, self.tool_choice)
        form = self.text.format if self.text else None
        return ConversationRequest(
            model=self.model,
            said=said,
            instructions=instructions(said, self.instructions or ""),
            tools=tools,
            form=form_for(form, self.tool_choice, tools),
            session=session_named(header, self.conversation, self.metadata),
            user=self.user,
            previous=self.previous_response_id,
            stream=bool(self.stream),
        )
