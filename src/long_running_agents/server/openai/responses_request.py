"""A request for a response, as clients write it."""

from typing import Annotated, Literal, cast

from pydantic import BaseModel, Discriminator, Field, JsonValue, Tag

from long_running_agents.server.openai.content import (
    MOST_MESSAGES,
    MOST_TOOLS,
    Content,
    Function,
    Metadata,
    Named,
    PlainText,
    Unsupported,
    chosen,
    session_named,
    text_of,
)
from long_running_agents.server.openai.said import Request, Role, Said, instructions

_ROLES = {
    "developer": Role.SYSTEM,
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}


class MessageItem(BaseModel):
    """Something that somebody said."""

    role: Literal["developer", "system", "user", "assistant"]
    content: Content

    def said(self) -> Said:
        """The same, as both protocols have it."""
        return Said(role=_ROLES[self.role], text=text_of(self.content))


class CallItem(BaseModel):
    """A call that the client was handed. What it says was called is not looked at."""

    call_id: str

    def said(self) -> Said:
        """The same, as both protocols have it."""
        return Said(role=Role.ASSISTANT, calls=(self.call_id,))


class ResultItem(BaseModel):
    """What came of a call."""

    call_id: str
    output: Content

    def said(self) -> Said:
        """The same, as both protocols have it."""
        return Said(role=Role.TOOL, text=text_of(self.output), call_id=self.call_id)


class OtherItem(BaseModel):
    """What nobody said, such as the thoughts of another model."""

    def said(self) -> Said | None:
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

    format: PlainText = None


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

    def request(self, header: str | None) -> Request:
        """What is asked, whichever protocol it is asked in.

        Args:
            header: The session that a header names.
        """
        items = [] if isinstance(self.input, str) else self.input
        said = tuple(each for item in items if (each := item.said()) is not None)
        if isinstance(self.input, str):
            said = (Said(role=Role.USER, text=self.input),)
        functions = [tool for tool in self.tools or () if isinstance(tool, FunctionTool)]
        return Request(
            model=self.model,
            said=said,
            instructions=instructions(said, self.instructions or ""),
            tools=chosen(functions, self.tool_choice),
            session=session_named(header, self.conversation, self.metadata),
            user=self.user,
            previous=self.previous_response_id,
            stream=bool(self.stream),
        )
