"""A session as text: Markdown for people, JSON Lines for programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from long_running_agents.domain.events import (
    Event,
    MemoriesRecalled,
    RecalledMemory,
    Recorded,
    TextWritten,
    ToolCalled,
    ToolReturned,
    TurnFailed,
    TurnLimited,
    TurnStopped,
)
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.session import Session
from long_running_agents.domain.task import Task
from long_running_agents.domain.turn import Turn
from long_running_agents.store.messages import StoredMessage


def markdown(session: Session, turns: Sequence[Turn], events: Sequence[Recorded]) -> str:
    """A session as a person reads it."""
    by_turn: dict[TurnId | None, list[Recorded]] = {}
    for recorded in events:
        by_turn.setdefault(recorded.turn_id, []).append(recorded)
    lines = [f"# {session.title}", "", f"Session `{session.id}`, begun {_time(session.created_at)}"]
    for turn in turns:
        lines += ["", f"## You, {_time(turn.created_at)}", "", turn.prompt]
        for recorded in by_turn.get(turn.id, []):
            lines += _told(recorded)
    return "\n".join(lines) + "\n"


def _told(recorded: Recorded) -> Iterator[str]:
    match recorded.event:
        case TextWritten(text=text):
            yield from ("", "**Agent**", "", text)
        case MemoriesRecalled(memories=memories):
            yield from (line for memory in memories for line in ("", _recalled(memory)))
        case ToolCalled(tool=tool, input=given):
            yield from ("", f"- called `{tool}` with `{json.dumps(given, ensure_ascii=False)}`")
        case ToolReturned(tool=tool, result_preview=preview, outcome=outcome):
            yield from ("", f"- `{tool}` {outcome}: {' '.join(preview.split())}")
        case ending:
            yield from _ended(ending)


def _ended(event: Event) -> Iterator[str]:
    match event:
        case TurnStopped():
            yield from ("", "*Stopped by the user.*")
        case TurnLimited(text=text):
            yield from ("", f"*{text}*")
        case TurnFailed(message=message):
            yield from ("", f"*Failed: {message}*")
        case _:
            return


def _recalled(memory: RecalledMemory) -> str:
    about = f"said by {memory.trust}, source {memory.source}, {memory.at:%Y-%m-%d}"
    return f"- recalled #{memory.id} ({about}): {' '.join(memory.text.split())}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def json_lines(
    session: Session,
    turns: Sequence[Turn],
    messages: Mapping[TurnId, Sequence[StoredMessage]],
    events: Sequence[Recorded],
    tasks: Sequence[Task],
) -> str:
    """A session without loss: one object a line, each with its kind."""

    def objects() -> Iterator[dict[str, Any]]:
        yield {"kind": "session", **asdict(session)}
        for turn in turns:
            yield {"kind": "turn", **asdict(turn)}
            for message in messages.get(turn.id, ()):
                yield {
                    "kind": "message",
                    "turn_id": turn.id,
                    "step": message.step,
                    "message": json.loads(message.body),
                }
        for recorded in events:
            yield {"kind": "event", **recorded.wire()}
        for task in tasks:
            yield {"kind": "task", **asdict(task)}

    return "".join(json.dumps(item, default=str, ensure_ascii=False) + "\n" for item in objects())
