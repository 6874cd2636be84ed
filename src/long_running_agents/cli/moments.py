"""Moments as people type them: an age such as 90d, a day, or a time of a day."""

import re
from datetime import date, datetime, time, timedelta

from long_running_agents.errors import UsageError

_AGE = re.compile(r"(\d{1,5})([hdwmy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}

FORMS = "a day such as 2025-01-31, a time such as 2025-01-31T12:00, or an age such as 90d"
"""What is understood."""


def moment_of(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The moment that a text means, in the person's own time zone.

    Args:
        text: A day, a time, or an age in hours, days, weeks, months of 30 days, or years.
        now: The present moment.
        end: Whether a day means its end rather than its beginning.
    """
    try:
        if age := _AGE.fullmatch(text.strip().lower()):
            return now - timedelta(hours=int(age[1]) * _HOURS[age[2]])
        return _named(text.strip(), end=end)
    except (ValueError, OverflowError):
        raise UsageError(
            f"The moment {text!r} is not understood:", hint=f"write {FORMS}."
        ) from None


def coming(text: str, now: datetime) -> datetime:
    """The moment that a text means, where an age such as 30d is one that lies ahead."""
    if age := _AGE.fullmatch(text.strip().lower()):
        try:
            return now + timedelta(hours=int(age[1]) * _HOURS[age[2]])
        except OverflowError:
            raise UsageError(f"{text!r} is too far away.", hint=f"Write {FORMS}.") from None
    return moment_of(text, now, end=True)


def _named(text: str, *, end: bool) -> datetime:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text).astimezone()
    return datetime.combine(day + timedelta(days=1) if end else day, time.min).astimezone()
