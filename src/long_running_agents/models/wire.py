"""Messages and tools in the JSON of the chat-completions protocol."""

from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.models import roles, schemas, text_mode
from long_running_agents.models.ability import ALL, Ability

Json = dict[str, Any]


def request_body(
    model: str,
    messages: Sequence[ModelMessage],
    instructions: Sequence[InstructionPart],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    *,
    stream: bool,
    ability: Ability = ALL,
) -> Json:
    """Everything that is posted for one request."""
    tools = [tool_json(tool) for tool in parameters.declared_tool_defs.values()]
    told = roles.answered(chat_messages(messages, instructions))
    body: Json = {"model": model, "messages": told}
    if stream:
        body["stream"] = True
        if ability.stream_usage:
            body["stream_options"] = {"include_usage": True}
    chosen = cast("Json", settings)
    for ours, theirs in _SETTINGS:
        if (value := chosen.get(ours)) is not None:
            body[theirs] = value
    offer = _offer if ability.native_tools else _describe
    offer(body, tools, ability, must_call=bool(tools) and not parameters.allow_text_output)
    if parameters.output_mode == "native" and ability.structured:
        body.update(_answer_format(parameters, ability))
    body["messages"] = roles.fitted(body["messages"], ability)
    return {**body, **(chosen.get("extra_body") or {})}


def _offer(body: Json, tools: list[Json], ability: Ability, *, must_call: bool) -> None:
    """Add tools to a body in the protocol's way."""
    if not tools:
        return
    body["tools"] = tools if ability.hard_schemas else [_simple_tool(tool) for tool in tools]
    if must_call and ability.tool_choice:
        body["tool_choice"] = "required"


def _describe(body: Json, tools: list[Json], ability: Ability, *, must_call: bool) -> None:
    """Add tools to a body in words."""
    del ability
    told = roles.joined(text_mode.written(body["messages"]))
    if tools:
        told = text_mode.led(told, text_mode.instructions(tools, must_call=must_call))
        body["stop"] = [*body.get("stop", ()), text_mode.RESULT]
    body["messages"] = told


def _answer_format(parameters: ModelRequestParameters, ability: Ability) -> Json:
    asked = parameters.output_object
    if asked is None:
        return {}
    schema = asked.json_schema if ability.hard_schemas else schemas.simple(asked.json_schema)
    described = {"name": asked.name or "answer", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _simple_tool(tool: Json) -> Json:
    function: Json = tool["function"]
    simple = schemas.simple(function["parameters"])
    return {**tool, "function": {**function, "parameters": simple}}


_SETTINGS = (
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("seed", "seed"),
    ("stop_sequences", "stop"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("parallel_tool_calls", "parallel_tool_calls"),
)


def chat_messages(
    messages: Sequence[ModelMessage], instructions: Sequence[InstructionPart]
) -> list[Json]:
    """The conversation, with the instructions as one leading system message."""
    mapped: list[Json] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            mapped.extend(_request(message))
        elif (answer := _response(message)) is not None:
            mapped.append(answer)
    rest = list(dropwhile(_is_system, mapped))
    # Several servers refuse a second system message.
    leading = [message["content"] for message in mapped[: len(mapped) - len(rest)]]
    system = "\n\n".join([*(part.content for part in instructions), *leading])
    return [{"role": "system", "content": system}, *rest] if system else rest


def _is_system(message: Json) -> bool:
    return message["role"] == "system"


def _request(message: ModelRequest) -> Iterator[Json]:
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            yield {
                "role": "tool",
                "tool_call_id": part.tool_call_id,
                "content": part.model_response_str(),
            }
        elif isinstance(part, UserPromptPart):
            yield {"role": "user", "content": _content(part)}
        elif isinstance(part, SystemPromptPart):
            yield {"role": "system", "content": part.content}


def _content(part: UserPromptPart) -> str | list[Json]:
    if isinstance(part.content, str):
        return part.content
    items: list[Json] = []
    for item in part.content:
        if isinstance(item, str):
            items.append({"type": "text", "text": item})
        elif isinstance(item, ImageUrl):
            items.append({"type": "image_url", "image_url": {"url": item.url}})
        elif isinstance(item, BinaryContent) and item.is_image:
            items.append({"type": "image_url", "image_url": {"url": item.data_uri}})
        else:
            kind = type(item).__name__
            items.append({"type": "text", "text": f"[{kind} left out: this model reads no such]"})
    return items


def _response(message: ModelResponse) -> Json | None:
    text = "\n\n".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    if not text.strip() and not calls:
        # An empty assistant message is refused by several servers.
        return None
    # "" and not null: some servers refuse a null content.
    answer: Json = {"role": "assistant", "content": text}
    if calls:
        answer["tool_calls"] = calls
    return answer


def _call(part: ToolCallPart) -> Json:
    return {
        "id": part.tool_call_id,
        "type": "function",
        "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
    }


def tool_json(tool: ToolDefinition) -> Json:
    """A tool as the protocol describes it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": tool.parameters_json_schema,
        },
    }
