"""A schedule: what a job's "daily 09:00" or "0 9 * * mon-fri" means, as moments and in words.

The moments are Debian cron's, made exact. If the minute or the hour begins with a star, the job
follows the wall clock: twice in a repeated hour, never in a skipped one. Otherwise each wall time
of a day fires once: the first of a pair, and a skipped one at the first moment after the gap.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
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
    WATCH = "watch"
    STARTUP = "startup"
    WEBHOOK = "webhook"
    MANUAL = "manual"


_UNTIMED = {
    ScheduleKind.STARTUP: "When the program starts",
    ScheduleKind.WEBHOOK: "When a webhook arrives",
    ScheduleKind.MANUAL: "Only when somebody asks for it",
}
# The years of "at" are those of which no zone leads out of what Python can count.
_DATE = r"(?:19|2\d)\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?"
_FORMS = {
    "every": (r"every ([1-9]\d{0,4})([mhd])", "every 30m, every 2h or every 1d, at least every 1m"),
    "daily": (r"daily ([01]?\d|2[0-3]):([0-5]\d)", "daily 09:00"),
    "hourly": (r"hourly :([0-5]\d)", "hourly :15"),
    "watch": (r"watch(?: ([1-9]\d{0,4})([mhd]))?", "watch, or watch 10m for a look every 10m"),
    "at": (rf"at ({_DATE})", "at 2026-12-01T09:00+01:00, or without +01:00 in the job's zone"),
    **{kind.value: (kind.value, f"{kind}, and nothing after it") for kind in _UNTIMED},
}
_HINT = (
    "Write it as in: every 30m, daily 09:00, hourly :15, 0 9 * * mon-fri, @weekly, "
    "at 2026-12-01T09:00+01:00, watch 10m, startup, webhook, or manual."
)
_NICKNAMES = {
    "@hourly": "0 * * * *",
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
}
_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_FIELDS_HINT = (
    "Write minute (0-59), hour (0-23), day of the month (1-31, L), month (1-12, jan-dec) and day "
    "of the week (0-7, sun-sat, 5L, mon#2), without seconds; ranges go up, and lists have commas."
)
_UNITS = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1)}
_LOOK_EVERY = timedelta(minutes=5)
_DAY = timedelta(days=1)
_LONGEST_TEXT = 300
_LONGEST_WAIT = 41 * 366  # 29 February on a given weekday is at most 40 years away.
_LAST_YEAR = 9000  # Python's dates end in 9999, and an iterator has to end before them.
_FARTHEST_BACK = timedelta(hours=8)  # No clock went back by more than seven since 1970.
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
    """The distance of the moments of "every" and "watch"."""
    at: datetime | None = None
    """The one moment of "at", in UTC."""
    cron: str = ""
    """Five fields, for a cron expression, "daily" and "hourly"."""

    def after(self, start: datetime, anchor: datetime) -> Iterator[datetime]:
        """The moments strictly after the start, in UTC; a period counts from the anchor on."""
        start, moment = start.astimezone(UTC), anchor.astimezone(UTC)
        if self.period is not None:
            moment += max(0, (start - moment) // self.period + 1) * self.period
            while moment.year < _LAST_YEAR:
                yield moment
                moment += self.period
        elif self.at is not None and self.at > start:
            yield self.at
        elif self.cron:
            yield from _cron_moments(CronSim(self.cron, _EPOCH), ZoneInfo(self.zone), start)

    def words(self) -> str:
        """The schedule in plain English."""
        if self.period is not None:
            name, unit = next((n, unit) for n, unit in _UNITS.items() if not self.period % unit)
            count = self.period // unit
            said = f"Every {name}" if count == 1 else f"Every {count} {name}s"
            if self.kind is ScheduleKind.WATCH:
                said += ", if what is watched has changed"
        elif self.at is not None:
            local = self.at.astimezone(ZoneInfo(self.zone))
            said = f"Once, on {local:%Y-%m-%d at %H:%M:%S}".removesuffix(":00") + f" ({self.zone})"
        elif self.cron:
            said = f"{CronSim(self.cron, _EPOCH).explain()} ({self.zone})"
            for right in ("1st", "2nd", "3rd"):  # The library says 22th.
                said = re.sub(rf"\b([2-5]){right[0]}th\b", rf"\g<1>{right}", said)
        else:
            said = _UNTIMED[self.kind]
        return said

    def usual_gap(self, start: datetime, anchor: datetime) -> timedelta:
        """One period: the distance of the next two moments, or a day where there are not two."""
        moments = list(islice(self.after(start, anchor), 2))
        return moments[1] - moments[0] if moments[1:] else _DAY

    def view(self, now: datetime, anchor: datetime) -> ScheduleView:
        """The schedule in words, with its next five moments in its own zone."""
        local = (moment.astimezone(ZoneInfo(self.zone)) for moment in self.after(now, anchor))
        return ScheduleView(words=self.words(), next_times=tuple(islice(local, 5)))


def parse_schedule(text: str, zone: str, *, now: datetime | None = None) -> Schedule:
    """The schedule that a text means in a zone; with the present, one that is past is refused."""
    written = " ".join(text.split())
    if len(written) > _LONGEST_TEXT:
        raise UsageError(f"The schedule is longer than {_LONGEST_TEXT} characters.", hint=_HINT)
    if strange := [letter for letter in written if not letter.isascii()]:
        raise UsageError(f"{strange[0]!r} in {written!r} is no plain letter or digit.", hint=_HINT)
    try:
        known = ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        hint = "Write a name such as Europe/Berlin, America/New_York or UTC."
        raise UsageError(f"There is no time zone {zone[:100]!r}.", hint=hint) from error
    schedule = _parse(written, known, zone)
    if now is not None and schedule.at is not None and schedule.at <= now:
        said = f"{written!r} is in the past: now it is {now.astimezone(known):%Y-%m-%d %H:%M %Z}."
        raise UsageError(said, hint="Name a moment that is still to come.")
    return schedule


def _parse(text: str, zone: ZoneInfo, name: str) -> Schedule:
    head = text.lower().partition(" ")[0]
    if head not in _FORMS:
        return Schedule(kind=ScheduleKind.CRON, text=text, zone=name, cron=_cron(text))
    form, example = _FORMS[head]
    if not (found := re.fullmatch(form, text, re.IGNORECASE)):
        said = f"{text!r} is not how {head} is written."
        raise UsageError(said, hint=f"Write it as in: {example}.")
    bare = Schedule(kind=ScheduleKind(head), text=text, zone=name)
    match bare.kind:
        case ScheduleKind.EVERY | ScheduleKind.WATCH:
            units = {unit[0]: length for unit, length in _UNITS.items()}
            said = int(found[1]) * units[found[2].lower()] if found[1] else _LOOK_EVERY
            return replace(bare, period=said)
        case ScheduleKind.DAILY:
            return replace(bare, cron=f"{int(found[2])} {int(found[1])} * * *")
        case ScheduleKind.HOURLY:
            return replace(bare, cron=f"{int(found[1])} * * * *")
        case ScheduleKind.AT:
            return replace(bare, at=_at(found[1].upper(), zone))
        case _:
            return bare


def _at(text: str, zone: ZoneInfo) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no date: {error}.", hint=_HINT) from error
    return moment.astimezone(UTC) if moment.tzinfo else _moments(moment, zone, often=False)[0]


def _cron(text: str) -> str:
    """The five fields of a cron expression or its nickname, which fit and do fire."""
    cron = _NICKNAMES.get(text.lower(), text)
    if not re.match(r"[\d*]", cron):
        raise UsageError(f"{text!r} is no schedule.", hint=f"{_HINT} {', '.join(_NICKNAMES)}.")
    fields = cron.split(" ")
    if len(fields) != len(_FIELDS):
        said = f"A cron expression has five fields, and {text!r} has {len(fields)}."
        raise UsageError(said, hint=_FIELDS_HINT)
    for place, name in enumerate(_FIELDS):
        for term in fields[place].split(","):
            if not _fits(place, term):
                first, _, last = term.partition("/")[0].partition("-")
                fault = "runs backwards" if _fits(place, f"{last}-{first}") else f"is no {name}"
                raise UsageError(f"In {text!r}, {term!r} {fault}.", hint=_FIELDS_HINT)
    # Each field is right alone, so what is refused here is a day that no month has.
    with suppress(CronSimError):
        if next(_cron_moments(CronSim(cron, _EPOCH), UTC, _EPOCH), None):
            return cron
    raise UsageError(f"{text!r} never fires: there is no such day.", hint="Choose another day.")


def _fits(place: int, term: str) -> bool:
    try:
        return bool(CronSim("* " * place + term + " *" * (4 - place), _EPOCH))
    except CronSimError:
        return False


def _cron_moments(cron: CronSim, zone: tzinfo, start: datetime) -> Iterator[datetime]:
    often = cron.parts[1].startswith("*") or cron.parts[2].startswith("*")
    clock = [time(hour, minute) for hour in sorted(cron.hours) for minute in sorted(cron.minutes)]
    # A clock that goes back shows once more what it showed before the start.
    since = start.astimezone(zone).replace(tzinfo=None) - _FARTHEST_BACK
    day, waited = since.date(), 0
    held: set[datetime] = set()
    while waited < _LONGEST_WAIT and day.year < _LAST_YEAR:
        waited += 1
        if day.month in cron.months and cron.match_day(day):
            walls = [wall for shown in clock if (wall := datetime.combine(day, shown)) >= since]
            held.update(moment for wall in walls for moment in _moments(wall, zone, often=often))
            waited = 0
        day += _DAY
        if held:
            # Where the clock changes around midnight, moments of two days may alternate or meet.
            (begin,) = _moments(datetime.combine(day, time()), zone, often=False)
            ready = sorted(moment for moment in held if moment < begin)
            held.difference_update(ready)
            yield from (moment for moment in ready if moment > start)


def _moments(wall: datetime, zone: tzinfo, *, often: bool) -> tuple[datetime, ...]:
    """The moments that a wall time stands for."""
    local = wall.replace(tzinfo=zone)
    first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
    if first <= second:
        return (first, second) if often else (first,)
    if often:
        return ()

    def shown(seconds: int) -> datetime:
        return (second + timedelta(seconds=seconds)).astimezone(zone).replace(tzinfo=None)

    # Of a skipped wall time, the second reading lies before the gap and the first after it.
    within = range(int((first - second).total_seconds()) + 1)
    return (second + timedelta(seconds=bisect_left(within, wall, key=shown)),)
