"""Filters: which memories may be among the answers, decided before anything is ranked."""

import threading
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.memory.ranking import Mask
from long_running_agents.memory.shelf import Shelf
from long_running_agents.store.memory_entries import KINDS, NEVER, NOBODY, OFF, SCOPES
from long_running_agents.store.tables import microseconds

_UNKNOWN = -1
_KEPT = 8


def eligible(shelf: Shelf, viewer: Viewer, query: Query, now: datetime) -> Mask:
    """For each slot, whether a viewer may see it and the query asks for it."""
    moment = microseconds(query.as_of or now)
    return _asked_for(shelf, query, _present(shelf, viewer, moment, query.disabled).mask)


@dataclass(frozen=True, slots=True)
class _Present:
    """What a viewer may see at a moment, and until when it stays so by itself."""

    mask: Mask
    revision: int
    since: int
    until: int

    def holds(self, shelf: Shelf, moment: int) -> bool:
        return self.revision == shelf.revision and self.since <= moment < self.until


class Sight:
    """What viewers may see now, kept until it changes: hardly any search comes with a filter."""

    def __init__(self) -> None:
        self._present: dict[Viewer, _Present] = {}
        # Searches run on several threads.
        self._lock = threading.Lock()

    def eligible(self, shelf: Shelf, viewer: Viewer, query: Query, now: datetime) -> Mask:
        """The same as the function; the mask is not the caller's to change."""
        if query.as_of is not None or query.disabled:
            return eligible(shelf, viewer, query, now)
        moment = microseconds(now)
        with self._lock:
            present = self._present.get(viewer)
            if present is None or not present.holds(shelf, moment):
                present = _present(shelf, viewer, moment)
                if len(self._present) >= _KEPT:
                    self._present.pop(next(iter(self._present)))
                self._present[viewer] = present
        return _asked_for(shelf, query, present.mask)


def _present(shelf: Shelf, viewer: Viewer, moment: int, disabled: bool = False) -> _Present:
    entries = shelf.entries
    seen = visible(shelf, viewer)
    if not disabled:
        seen &= entries["signs"] < OFF
    begun = entries["recorded"] <= moment
    ends = np.minimum(entries["valid_to"], entries["expires"])
    mask = seen & begun & (ends > moment)
    first_end = ends.min(where=mask, initial=NEVER)
    next_begin = entries["recorded"].min(where=~begun, initial=NEVER)
    return _Present(mask, shelf.revision, moment, int(min(first_end, next_begin)))


def _asked_for(shelf: Shelf, query: Query, present: Mask) -> Mask:
    entries = shelf.entries
    allowed = present
    if query.kinds:
        kinds = np.zeros(len(KINDS), np.bool_)
        kinds[[KINDS.index(kind) for kind in query.kinds]] = True
        allowed = allowed & kinds[entries["kind"]]
    if query.session_id is not None:
        allowed = allowed & (entries["session"] == _code(shelf, query.session_id))
    if query.not_session is not None:
        allowed = allowed & (entries["session"] != _code(shelf, query.not_session))
    if query.actor is not None:
        allowed = allowed & (entries["actor"] == _code(shelf, query.actor.lower()))
    if query.least_trust is not None:
        allowed = allowed & (entries["trust"] >= query.least_trust.rank)
    if query.since is not None:
        allowed = allowed & (entries["event"] >= microseconds(query.since))
    if query.until is not None:
        allowed = allowed & (entries["event"] < microseconds(query.until))
    return allowed


def visible(shelf: Shelf, viewer: Viewer) -> Mask:
    """For each slot, whether a viewer may see it at all."""
    entries = shelf.entries
    user, agent, session = range(len(SCOPES))
    seen = entries["scope"] == user
    if viewer.agent is not None:
        seen |= (entries["scope"] == agent) & (entries["agent"] == _code(shelf, viewer.agent))
    if viewer.session_id is not None:
        here = entries["session"] == _code(shelf, viewer.session_id)
        seen |= (entries["scope"] == session) & here
    return seen & (entries["owner"] == _code(shelf, viewer.owner)) & ~shelf.gone


def _code(shelf: Shelf, name: str) -> int:
    """The number of a name; one that no memory has, when nobody ever used it."""
    assert NOBODY == 0  # noqa: S101 - so that an unknown name is not nobody
    return shelf.names.get(name, _UNKNOWN)
