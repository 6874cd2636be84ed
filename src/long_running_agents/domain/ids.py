"""Typed ids that sort by the time they were made."""

import re
import secrets
from datetime import datetime
from typing import NewType

from long_running_agents.errors import UsageError

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
TaskId = NewType("TaskId", str)
ApprovalId = NewType("ApprovalId", str)
GrantId = NewType("GrantId", str)
TokenId = NewType("TokenId", str)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _base32(number: int, length: int) -> str:
    return "".join(_ALPHABET[(number >> 5 * place) & 31] for place in reversed(range(length)))


def new_id(prefix: str, now: datetime) -> str:
    """Make an id such as ``turn_01k9x…``: the moment in milliseconds, then 50 random bits."""
    milliseconds = int(now.timestamp() * 1000)
    return f"{prefix}_{_base32(milliseconds, 10)}{_base32(secrets.randbits(50), 10)}"


def session_id(text: str) -> SessionId:
    """Accept a session id chosen by a person or a program."""
    if not _NAME.fullmatch(text):
        raise UsageError(
            f"Session id {text!r} not accepted:",
            hint="use up to 100 letters, digits, '.', '_' or '-', a letter or digit first.",
        )
    return SessionId(text)
