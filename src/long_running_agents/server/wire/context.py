"""What the agent sees: the next request of a session by its parts."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict

from long_running_agents.agent.contexts import Foreseen
from long_running_agents.domain.fitting import Manner
from long_running_agents.domain.memory import Kind, Trust
from long_running_agents.server.wire.shapes import Told


class InstructionTold(Told):
    """A part of the instructions."""

    source: str
    """`base`, `SOUL.md`, `USER.md`, or `client` for what a program brings along."""
    text: str
    tokens: int


class RecollectedTold(Told):
    """A memory that comes to mind."""

    id: int
    kind: Kind
    trust: Trust
    source: str
    session_id: str | None
    at: datetime
    text: str
    tokens: int


class ContextMessage(Told):
    """A message of the session's log."""

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    """Its beginning."""
    tokens: int
    """What it takes as it is shown; of one that is left out, what it would take."""
    shown: Manner
    """Whole; short, with long results and arguments cut; as a line of a summary; or left out."""
    reason: Literal["", "bounds", "window"]
    """Why it is not whole: the bounds of history in the settings, or the model's window."""


class ContextTool(Told):
    """A tool that is offered, or could be."""

    name: str
    kind: Literal["built_in", "skill", "mcp", "client", "added"]
    """Shipped, made, a foreign server's, brought along for the turn, or a program's own."""
    tokens: int
    """What it takes as it is offered; of one that is left out, what it would take."""
    state: Literal["offered", "short", "left_out"]
    """As it is, with no more than a sentence, or not at all."""


class SharesTold(Told):
    """What each part takes, in tokens as they are estimated."""

    instructions: int
    memories: int
    history: int
    prompt: int
    tools: int
    protocol: int
    """For what comes to a request on its way."""


class ContextTold(Told):
    """The next request as it would be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "session_id": "my-session",
                "model": "ollama:qwen3",
                "window": 32768,
                "prompt": "What does the heron eat?",
                "instructions": [
                    {"source": "base", "text": "You are lra, an agent that works …", "tokens": 160}
                ],
                "memories": [],
                "degraded": "",
                "earlier": 0,
                "history": [
                    {
                        "role": "user",
                        "text": "Hello",
                        "tokens": 22,
                        "shown": "whole",
                        "reason": "",
                    }
                ],
                "tools": [
                    {"name": "list_tasks", "kind": "built_in", "tokens": 80, "state": "offered"}
                ],
                "shares": {
                    "instructions": 160,
                    "memories": 0,
                    "history": 22,
                    "prompt": 29,
                    "tools": 80,
                    "protocol": 200,
                },
                "total": 491,
                "problem": "",
            }
        }
    )

    session_id: str
    model: str
    window: int | None
    """How many tokens the model holds; null when nobody knows."""
    prompt: str
    """The newest message, if it is not in the log yet."""
    instructions: list[InstructionTold]
    memories: list[RecollectedTold]
    degraded: str
    """Why only a part of the memory could be searched; empty when all of it was."""
    earlier: int
    """Messages before those of `history`, which are not looked at."""
    history: list[ContextMessage]
    """Without the newest message, if that is `prompt`."""
    tools: list[ContextTool]
    shares: SharesTold
    total: int
    problem: str
    """Why the request could not be made; then all of it is shown as if it fitted."""

    @classmethod
    def of(cls, foreseen: Foreseen) -> "ContextTold":
        """A request, told."""
        context = foreseen.context
        parts = {
            name: getattr(context, name) for name in cls.model_fields if hasattr(context, name)
        }
        known = {"session_id": foreseen.session_id, "earlier": foreseen.earlier}
        return cls.model_validate(
            {**parts, **known, "total": context.shares.total}, from_attributes=True
        )
