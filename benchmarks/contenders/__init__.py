"""The contenders: one file each, all with the same three verbs."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

TOOL_CALLS = 10
ANSWER = "done"
MODEL = "scripted"
API_KEY = "none"

TOOLS = "tools"
HISTORY = "history-"

NOT_STREAMED = "pydantic-ai (not streamed)"
"""For reference only; everybody else must stream, as a product does."""


class LeftOutError(Exception):
    """This contender cannot take part here; the message says why."""


class WrongTurnError(Exception):
    """A turn did not do what every contender must do."""


@dataclass(slots=True)
class Steps:
    """The tool every contender offers, and the count of its runs."""

    seen: list[int] = field(default_factory=list)

    def run(self, i: int) -> str:
        """Note step i and return its result."""
        self.seen.append(i)
        return f"step {i} finished"

    def check(self, kind: str, answer: str) -> None:
        """Refuse a turn that ran other steps, or said something else, and start again."""
        seen, self.seen = self.seen, []
        wanted = list(range(steps_of(kind)))
        if seen != wanted or answer != ANSWER:
            raise WrongTurnError(f"{kind}: steps {seen}, answer {answer!r}; wanted {wanted}.")


class Contender(Protocol):
    """One library, as a product would use it."""

    async def open(self, url: str, folder: Path) -> None:
        """Get ready to talk to the model at `url`, storing under `folder`."""
        ...

    async def prepare(self, kind: str) -> None:
        """Store the history that `kind` asks for, before each turn and outside the measure."""
        ...

    async def turn(self, kind: str) -> None:
        """Run one turn and check it."""
        ...

    async def close(self) -> None:
        """Give everything back."""
        ...


def steps_of(kind: str) -> int:
    """Return how many tool calls the model makes in such a turn."""
    return TOOL_CALLS if kind == TOOLS else 0


def stored_messages(kind: str) -> int:
    """Return how many messages the session holds before such a turn."""
    return int(kind.removeprefix(HISTORY)) if kind.startswith(HISTORY) else 0


def prompt(kind: str) -> str:
    """Return what the user says."""
    return f"Please do your work. steps={steps_of(kind)}"


def old_text(number: int) -> str:
    """Return a stored message of about 70 characters."""
    return f"Message {number:06d} of an older talk about gardens, tides and timetables."


def maker(module: str, attribute: str, **options: bool) -> Callable[[], Contender]:
    """Import a contender only when it is made: a worker must load one library, not four."""

    def make() -> Contender:
        loaded = importlib.import_module(f"benchmarks.contenders.{module}")
        return getattr(loaded, attribute)(**options)

    return make


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "pydantic-ai": maker("pydantic_ai", "PydanticAI", streamed=True),
    NOT_STREAMED: maker("pydantic_ai", "PydanticAI", streamed=False),
    "langgraph": maker("langgraph", "LangGraph"),
    "agno": maker("agno", "Agno"),
    "lra": maker("lra", "LongRunningAgents"),
}
