"""What the model is shown of the past."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from long_running_agents.agent import transcript
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.history import Window
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.store import ledger, messages, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Bounds of what is shown."""

    window: Window
    tokens: int


def read(tx: Transaction, turn: Turn, view: View, now: datetime) -> list[StoredMessage]:
    """The history a turn begins or goes on with, after earlier turns were brought to an end."""
    for ended, missing in _lacking(tx, turn):
        messages.append(tx, ended.session_id, ended.id, missing, now)
    return fit(messages.window(tx, turn.session_id, view.window), view.tokens)


@dataclass(frozen=True, slots=True)
class Glance:
    """What there is to choose from for a turn."""

    stored: list[StoredMessage]
    """The end of the log."""
    lacking: list[StoredMessage]
    """What would be written after it before the turn begins."""


def glance(tx: Transaction, turn: Turn, view: View) -> Glance:
    """What `read` has to choose from with `fit`; nothing is written."""
    lacking = [message for _, missing in _lacking(tx, turn) for message in missing]
    return Glance(messages.window(tx, turn.session_id, view.window), lacking)


def fit(shown: Sequence[StoredMessage], tokens: int) -> list[StoredMessage]:
    """Leave out the oldest turns until the rest fits; the newest turn always stays."""
    starts = [
        place
        for place, message in enumerate(shown)
        if message.step == 1 and message.kind == "request"
    ]
    sizes = [estimate_tokens(len(message.body)) for message in shown]
    total = sum(sizes)
    first = 0
    for start in starts[1:]:
        if total <= tokens:
            break
        total -= sum(sizes[first:start])
        first = start
    return list(shown[first:])


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
