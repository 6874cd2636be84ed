"""Turns on the wire."""

import json
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from long_running_agents.agent.turns import Rest
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.events import TurnDone, UsageTotals
from long_running_agents.domain.turn import Turn


class Question(BaseModel):
    """A question that a turn waits for."""

    approval_id: str
    tool: str
    input: Any
    question: str
    scope: str
    expires_at: datetime | None

    @classmethod
    def of(cls, approval: Approval) -> "Question":
        """A question as the wire tells it."""
        return cls(
            approval_id=approval.id,
            tool=approval.tool,
            input=json.loads(approval.args),
            question=approval.question,
            scope="" if approval.offer is None else str(approval.offer),
            expires_at=approval.expires_at,
        )


class TurnShape(BaseModel):
    """A turn."""

    model_config = ConfigDict(title="Turn")

    turn_id: str
    session_id: str
    number: int
    prompt: str
    origin: str
    status: str
    mode: str
    model: str | None
    text: str
    error: str
    iterations: int
    tool_calls: int
    usage: UsageTotals
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, turn: Turn) -> "TurnShape":
        """A turn as the wire tells it."""
        return cls(
            turn_id=turn.id,
            session_id=turn.session_id,
            number=turn.number,
            prompt=turn.prompt,
            origin=turn.origin,
            status=turn.status,
            mode=turn.mode,
            model=turn.model,
            text=turn.answer,
            error=turn.error,
            iterations=turn.spent.steps,
            tool_calls=turn.spent.tool_calls,
            usage=UsageTotals.of(turn.spent),
            created_at=turn.created_at,
            ended_at=turn.ended_at,
        )


class Answer(BaseModel):
    """What came of a message."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "session_id": "my-session",
                "turn_id": "turn_01kag5v2m3x7q9f0t4bd",
                "status": "done",
                "text": "There are three files: …",
                "iterations": 2,
                "model": "openai:gpt-5",
                "usage": {"input_tokens": 812, "output_tokens": 64, "cost": 0.0021},
                "mode": "bounded",
                "approvals": [],
            }
        }
    )

    session_id: str
    turn_id: str
    status: str
    """done, waiting (for an approval), stopped or limited."""
    text: str
    iterations: int
    model: str
    usage: UsageTotals
    mode: str
    approvals: list[Question]

    @classmethod
    def of(cls, rest: Rest) -> "Answer":
        """A turn at rest as the wire tells it."""
        turn, closing = rest.turn, rest.closing
        answered = closing.model if isinstance(closing, TurnDone) else turn.model
        return cls(
            session_id=turn.session_id,
            turn_id=turn.id,
            status=turn.status,
            text=turn.answer,
            iterations=turn.spent.steps,
            model=answered or "",
            usage=UsageTotals.of(turn.spent),
            mode=turn.mode,
            approvals=[Question.of(approval) for approval in rest.questions],
        )


class Standing(Answer):
    """Where a turn stands, with everything that is known of it."""

    number: int
    prompt: str
    origin: str
    error: str
    tool_calls: int
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, rest: Rest) -> "Standing":
        """A turn as the wire tells it."""
        answer, turn = Answer.of(rest).model_dump(), rest.turn
        return cls(
            **answer,
            number=turn.number,
            prompt=turn.prompt,
            origin=turn.origin,
            error=turn.error,
            tool_calls=turn.spent.tool_calls,
            created_at=turn.created_at,
            ended_at=turn.ended_at,
        )
