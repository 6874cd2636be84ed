"""What a model with a small window is shown of a conversation; the log is not touched."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.agent import transcript
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.compaction import clip
from long_running_agents.domain.context_window import (
    HistoryCut,
    HistoryWindow,
    MessageRole,
    MessageSizes,
    weight,
)
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.models.factory import weigh
from long_running_agents.store import ledger, messages, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage
from long_running_agents.tools.sessions import note

_ASIDE = 200
"""Longest result or argument that is not worth putting aside."""
_LINE = 60
"""Longest piece of a one-line summary."""

_DIGEST_FRAME = 60
"""Characters of a digest beside its lines."""

_DIGEST = "[Your work on this so far, a line for each step{missing}:]"
_DIGEST_END = "[The latest steps follow in full.]"


def role_of(message: ModelMessage) -> MessageRole:
    """What a message is in the order of a turn."""
    if isinstance(message, ModelResponse):
        return MessageRole.ANSWER
    # A user's words that came in between belong to the results they came with.
    words = any(isinstance(part, UserPromptPart) for part in message.parts)
    answers = any(hasattr(part, "tool_call_id") for part in message.parts)
    return MessageRole.START if words and not answers else MessageRole.RESULTS


@dataclass(frozen=True, slots=True)
class MessageForms:
    """A message, the ways in which it can be shown, and what each takes."""

    message: ModelMessage
    whole: ModelMessage
    """With all but the longest results and arguments."""
    aside: ModelMessage
    """With long results and arguments only named."""
    item: MessageSizes


def forms_of(message: ModelMessage, longest: int) -> MessageForms:
    """Look at a message."""
    whole, aside = cut_down(message, longest), put_aside(message)
    item = MessageSizes(
        role_of(message),
        whole=estimate_tokens(weigh(whole)),
        aside=estimate_tokens(weigh(aside)),
        line=estimate_tokens(weight(_line(message)) + weight(_told([message])) + 2),
    )
    return MessageForms(message, whole, aside, item)


def shown(forms: Sequence[MessageForms], cut: HistoryCut, digest: int) -> list[ModelMessage]:
    """The messages with a cut applied."""
    begin = max(cut.first, cut.folded)
    view = [seen.aside for seen in forms[begin : cut.aside]]
    view += [seen.whole for seen in forms[max(begin, cut.aside) :]]
    if cut.folded > cut.first:
        folded = [seen.message for seen in forms[cut.first + 1 : cut.folded]]
        view.insert(0, with_note(forms[cut.first].whole, _digest(folded, digest)))
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


def put_aside(message: ModelMessage) -> ModelMessage:
    """A message whose long results and arguments are only named."""
    return cut_down(message, 0, _ASIDE)


def cut_down(message: ModelMessage, results: int, arguments: int | None = None) -> ModelMessage:
    """A message whose long results and arguments are shown in part, up to so many characters."""
    arguments = results if arguments is None else arguments
    parts = [
        _short_call(part, arguments)
        if isinstance(part, ToolCallPart)
        else _cut_result(part, results)
        for part in message.parts
    ]
    same = all(one is other for one, other in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _cut_result(
    part: ModelRequestPart | ModelResponsePart, longest: int
) -> ModelRequestPart | ModelResponsePart:
    if not isinstance(part, ToolReturnPart) or part.files:
        return part
    text = part.model_response_str(wrap_if_error=False)
    rest = len(text) - longest
    if rest <= _ASIDE:
        return part
    told = note(part.tool_call_id, longest, rest)
    return replace(part, content=f"{text[:longest]}\n{told}" if longest else told)


def _short_call(part: ToolCallPart, longest: int) -> ToolCallPart:
    if len(part.args_as_json_str()) <= longest + _ASIDE:
        return part
    arguments = part.args_as_dict(raise_if_invalid=False)
    return replace(part, args={name: _short(value, longest) for name, value in arguments.items()})


def _short(value: object, longest: int) -> object:
    text = value if isinstance(value, str) else str(value)
    rest = len(text) - longest
    return value if rest <= 0 else f"{text[:longest]} [{rest} characters not shown]"


def _digest(messages: Sequence[ModelMessage], longest: int) -> str:
    """The newest of the folded steps, as many as fit, a line for each."""
    lines: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            lines.append(f"- {_line(message)}")
        elif lines:
            lines[-1] += _line(message)
    told = _told(messages)
    left = longest - len(_DIGEST) - len(_DIGEST_END) - _DIGEST_FRAME - weight(told)
    kept: list[str] = []
    for line in reversed(lines):
        left -= weight(line) + 1
        if left < 0:
            break
        kept.append(line)
    missing = len(lines) - len(kept)
    head = _DIGEST.format(missing=f"; {missing} earlier ones are left out" if missing else "")
    return "\n".join([head, *reversed(kept), *filter(None, [told]), _DIGEST_END])


def _told(messages: Sequence[ModelMessage]) -> str:
    """What the program says in messages, which still holds when these are folded."""
    parts = [part for message in messages for part in message.parts]
    return "\n\n".join(part.content for part in parts if isinstance(part, SystemPromptPart))


def _line(message: ModelMessage) -> str:
    """A message as its share of a line."""
    return " ".join(filter(None, (_brief(part) for part in message.parts)))


def _brief(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case ToolCallPart():
            return f"{part.tool_name}({clip(part.args_as_json_str(), _LINE)})"
        case ToolReturnPart():
            return f" → {clip(part.model_response_str(wrap_if_error=False), _LINE)}"
        case TextPart(content=text):
            return clip(text, _LINE)
        case UserPromptPart(content=str(text)):
            return f"; the user added: {clip(text, _LINE)}"
        case _:
            return ""


def read(tx: Transaction, turn: Turn, view: HistoryWindow, now: datetime) -> list[StoredMessage]:
    """The history a turn begins or goes on with, after earlier turns were brought to an end."""
    for ended, missing in _lacking(tx, turn):
        messages.append(tx, ended.session_id, ended.id, missing, now)
    return messages.window(tx, turn.session_id, view)


def glance(
    tx: Transaction, turn: Turn, view: HistoryWindow
) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """What `read` would read, and what would be written after it; nothing is written."""
    lacking = [message for _, missing in _lacking(tx, turn) for message in missing]
    return messages.window(tx, turn.session_id, view), lacking


def _lacking(tx: Transaction, turn: Turn) -> list[tuple[Turn, list[StoredMessage]]]:
    """The answers and results that the logs of earlier turns lack which ended early."""
    unfinished: list[Turn] = []
    earlier = turns.before(tx, turn)
    while earlier is not None and earlier.status is not TurnStatus.DONE:
        unfinished.append(earlier)
        earlier = turns.before(tx, earlier)
    lacking: list[tuple[Turn, list[StoredMessage]]] = []
    for ended in reversed([each for each in unfinished if each.status.ended]):
        log = messages.of_turn(tx, ended.id)
        missing = transcript.closing(
            ended, transcript.loaded(log[-1:]), ledger.of_turn(tx, ended.id)
        )
        if missing:
            step = log[-1].step if log else 1
            new = [transcript.stored(message, step) for message in missing]
            lacking.append((ended, new))
    return lacking
