"""Tool calls that a model has written into its text.

Models that were not trained for tools, or whose server does not notice their calls, write them
down in one of a few forms. Only the names of known tools count, but for tags that mean nothing
else: then the model hears which tools there are. A text is read only when the model itself wrote
it: what tools and users say is never searched for calls.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import NoneType
from typing import cast

from long_running_agents.models.chat_protocol import Json
from long_running_agents.models.quirks import simple

Names = Mapping[str, Sequence[str]]
"""The tools that there are, each with its arguments in their order."""

NAME_KEYS = ("name", "tool", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
OTHER_KEYS = ("type", "id", "tool_calls")

_DECODER = json.JSONDecoder(strict=False)
_TOOL_TAG = re.compile(r"""<tool\s+name\s*=\s*["']([^"'<>]+)["']\s*>(.*?)</tool>""", re.DOTALL)
_FUNCTION_TAG = re.compile(r"<function=([^<>\s]+)\s*>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^<>\s]+)\s*>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_BROKEN_NAME = re.compile(r'"(?:name|tool|tool_name)"\s*:\s*"([^"]+)"')
_BROKEN_ARGUMENTS = re.compile(r'"(?:arguments|parameters|args|input)"\s*:\s*')
_LONGEST_LINE = 20_000


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call, as it was written."""

    name: str
    arguments: str
    """JSON text; not valid when the model miswrote it, so that it will be told."""


def in_block(text: str, names: Names) -> list[TextCall]:
    """The calls in a text that is all calls: the inside of a fence or of a tag."""
    text = text.strip()
    if text.startswith("<"):
        return in_tags(text, names)
    return in_json(text, names) or in_python(text, names)


def in_tags(text: str, names: Names) -> list[TextCall]:
    """The calls in ``<tool name="x">{}</tool>`` and ``<function=x>{}</function>``."""
    found: list[TextCall] = []
    for tag in (_TOOL_TAG, _FUNCTION_TAG):
        for name, inside in tag.findall(text):
            arguments = arguments_in(inside)
            if name in names and arguments is not None:
                found.append(TextCall(name, arguments))
    return found


def arguments_in(text: str) -> str | None:
    """Arguments as JSON text, from a JSON object, ``<parameter=x>`` tags, or nothing at all."""
    text = text.strip()
    if not text:
        return "{}"
    if text.startswith("<parameter="):
        values = {key: _value(value.strip("\n")) for key, value in _PARAMETER.findall(text)}
        return json.dumps(values, ensure_ascii=False)
    found = _loads(text)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, dict) else None


def _value(text: str) -> object:
    # Everything else stays text: a schema that wants a number reads it from text as well.
    if text.lstrip().startswith(("{", "[")):
        found = _loads(text)
        return text if found is None else found
    return text


def in_json(text: str, names: Names | None) -> list[TextCall]:
    """The calls in JSON objects, in lists of them, or in several; without names, of any tool."""
    found: list[TextCall] = []
    rest = text.strip()
    while rest:
        decoded = first_json(rest)
        if decoded is None:
            return []
        value, end = decoded
        calls = calls_of(value, names)
        if not calls:
            return []
        found.extend(calls)
        rest = rest[end:].strip().lstrip(",;").lstrip()
    return found


def first_json(text: str) -> tuple[object, int] | None:
    """The JSON value that a text begins with, and where it ends."""
    try:
        return _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        pass
    # Some templates teach models to double the braces.
    if not text.startswith("{{"):
        return None
    whole = text.rstrip()
    value = _loads(whole)
    return None if value is None else (value, len(whole))


def _loads(text: str) -> object:
    text = text.strip()
    for attempt in (text, text[1:-1], text.replace("{{", "{").replace("}}", "}")):
        try:
            return _DECODER.decode(attempt)
        except (ValueError, RecursionError):
            if not (text.startswith("{{") and text.endswith("}}")):
                return None
    return None


def calls_of(value: object, names: Names | None) -> list[TextCall]:
    """The calls that a JSON value describes; none unless all of it does."""
    if isinstance(value, list):
        found = [calls_of(item, names) for item in cast("list[object]", value)]
        return [call for calls in found for call in calls] if all(found) else []
    if not isinstance(value, dict):
        return []
    described = cast("Json", value)
    inner = described.get("tool_calls", described.get("function"))
    if isinstance(inner, list | dict):
        return calls_of(cast("object", inner), names)
    name = next((described[key] for key in NAME_KEYS if key in described), None)
    arguments = cast(
        "object", next((described[key] for key in ARGUMENT_KEYS if key in described), None)
    )
    if isinstance(arguments, str):
        arguments = _loads(arguments or "{}")
    strange = described.keys() - {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS}
    if not isinstance(name, str) or not isinstance(arguments, dict | NoneType):
        return []
    if strange or (names is not None and name not in names):
        return []
    return [TextCall(name, json.dumps(cast("object", arguments or {}), ensure_ascii=False))]


def in_python(text: str, names: Names) -> list[TextCall]:
    """The calls in lines of Python; none unless every line is a call."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [list(_line(line, names)) for line in lines]
    return [call for calls in found for call in calls] if all(found) else []


def _line(line: str, names: Names) -> Iterator[TextCall]:
    if len(line) > _LONGEST_LINE:
        return
    try:
        node = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for item in node.elts if isinstance(node, ast.List) else [node]:
        call = _python_call(item, names)
        if call is None:
            return
        yield call


def _python_call(node: ast.expr, names: Names) -> TextCall | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "print" and len(node.args) == 1 and not node.keywords:
        return _python_call(node.args[0], names)
    if node.func.id not in names or len(node.args) > len(names[node.func.id]):
        return None
    placed = zip(names[node.func.id], node.args, strict=False)
    named = ((word.arg, word.value) for word in node.keywords if word.arg)
    try:
        arguments = {name: ast.literal_eval(value) for name, value in (*placed, *named)}
        return TextCall(node.func.id, json.dumps(arguments, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def miswritten(text: str, names: Names) -> list[TextCall]:
    """The call that a text is meant to be although it cannot be read, if it is."""
    name = _BROKEN_NAME.search(text)
    arguments = _BROKEN_ARGUMENTS.search(text)
    if name is None or arguments is None or name[1] not in names:
        return []
    return [TextCall(name[1], text[arguments.end() :].strip())]


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
    lines = [_line_text_mode(tool["function"]) for tool in tools]
    return _HOW + "\n".join(lines) + (_MUST if must_call else "")


def _line_text_mode(function: Json) -> str:
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


FENCE = "```"
FENCE_LINE = re.compile(r"```[ \t]*([^`\n]*?)[ \t]*\n")
"""A line that opens a fence, with its language."""

_LANGUAGES = frozenset({"", "json", "xml", "python", "py", "tool", "tool_call", "tool_code"})
_TAGS = ("<tool_call>", "<tool ", "<function=", "<tool_result")
_OPENING = re.compile(
    r"""<tool_call>|<tool\s+name\s*=\s*["']([^"'<>]+)["']\s*(/?)>|<function=([^<>\s]+)\s*>"""
)
_LONGEST_OPENING = 200
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}")
_ARGUMENTS = ("{", "<parameter=", "</")
"""How the inside of a tag begins that calls a tool."""
_WORD = re.compile(r"\[?\s*([A-Za-z_]\w*)")
_JSON_START = re.compile(r'\[?\s*\{?\s*\{?\s*(?:"(\w*)(")?)?')
_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS)


class OpenTextCall(Enum):
    """Not a call, or not one yet."""

    WAIT = auto()
    """More of the text is needed to tell."""
    NO = auto()
    """Whatever follows, the text does not begin with a call."""


@dataclass(frozen=True, slots=True)
class TextCallsFound:
    """Calls at the beginning of a text."""

    calls: Sequence[TextCall]
    length: int
    """How much of the text they are."""
    explicit: bool = False
    """Whether they are written in tags that mean nothing else."""


Judgement = OpenTextCall | TextCallsFound


def judge(text: str, names: Names, *, final: bool) -> Judgement:
    """Look at a text that begins a line and is not empty; nothing follows a final one."""
    first = text[0]
    if first == "<":
        return tag(text, names, final=final)
    if first == "`":
        return _fence(text, names, final=final)
    if first == "{" or (first == "[" and _WORD.match(text) is None):
        return _json(text, names, final=final)
    return _python(text, names, final=final)


def tag(text: str, names: Names, *, final: bool) -> Judgement:
    """Look at a text that begins with ``<``."""
    if not any(text.startswith(known) or known.startswith(text) for known in _TAGS):
        return OpenTextCall.NO
    opening = _OPENING.match(text)
    if opening is None:
        unfinished = ">" not in text and len(text) < _LONGEST_OPENING
        return OpenTextCall.WAIT if unfinished and not final else OpenTextCall.NO
    name = opening[1] or opening[3]
    if name is not None and opening[2] and name in names:
        return TextCallsFound([TextCall(name, "{}")], opening.end(), explicit=True)
    inside = text[opening.end() :].lstrip()
    if name is None and inside and not _may_begin(inside, names):
        return OpenTextCall.NO
    if name is not None and name not in names and not _may_be_called(opening, inside):
        return OpenTextCall.NO
    return _closed_tag(text, opening, names, final=final)


def _closed_tag(text: str, opening: re.Match[str], names: Names, *, final: bool) -> Judgement:
    name = opening[1] or opening[3]
    closing = "</function>" if opening[3] else "</tool>" if name else "</tool_call>"
    end = text.find(closing, opening.end())
    # The closing tag may stand in an argument as well, so each of them is tried.
    while end >= 0:
        if calls := _tag_calls(text[opening.end() : end], name, names):
            return TextCallsFound(calls, end + len(closing), explicit=True)
        end = text.find(closing, end + 1)
    if not final:
        return OpenTextCall.WAIT
    rest = text[opening.end() :]
    calls = _tag_calls(rest, name, names) if rest.strip() else []
    return _found(calls or _meant(rest.partition(closing)[0], name, names), text, explicit=True)


def _found(calls: Sequence[TextCall], text: str, *, explicit: bool = False) -> Judgement:
    """Calls that are all of a text; it is none without any."""
    return TextCallsFound(calls, len(text), explicit) if calls else OpenTextCall.NO


def _tag_calls(inside: str, name: str | None, names: Names) -> list[TextCall]:
    if name is None:
        return in_block(inside, names) or in_json(inside, None)
    arguments = arguments_in(inside)
    return [] if arguments is None else [TextCall(name, arguments)]


def _meant(inside: str, name: str | None, names: Names) -> list[TextCall]:
    if name is None:
        return miswritten(inside, names)
    return [TextCall(name, inside.strip())] if inside.lstrip().startswith("{") else []


def _fence(text: str, names: Names, *, final: bool) -> Judgement:
    opening = FENCE_LINE.match(text)
    if opening is None:
        ruled_out = "\n" in text or "`" in text[len(FENCE) :] or not FENCE.startswith(text[:3])
        return OpenTextCall.NO if ruled_out or final else OpenTextCall.WAIT
    inside = text[opening.end() :]
    if opening[1].lower() not in _LANGUAGES or not _may_begin(inside.lstrip(), names):
        return OpenTextCall.NO
    end = inside.find(FENCE)
    while end >= 0:
        if calls := in_block(inside[:end], names):
            return TextCallsFound(calls, opening.end() + end + len(FENCE))
        if inside[:end].rpartition("\n")[2].strip() == "":
            # A fence that ends here and holds no call, unless it was meant to be one.
            return _found(miswritten(inside[:end], names), text[: opening.end() + end + len(FENCE)])
        end = inside.find(FENCE, end + 1)
    if not final:
        return OpenTextCall.WAIT
    calls = in_block(inside, names) if inside.strip() else []
    return _found(calls or miswritten(inside, names), text)


def _json(text: str, names: Names, *, final: bool) -> Judgement:
    if not _may_be_json(text):
        return OpenTextCall.NO
    if (decoded := first_json(text)) is not None:
        value, end = decoded
        return _found(calls_of(value, names), text[:end])
    return _found(miswritten(text, names), text) if final else OpenTextCall.WAIT


def _python(text: str, names: Names, *, final: bool) -> Judgement:
    if not _may_be_python(text, names):
        return OpenTextCall.NO
    line, end, _ = text.partition("\n")
    if not end and not final:
        return OpenTextCall.WAIT
    return _found(in_python(line, names), line)


def _may_begin(text: str, names: Names) -> bool:
    """Whether a text could be the inside of a fence or a tag with a call."""
    if not text:
        return True
    if text[0] == "<":
        return any(text.startswith(known) or known.startswith(text) for known in _TAGS)
    return _may_be_json(text) or _may_be_python(text, {**names, "print": ()})


def _may_be_called(opening: re.Match[str], inside: str) -> bool:
    """Whether a tag could be a call of a tool that is not there, and not a document's own tag."""
    begins = any(inside.startswith(known) or known.startswith(inside) for known in _ARGUMENTS)
    return begins and not opening[2] and bool(_NAME.fullmatch(opening[1] or opening[3]))


def _may_be_json(text: str) -> bool:
    start = _JSON_START.match(text)
    if text[0] not in "[{" or start is None:
        return False
    key, closed = start[1], start[2]
    if key is None:
        return start.end() == len(text)
    if closed:
        return key in _KEYS
    return start.end() == len(text) and any(known.startswith(key) for known in _KEYS)


def _may_be_python(text: str, names: Names) -> bool:
    word = _WORD.match(text)
    if word is None:
        return False
    rest = text[word.end() :]
    if not rest:
        return any(name.startswith(word[1]) for name in names)
    return rest[0] == "(" and word[1] in names
