"""A schedule: what a job's "daily 09:00" or "0 9 * * mon-fri" means, as moments and in words.

The moments follow Debian cron, made exact for every change of the clock. If the minute or the hour
begins with a star, the job follows the wall clock: twice in a repeated hour, never in a skipped
one. Otherwise each wall time of a day fires once: the first of a pair, and a skipped one at the
first moment after the gap.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from long_running_agents.domain.job import ScheduleView
from long_running_agents.errors import UsageError


class ScheduleKind(StrEnum):
    """What fires a job."""

    EVERY = "every"
    DAILY = "daily"
    HOURLY = "hourly"
    CRON = "cron"
    AT = "at"
    STARTUP = "startup"
    MANUAL = "manual"


_UNTIMED = {
    ScheduleKind.STARTUP: "When the program starts",
    ScheduleKind.MANUAL: "Only when somebody asks for it",
}
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31, L for the last day or LW for the last weekday"),
    ("month", "1 to 12, or jan to dec"),
    (
        "day of the week",
        "0 to 7, sun to sat, 5L for the last Friday or mon#2 for the second Monday",
    ),
)
_FORMS = (
    "Write it as in: every 30m, daily 09:00, hourly :15, 0 9 * * mon-fri, @weekly, "
    "at 2026-12-01T09:00+01:00, startup, or manual."
)
_UNITS = {
    "d": ("day", timedelta(days=1)),
    "h": ("hour", timedelta(hours=1)),
    "m": ("minute", timedelta(minutes=1)),
}
_DAY = timedelta(days=1)
_LONGEST_TEXT = 300
_LONGEST_PERIOD = 3660 * _DAY
# 29 February on a given weekday is at most 40 years away, as between 2096 and 2104.
_LONGEST_WAIT = 366 * 41
# Python's dates end in 9999, and an iterator must end before them.
_LAST_YEAR = 9000
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a job fires."""

    kind: ScheduleKind
    text: str
    """As it was written, with single spaces."""
    zone: str
    """The IANA name of the zone in which it is read."""
    period: timedelta | None = None
    """The distance of the moments of "every"."""
    at: datetime | None = None
    """The one moment of "at"."""
    cron: str = ""
    """Five fields, for a cron expression, "daily" and "hourly"."""

    def after(self, start: datetime, anchor: datetime) -> Iterator[datetime]:
        """The moments strictly after the start, in UTC and in order.

        Args:
            start: The moment after which they come.
            anchor: From which on the periods of "every" are counted.
        """
        start = start.astimezone(UTC)
        if self.period is not None:
            anchor = anchor.astimezone(UTC)
            moment = anchor + max(0, (start - anchor) // self.period + 1) * self.period
            while moment.year < _LAST_YEAR:
                yield moment
                moment += self.period
        elif self.at is not None:
            if self.at > start:
                yield self.at.astimezone(UTC)
        elif self.cron:
            yield from _cron_moments(CronSim(self.cron, _EPOCH), ZoneInfo(self.zone), start)

    def words(self) -> str:
        """The schedule in plain English."""
        if self.period is not None:
            said = _period_words(self.period)
        elif self.at is not None:
            local = self.at.astimezone(ZoneInfo(self.zone))
            clock = local.time().isoformat("seconds" if local.second else "minutes")
            said = f"Once, on {local.date().isoformat()} at {clock} ({self.zone})"
        elif self.cron:
            said = f"{_cron_words(self.cron)} ({self.zone})"
        else:
            said = _UNTIMED[self.kind]
        return said

    def usual_gap(self, start: datetime, anchor: datetime) -> timedelta:
        """One period: the distance of the next two moments, or a day where there are not two."""
        match list(islice(self.after(start, anchor), 2)):
            case [first, second]:
                return second - first
            case _:
                return _DAY

    def view(self, now: datetime, anchor: datetime) -> ScheduleView:
        """The schedule in words, with its next five moments in its own zone."""
        zone = ZoneInfo(self.zone)
        moments = islice(self.after(now, anchor), 5)
        return ScheduleView(
            words=self.words(), next_times=tuple(moment.astimezone(zone) for moment in moments)
        )


def parse_schedule(text: str, zone: str, *, now: datetime | None = None) -> Schedule:
    """The schedule that a text means.

    Args:
        text: Such as "every 30m", "daily 09:00" or "0 9 * * mon-fri".
        zone: The IANA name of the zone in which it is read.
        now: The present; with it, a moment that has passed is refused.

    Raises:
        UsageError: It means nothing, never fires or has passed, or nobody knows the zone.
    """
    written = " ".join(text.split())
    if len(written) > _LONGEST_TEXT:
        raise UsageError(f"The schedule is longer than {_LONGEST_TEXT} characters.", hint=_FORMS)
    if strange := next((letter for letter in written if not letter.isascii()), ""):
        said = f"The schedule {written!r} has {strange!r} in it, which is no plain letter or digit."
        raise UsageError(said, hint=_FORMS)
    try:
        known = ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        hint = "Write a name such as Europe/Berlin, America/New_York or UTC."
        raise UsageError(f"There is no time zone {zone!r}.", hint=hint) from error
    schedule = _parse(written, known, zone)
    if now is not None and schedule.at is not None and schedule.at <= now:
        said = (
            f"{written!r} is in the past: it is {now.astimezone(known):%Y-%m-%d %H:%M} in {zone}."
        )
        raise UsageError(said, hint="Name a moment that is still to come.")
    return schedule


def _parse(text: str, zone: ZoneInfo, name: str) -> Schedule:
    """The schedule that a text with single spaces means."""
    head, _, tail = text.partition(" ")
    match head.lower():
        case "every":
            return Schedule(kind=ScheduleKind.EVERY, text=text, zone=name, period=_period(tail))
        case "at":
            return Schedule(kind=ScheduleKind.AT, text=text, zone=name, at=_moment(tail, zone))
        case "daily":
            form, hint = r"([01]?\d|2[0-3]):([0-5]\d)", "Write it as in: daily 09:00."
            hour, minute = _numbers(form, text, tail, hint)
            cron = f"{minute} {hour} * * *"
            return Schedule(kind=ScheduleKind.DAILY, text=text, zone=name, cron=cron)
        case "hourly":
            form, hint = r":([0-5]\d)", "Write the minute, as in: hourly :15."
            cron = f"{_numbers(form, text, tail, hint)[0]} * * * *"
            return Schedule(kind=ScheduleKind.HOURLY, text=text, zone=name, cron=cron)
        case "startup" | "manual" as word:
            if tail:
                raise UsageError(
                    f"Nothing comes after {word}, and here comes {tail!r}.", hint=_FORMS
                )
            return Schedule(kind=ScheduleKind(word), text=text, zone=name)
        case _:
            kind, cron = ScheduleKind.CRON, _cron(text)
            return _that_fires(Schedule(kind=kind, text=text, zone=name, cron=cron))


def _numbers(form: str, text: str, tail: str, hint: str) -> list[int]:
    """The numbers of a text that has the form."""
    if not (found := re.fullmatch(form, tail)):
        raise UsageError(f"{text!r} names no time of the clock.", hint=hint)
    return [int(number) for number in found.groups()]


def _period(text: str) -> timedelta:
    """The period that a text such as 30m means."""
    hint = "Write a number with m, h or d: every 30m, every 2h, every 1d."
    if re.fullmatch(r"\d+\s?s\w*", text.lower()):
        raise UsageError(f"{text!r} counts in seconds; the shortest period is 1m.", hint=hint)
    if not (found := re.fullmatch(r"(\d+)([mhd])", text.lower())):
        raise UsageError(f"{text!r} is no period.", hint=hint)
    # Seven digits hold every period that is allowed, and keep the product within a timedelta.
    count = int(found[1]) if len(found[1].lstrip("0")) <= len("9999999") else 10**7
    period = count * _UNITS[found[2]][1]
    if not period or period > _LONGEST_PERIOD:
        bounds = f"1m to {_LONGEST_PERIOD.days}d"
        raise UsageError(f"{text!r} is no period from {bounds}.", hint=hint)
    return period


def _moment(text: str, zone: ZoneInfo) -> datetime:
    """The moment that a text such as 2026-12-01T09:00+01:00 means, in UTC."""
    # Years of which no zone leads out of what Python can count.
    form = r"(19|2\d)\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?"
    hint = "Write it as in: at 2026-12-01T09:00+01:00, or without the offset for the job's zone."
    if not re.fullmatch(form, text.upper()):
        raise UsageError(f"{text!r} is no date with a time.", hint=hint)
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise UsageError(f"{text!r} is no date with a time: {error}.", hint=hint) from error
    if found.tzinfo is None:
        (found,) = _moments(found.replace(tzinfo=zone), often=False)
    return found.astimezone(UTC)


def _cron(text: str) -> str:
    """The five fields that a cron expression or its nickname has."""
    if not re.match(r"[\d*@]", text):
        said = (
            f"No schedule begins with {text.split(' ', maxsplit=1)[0]!r}."
            if text
            else "There is no schedule."
        )
        raise UsageError(said, hint=_FORMS)
    if text.startswith("@") and text.lower() not in _NICKNAMES:
        raise UsageError(f"Nobody knows {text!r}.", hint=f"There are {', '.join(_NICKNAMES)}.")
    fields = _NICKNAMES.get(text.lower(), text).split(" ")
    if len(fields) != len(_FIELDS):
        said = f"A cron expression has five fields, and {text!r} has {len(fields)}."
        named = ", ".join(name for name, _ in _FIELDS)
        raise UsageError(said, hint=f"They are {named}; there are no seconds. {_FORMS}")
    for place, (name, expected) in enumerate(_FIELDS):
        for term in fields[place].split(","):
            first, dash, last = term.partition("/")[0].partition("-")
            if _fits(place, term):
                continue
            fault = f"{term!r} is no {name}"
            if dash and _fits(place, first) and _fits(place, last):
                fault = f"{term!r} as {name} runs backwards"
            hint = f"A {name} is {expected}; ranges go up, and lists have commas."
            raise UsageError(f"In {text!r}, {fault}.", hint=hint)
    return " ".join(fields)


def _fits(place: int, term: str) -> bool:
    """Whether a term may stand at a place of a cron expression."""
    fields = ["*"] * len(_FIELDS)
    fields[place] = term
    try:
        CronSim(" ".join(fields), _EPOCH)
    except CronSimError:
        return False
    return True


def _that_fires(schedule: Schedule) -> Schedule:
    """The schedule, unless it never fires."""
    try:
        first = next(schedule.after(_EPOCH, _EPOCH), None)
    except CronSimError:
        # Each field was accepted alone, so they contradict each other.
        first = None
    if first is None:
        hint = "Choose a day that one of the months has."
        raise UsageError(f"{schedule.text!r} never fires: there is no such day.", hint=hint)
    return schedule


def _cron_moments(cron: CronSim, zone: ZoneInfo, start: datetime) -> Iterator[datetime]:
    """The moments of a cron expression strictly after the start, in order."""
    often = cron.parts[1].startswith("*") or cron.parts[2].startswith("*")
    clock = [
        timedelta(hours=h, minutes=m) for h in sorted(cron.hours) for m in sorted(cron.minutes)
    ]
    # A clock that goes back over midnight shows the day before once more.
    day = start.astimezone(zone).date() - _DAY
    held: set[datetime] = set()
    waited = 0
    while waited < _LONGEST_WAIT and day.year < _LAST_YEAR:
        waited += 1
        if day.month in cron.months and cron.match_day(day):
            held.update(_on_day(day, clock, zone, often=often))
            waited = 0
        day += _DAY
        if held:
            # Where the clock changes at midnight, the next day may come in between.
            floor = min(_both(datetime.combine(day, time(), zone)))
            ready = sorted(moment for moment in held if moment < floor)
            held.difference_update(ready)
            yield from (moment for moment in ready if moment > start)


def _on_day(
    day: date, clock: list[timedelta], zone: ZoneInfo, *, often: bool
) -> Iterable[datetime]:
    """The moments at which the clock shows the given times of a day."""
    midnight = datetime.combine(day, time(), zone)
    begin, end = _both(midnight), _both(midnight + _DAY)
    if begin[0] == begin[1] and end[0] == end[1] and end[0] - begin[0] == _DAY:
        return (begin[0] + since for since in clock)
    return (moment for since in clock for moment in _moments(midnight + since, often=often))


def _both(wall: datetime) -> tuple[datetime, datetime]:
    """A wall time in UTC, read by the clock before a change and by the one after it."""
    return wall.replace(fold=0).astimezone(UTC), wall.replace(fold=1).astimezone(UTC)


def _moments(wall: datetime, *, often: bool) -> tuple[datetime, ...]:
    """The moments that a wall time stands for."""
    before, after = _both(wall)
    if before == after:
        return (before,)
    if before < after:
        return (before, after) if often else (before,)
    if often:
        return ()
    # The wall time is skipped: the clock changes in between, read the other way round.
    zone, old = wall.tzinfo, after.astimezone(wall.tzinfo).utcoffset()
    seconds = range(int((before - after).total_seconds()) + 1)

    def changed(second: int) -> bool:
        return (after + timedelta(seconds=second)).astimezone(zone).utcoffset() != old

    return (after + timedelta(seconds=bisect_left(seconds, x=True, key=changed)),)


def _period_words(period: timedelta) -> str:
    """A period in the largest unit that divides it."""
    name, unit = next(found for found in _UNITS.values() if not period % found[1])
    count = period // unit
    return f"Every {name}" if count == 1 else f"Every {count} {name}s"


def _cron_words(cron: str) -> str:
    """A cron expression in words."""
    endings = {"1": "st", "2": "nd", "3": "rd"}
    # The library says 22th.
    return re.sub(
        r"\b([2-5])([123])th\b",
        lambda found: found[1] + found[2] + endings[found[2]],
        CronSim(cron, _EPOCH).explain(),
    )
