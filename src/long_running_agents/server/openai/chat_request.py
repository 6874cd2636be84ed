"""A request for a chat completion, as clients write it."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from long_running_agents.server.openai.content import (
    MOST_MESSAGES,
    MOST_TOOLS,
    Content,
    Function,
    Metadata,
    Named,
    OnlyOne,
    PlainText,
    TextAlone,
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
    "tool": Role.TOOL,
}


class CallMade(BaseModel):
    """A call that the client was handed. What it says was called is not looked at."""

    id: str


class Message(BaseModel):
    """One message of a conversation."""

    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: Content = None
    tool_calls: list[CallMade] | None = None
    tool_call_id: str = ""

    def said(self) -> Said:
        """The same, as both protocols have it."""
        return Said(
            role=_ROLES[self.role],
            text=text_of(self.content),
            calls=tuple(call.id for call in self.tool_calls or ()),
            call_id=self.tool_call_id,
        )


class ChatTool(BaseModel):
    """A tool that the client runs."""

    type: Literal["function"]
    function: Function


class StreamOptions(BaseModel):
    """How a stream is sent."""

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request. Fields that are not here are accepted and ignored, such as ``temperature``."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[ChatTool], Field(max_length=MOST_TOOLS)] | None = None
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
    response_format: PlainText = None
    modalities: TextAlone = None

    def request(self, header: str | None) -> Request:
        """What is asked, whichever protocol it is asked in.

        Args:
            header: The session that a header names.
        """
        said = tuple(message.said() for message in self.messages)
        return Request(
            model=self.model,
            said=said,
            instructions=instructions(said),
            tools=chosen([tool.function for tool in self.tools or ()], self.tool_choice),
            session=session_named(header, self.conversation, self.metadata),
            user=self.user,
            stream=bool(self.stream),
        )
