"""What was spent, and what happened."""

from datetime import date, datetime

from pydantic import ConfigDict, JsonValue

from long_running_agents.agent.usage import Spending
from long_running_agents.domain.days import Range
from long_running_agents.domain.events import Recorded
from long_running_agents.server.wire.shapes import Told
from long_running_agents.store.usage import Total

_EXAMPLE: dict[str, JsonValue] = {
    "requests": 4,
    "input_tokens": 5200,
    "output_tokens": 310,
    "total_tokens": 5510,
    "cost": 0.0019,
}


class TotalTold(Told):
    """Requests, tokens and money."""

    requests: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost: float | None
    """US dollars, of the requests whose price is known; null when none is."""


class ModelUsage(TotalTold):
    """What one model took."""

    model: str


class DayUsage(TotalTold):
    """What one day took."""

    day: date


class SessionUsage(TotalTold):
    """What one session took."""

    session_id: str
    title: str | None
    """Null when the session is deleted."""


class UsageTold(Told):
    """What was spent over some days."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "range": "7d",
                "since": "2026-11-10T00:00:00Z",
                "until": "2026-11-16T09:00:00Z",
                "total": _EXAMPLE,
                "by_model": [{"model": "openai:gpt-5-mini", **_EXAMPLE}],
                "by_day": [{"day": "2026-11-16", **_EXAMPLE}],
                "by_session": [{"session_id": "my-session", "title": "Herons", **_EXAMPLE}],
            }
        }
    )

    range: Range
    since: datetime | None
    """Null for all time."""
    until: datetime
    total: TotalTold
    by_model: list[ModelUsage]
    by_day: list[DayUsage]
    by_session: list[SessionUsage]

    @classmethod
    def of(cls, wanted: Range, spent: Spending) -> "UsageTold":
        """The books, told."""
        return cls(
            range=wanted,
            since=spent.since,
            until=spent.until,
            total=TotalTold.model_validate(_told(spent.total)),
            by_model=[
                ModelUsage.model_validate({"model": model, **_told(total)})
                for model, total in spent.models.items()
            ],
            by_day=[
                DayUsage.model_validate({"day": day, **_told(total)})
                for day, total in spent.days.items()
            ],
            by_session=[
                SessionUsage.model_validate(
                    {"session_id": key, "title": spent.titles.get(key), **_told(total)}
                )
                for key, total in spent.sessions.items()
            ],
        )


def _told(total: Total) -> dict[str, object]:
    return {
        "requests": total.requests,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "total_tokens": total.input_tokens + total.output_tokens,
        "cost": None if total.cost is None else float(total.cost),
    }


class EventTold(Told):
    """An event: its own fields beside these, see the page about events."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "text",
                "text": "Two herons, both grey.",
                "seq": 5,
                "session_id": "my-session",
                "turn_id": "turn_01k9x0000000abcdefgh",
                "at": "2026-11-16T09:00:00Z",
            }
        },
    )

    type: str
    seq: int
    session_id: str
    turn_id: str | None
    at: datetime

    @classmethod
    def of(cls, recorded: Recorded) -> "EventTold":
        """An event, told."""
        return cls.model_validate(recorded.wire())


class ActivityTold(Told):
    """The latest events, the newest first."""

    activity: list[EventTold]
    next: str | None
    """What to ask for as ``before`` to read on; null at the end."""
