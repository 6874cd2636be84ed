"""What a model with a small window is shown of a conversation; the log is not touched."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.domain.fitting import Cut, Item, Role, tokens, weight
from long_running_agents.tools.results import note

_ASIDE = 200
"""Longest result or argument that is not worth putting aside."""
_LINE = 60
"""Longest piece of a one-line summary."""

_PART_FRAME = 60
_CALL_FRAME = 90
_FILE = 3000
"""What an image or another file counts for, in characters."""

LEFT_OUT = "[Earlier turns of this conversation are left out here.]"
_DIGEST = "[Your work on this so far, a line for each step{missing}:]"
_DIGEST_END = "[The latest steps follow in full.]"


def role_of(message: ModelMessage) -> Role:
    """What a message is in the order of a turn."""
    if isinstance(message, ModelResponse):
        return Role.ANSWER
    # A user's words that came in between belong to the results they came with.
    words = any(isinstance(part, UserPromptPart) for part in message.parts)
    answers = any(hasattr(part, "tool_call_id") for part in message.parts)
    return Role.START if words and not answers else Role.RESULTS


@dataclass(frozen=True, slots=True)
class Sight:
    """A message, the ways in which it can be shown, and what each takes."""

    message: ModelMessage
    whole: ModelMessage
    """With all but the longest results and arguments."""
    aside: ModelMessage
    """With long results and arguments only named."""
    item: Item


def sight(message: ModelMessage, longest: int) -> Sight:
    """Look at a message.

    Args:
        message: The message.
        longest: The longest result or argument shown whole, in characters.
    """
    whole, aside = cut_down(message, longest), put_aside(message)
    item = Item(
        role_of(message),
        whole=tokens(weigh(whole)),
        aside=tokens(weigh(aside)),
        line=tokens(weight(_line(message)) + 2),
    )
    return Sight(message, whole, aside, item)


def shown(sights: Sequence[Sight], cut: Cut, digest: int) -> list[ModelMessage]:
    """The messages with a cut applied.

    Args:
        sights: The conversation.
        cut: How much of it is shown.
        digest: The longest summary of folded steps, in characters.
    """
    begin = max(cut.first, cut.folded)
    view = [seen.aside for seen in sights[begin : cut.aside]]
    view += [seen.whole for seen in sights[max(begin, cut.aside) :]]
    notes = [LEFT_OUT] if cut.first > 0 else []
    if cut.folded > cut.first:
        view.insert(0, sights[cut.first].whole)
        folded = [seen.message for seen in sights[cut.first + 1 : cut.folded]]
        notes.append(_digest(folded, digest))
    if notes:
        view[0] = with_note(view[0], "\n\n".join(notes))
    return view


def with_note(start: ModelMessage, note: str) -> ModelMessage:
    """The user's message with a note of ours in the same part: roles have to alternate."""
    if not isinstance(start, ModelRequest):
        return start
    parts = list(start.parts)
    for place, part in enumerate(parts):
        if isinstance(part, UserPromptPart):
            content = part.content
            noted = f"{content}\n\n{note}" if isinstance(content, str) else [*content, note]
            parts[place] = replace(part, content=noted)
            break
    return replace(start, parts=parts)


def cut_down(message: ModelMessage, longest: int) -> ModelMessage:
    """A message whose long results and arguments are shown in part."""
    if isinstance(message, ModelRequest):
        parts = [_cut_result(part, longest) for part in message.parts]
        return message if _same(parts, message.parts) else replace(message, parts=parts)
    return _with_short_arguments(message, longest)


def put_aside(message: ModelMessage) -> ModelMessage:
    """A message whose long results and arguments are only named."""
    if isinstance(message, ModelRequest):
        parts = [_name_result(part) for part in message.parts]
        return message if _same(parts, message.parts) else replace(message, parts=parts)
    return _with_short_arguments(message, _ASIDE)


def _same(parts: Sequence[object], before: Sequence[object]) -> bool:
    return all(one is other for one, other in zip(parts, before, strict=True))


def _cut_result(part: ModelRequestPart, longest: int) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart) or part.files:
        return part
    text = part.model_response_str(wrap_if_error=False)
    rest = len(text) - longest
    if rest <= _ASIDE:
        return part
    return replace(part, content=f"{text[:longest]}\n{note(part.tool_call_id, longest, rest)}")


def _name_result(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart) or part.files:
        return part
    length = len(part.model_response_str(wrap_if_error=False))
    if length <= _ASIDE:
        return part
    return replace(part, content=note(part.tool_call_id, 0, length))


def _with_short_arguments(message: ModelResponse, longest: int) -> ModelResponse:
    parts = [
        _short_call(part, longest) if isinstance(part, ToolCallPart) else part
        for part in message.parts
    ]
    return message if _same(parts, message.parts) else replace(message, parts=parts)


def _short_call(part: ToolCallPart, longest: int) -> ToolCallPart:
    if len(part.args_as_json_str()) <= longest + _ASIDE:
        return part
    arguments = part.args_as_dict(raise_if_invalid=False)
    return replace(part, args={name: _short(value, longest) for name, value in arguments.items()})


def _short(value: object, longest: int) -> object:
    text = value if isinstance(value, str) else str(value)
    rest = len(text) - longest
    return value if rest <= 0 else f"{text[:longest]} [{rest} characters not shown]"


def weigh(message: ModelMessage) -> int:
    """How long a message is for a model, with what the protocol puts around it."""
    return sum(_weigh_part(part) for part in message.parts)


def _weigh_part(part: ModelRequestPart | ModelResponsePart) -> int:
    match part:
        case ToolReturnPart():
            text = weight(part.model_response_str()) + weight(part.tool_call_id)
            return text + _PART_FRAME + _FILE * len(part.files)
        case ToolCallPart():
            named = weight(part.tool_name) + weight(part.tool_call_id)
            return weight(part.args_as_json_str()) + named + _CALL_FRAME
        case UserPromptPart(content=content) if not isinstance(content, str):
            pieces = [weight(piece) if isinstance(piece, str) else _FILE for piece in content]
            return sum(pieces) + _PART_FRAME
        case ThinkingPart(signature=None):
            # Our own protocol does not send it back.
            return 0
        case _:
            content = getattr(part, "content", "")
            return weight(content if isinstance(content, str) else str(content)) + _PART_FRAME


def _digest(messages: Sequence[ModelMessage], longest: int) -> str:
    """The newest of the folded steps, as many as fit, a line for each."""
    lines: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            lines.append(f"- {_line(message)}")
        elif lines:
            lines[-1] += _line(message)
    left = longest - len(_DIGEST) - len(_DIGEST_END) - _PART_FRAME
    kept: list[str] = []
    for line in reversed(lines):
        left -= weight(line) + 1
        if left < 0:
            break
        kept.append(line)
    missing = len(lines) - len(kept)
    head = _DIGEST.format(missing=f"; {missing} earlier ones are left out" if missing else "")
    return "\n".join([head, *reversed(kept), _DIGEST_END])


def _line(message: ModelMessage) -> str:
    """A message as its share of a line."""
    return " ".join(filter(None, (_brief(part) for part in message.parts)))


def _brief(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case ToolCallPart():
            return f"{part.tool_name}({_clip(part.args_as_json_str())})"
        case ToolReturnPart():
            return f" → {_clip(part.model_response_str(wrap_if_error=False))}"
        case TextPart(content=text):
            return _clip(text)
        case UserPromptPart(content=str(text)):
            return f"; the user added: {_clip(text)}"
        case _:
            return ""


def _clip(text: str) -> str:
    line = " ".join(text[: _LINE * 2].split())
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"
