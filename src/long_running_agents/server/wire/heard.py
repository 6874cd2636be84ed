"""What listeners hear, as text for the wire."""

import json
from collections.abc import Mapping
from typing import Any

from long_running_agents.agent.hub import Heard
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import LraError


def text(heard: Heard) -> str:
    """An event or a delta as JSON."""
    return _json(heard.wire())


def aside(kind: str, session_id: SessionId | None = None, **fields: Any) -> str:
    """Something that is said to one client only, and never stored."""
    said = {"type": kind, **fields}
    return _json(said if session_id is None else {**said, "session_id": session_id})


def error(failure: LraError) -> str:
    """What went wrong with something a client said."""
    return aside("error", code=failure.code, message=failure.message, hint=failure.hint)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
