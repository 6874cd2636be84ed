"""Tools in plain words, for models whose server takes none.

The tools are described in the system message, calls are written into the text, and results come
back as words of the user.
"""

import json
from collections.abc import Sequence
from typing import Any, cast

from long_running_agents.models.schemas import simple

Json = dict[str, Any]

RESULT = "<tool_result"
"""How a result begins. A model that writes it itself is imagining, and is stopped there."""

_HOW = """\
You can use tools. To use one, write

<tool name="NAME">{"ARGUMENT": "VALUE"}</tool>

with the tool's name and its arguments as one JSON object, and stop there. Several tools may be
used at once, one after the other. Their results are then given to you as <tool_result>; never
write one yourself. When no tool is needed, answer in plain text.

The tools:
"""
_MUST = "\n\nUse one of these tools now; a plain answer is not accepted."


def instructions(tools: Sequence[Json], *, must_call: bool = False) -> str:
    """How tools are explained to a model."""
    lines = [_line(tool["function"]) for tool in tools]
    return _HOW + "\n".join(lines) + (_MUST if must_call else "")


def _line(function: Json) -> str:
    schema = simple(function["parameters"])
    arguments: Json = {key: schema[key] for key in ("properties", "required") if schema.get(key)}
    words = " ".join(str(function["description"]).split())
    shown = json.dumps(arguments, ensure_ascii=False) if arguments else "none"
    return f"- {function['name']}: {words}\n  arguments: {shown}"


def led(messages: list[Json], instructions: str) -> list[Json]:
    """The conversation with instructions at the end of its system message."""
    if messages and messages[0]["role"] == "system":
        first, *rest = messages
        return [{**first, "content": f"{first['content']}\n\n{instructions}"}, *rest]
    return [{"role": "system", "content": instructions}, *messages]


def written(messages: Sequence[Json]) -> list[Json]:
    """The conversation with its calls and results in words."""
    names: dict[str, str] = {}
    spoken: list[Json] = []
    for message in messages:
        calls = cast("list[Json]", message.get("tool_calls") or [])
        names.update((call["id"], call["function"]["name"]) for call in calls)
        if message["role"] == "tool":
            spoken.append(_result(names.get(message["tool_call_id"], "tool"), message["content"]))
        elif calls:
            text = [message["content"], *map(_call, calls)]
            spoken.append({"role": "assistant", "content": "\n".join(filter(None, text))})
        else:
            spoken.append(message)
    return spoken


def _call(call: Json) -> str:
    function: Json = call["function"]
    return f'<tool name="{function["name"]}">{function["arguments"]}</tool>'


def _result(name: str, content: str) -> Json:
    # What a tool found must not be able to end its own quotation.
    quoted = content.replace("</tool_result", "<\\/tool_result")
    return {"role": "user", "content": f'{RESULT} name="{name}">\n{quoted}\n</tool_result>'}
