"""Filters: which memories may be among the answers, decided before anything is ranked."""

from datetime import datetime

import numpy as np

from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.memory.ranking import Mask
from long_running_agents.memory.shelf import Shelf
from long_running_agents.store.memory_entries import KINDS, NOBODY, SCOPES
from long_running_agents.store.tables import microseconds

_UNKNOWN = -1


def eligible(shelf: Shelf, viewer: Viewer, query: Query, now: datetime) -> Mask:
    """For each slot, whether a viewer may see it and the query asks for it."""
    entries = shelf.entries
    allowed = visible(shelf, viewer)
    moment = microseconds(query.as_of or now)
    allowed &= (entries["recorded"] <= moment) & (entries["valid_to"] > moment)
    allowed &= entries["expires"] > moment
    if query.kinds:
        allowed &= np.isin(entries["kind"], [KINDS.index(kind) for kind in query.kinds])
    if query.session_id is not None:
        allowed &= entries["session"] == _code(shelf, query.session_id)
    if query.not_session is not None:
        allowed &= entries["session"] != _code(shelf, query.not_session)
    if query.actor is not None:
        allowed &= entries["actor"] == _code(shelf, query.actor.lower())
    if query.least_trust is not None:
        allowed &= entries["trust"] >= query.least_trust.rank
    if query.since is not None:
        allowed &= entries["event"] >= microseconds(query.since)
    if query.until is not None:
        allowed &= entries["event"] < microseconds(query.until)
    return allowed


def visible(shelf: Shelf, viewer: Viewer) -> Mask:
    """For each slot, whether a viewer may see it at all."""
    entries = shelf.entries
    scope = [SCOPES.index(each) for each in SCOPES]
    seen = entries["scope"] == scope[0]
    if viewer.agent is not None:
        seen |= (entries["scope"] == scope[1]) & (entries["agent"] == _code(shelf, viewer.agent))
    if viewer.session_id is not None:
        session = _code(shelf, viewer.session_id)
        seen |= (entries["scope"] == scope[2]) & (entries["session"] == session)
    return seen & (entries["owner"] == _code(shelf, viewer.owner)) & ~shelf.gone


def _code(shelf: Shelf, name: str) -> int:
    """The number of a name; one that no memory has, when nobody ever used it."""
    assert NOBODY == 0  # noqa: S101 - so that an unknown name is not nobody
    return shelf.names.get(name, _UNKNOWN)
