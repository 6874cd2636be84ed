"""Typed ids that sort by the time they were made, and ranges of calendar days."""

import re
import secrets
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import NewType
from zoneinfo import ZoneInfo

from long_running_agents.errors import UsageError

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
ApprovalId = NewType("ApprovalId", str)
GrantId = NewType("GrantId", str)
TokenId = NewType("TokenId", str)
WorkId = NewType("WorkId", str)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
RESERVED = frozenset({"activity"})
"""What no session may be called: it is the address of something else."""
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


_SCOPE = "~"
"""Between an owner's name and the id; no id that anybody chooses has it."""


def scoped(owner: str, home: str, name: str) -> SessionId:
    """The key of the session that an owner calls so, unlike that of everybody else's.

    Whoever the home belongs to has plain keys: theirs are those of the command line.
    """
    return SessionId(name if owner == home else f"{owner}{_SCOPE}{name}")


def shown(key: SessionId) -> SessionId:
    """What its owner calls a session."""
    return SessionId(key.rpartition(_SCOPE)[2])


def beside(key: SessionId, now: datetime) -> SessionId:
    """The key of a new session for the same owner."""
    return SessionId(key.removesuffix(shown(key)) + new_id("session", now))


class DayRange(StrEnum):
    """The last calendar days, today included."""

    TODAY = "today"
    WEEK = "7d"
    MONTH = "30d"
    ALL = "all"


_DAYS = {DayRange.TODAY: 1, DayRange.WEEK: 7, DayRange.MONTH: 30}


def zone_of(name: str) -> tzinfo:
    """A time zone by its name, such as ``Europe/Berlin``."""
    try:
        return ZoneInfo(name)
    # A folder of zones is an OSError, a path that leads elsewhere a ValueError.
    except (KeyError, ValueError, OSError):
        raise UsageError(
            f"There is no time zone {name!r}.", hint="Use a name such as UTC or Europe/Berlin."
        ) from None


def day_of(moment: datetime, zone: tzinfo | None) -> date:
    """The day that a moment belongs to; without a zone, in this machine's."""
    return moment.astimezone(zone).date()


def beginning(wanted: DayRange, now: datetime, zone: tzinfo | None) -> datetime | None:
    """The first moment of a range; None when it has none."""
    days = _DAYS.get(wanted)
    if days is None:
        return None
    first = day_of(now, zone) - timedelta(days=days - 1)
    # Without a zone, a time is taken as this machine's.
    return datetime.combine(first, time.min, tzinfo=zone).astimezone(UTC)
