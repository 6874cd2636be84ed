"""Calendar days, of some place."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from long_running_agents.errors import UsageError


class Range(StrEnum):
    """The last calendar days, today included."""

    TODAY = "today"
    WEEK = "7d"
    MONTH = "30d"
    ALL = "all"


_DAYS = {Range.TODAY: 1, Range.WEEK: 7, Range.MONTH: 30}


def zone_of(name: str) -> tzinfo:
    """A time zone by its name, such as ``Europe/Berlin``.

    Raises:
        UsageError: There is none of that name.
    """
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


def beginning(wanted: Range, now: datetime, zone: tzinfo | None) -> datetime | None:
    """The first moment of a range; None when it has none."""
    days = _DAYS.get(wanted)
    if days is None:
        return None
    first = day_of(now, zone) - timedelta(days=days - 1)
    # Without a zone, a time is taken as this machine's.
    return datetime.combine(first, time.min, tzinfo=zone).astimezone(UTC)
