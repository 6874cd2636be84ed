"""A stretch of time: days in a row, or the same days of every year."""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

_EPOCH = date(1970, 1, 1).toordinal()
_UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class Period:
    """Days in a row, both ends included; open ends are `date.min` and `date.max`."""

    first: date
    last: date


class MonthDay(NamedTuple):
    """A day of no particular year."""

    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Yearly:
    """The same days of every year, both ends included; like winter, they may pass a year's end."""

    first: MonthDay
    last: MonthDay


Stretch: TypeAlias = Period | Yearly


def matches(stretch: Stretch, day: date) -> bool:
    """Whether a day falls into a stretch."""
    match stretch:
        case Period(first, last):
            return first <= day <= last
        case Yearly(first, last):
            place = MonthDay(day.month, day.day)
            if first <= last:
                return first <= place <= last
            return place >= first or place <= last
    assert_never(stretch)


def matches_all(stretches: Iterable[Stretch], days: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say of each day, a proleptic ordinal, whether it falls into any stretch; 0 never does."""
    inside = np.zeros(days.shape, dtype=np.bool_)
    places: NDArray[np.int64] | None = None
    for stretch in stretches:
        match stretch:
            case Period(first, last):
                inside |= (days >= first.toordinal()) & (days <= last.toordinal())
            case Yearly(first, last):
                places = _places(days) if places is None else places
                after, until = places >= _key(first), places <= _key(last)
                inside |= after & until if first <= last else after | until
    return inside & (days > 0)


def _key(place: MonthDay) -> int:
    return place.month * 100 + place.day


def _places(days: NDArray[np.int32]) -> NDArray[np.int64]:
    """Month and day of each ordinal as one number, 1231 for the last day of a year."""
    dates = (days.astype(np.int64) - _EPOCH).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    return (months.astype(np.int64) % 12 + 1) * 100 + (dates - months).astype(np.int64) + 1


def days_from(day: date, count: int) -> date:
    """The day so many days on, or the calendar's first or last day where it ends before that."""
    return date.fromordinal(min(max(day.toordinal() + count, 1), date.max.toordinal()))


def months_from(day: date, count: int) -> date:
    """The same day so many months on; the month's last where it is shorter."""
    month = min(max(day.year * 12 + day.month - 1 + count, 12), 9999 * 12 + 11)
    return _day(month // 12, MonthDay(month % 12 + 1, day.day))


def unit_from(day: date, unit: str, count: int) -> Period:
    """The day, week, weekend, month, quarter or year that is so many of them on."""
    monday = days_from(day, 7 * count - day.weekday())
    match unit:
        case "day":
            return Period(days_from(day, count), days_from(day, count))
        case "week":
            return Period(monday, days_from(monday, 6))
        case "weekend":
            return Period(days_from(monday, 5), days_from(monday, 6))
        case _:
            size = _UNIT_MONTHS[unit]
            first = months_from(day.replace(day=1), count * size - (day.month - 1) % size)
            last = months_from(first, size - 1)
            return Period(first, _day(last.year, MonthDay(last.month, 31)))


def in_year(yearly: Yearly, year: int) -> Period:
    """The days that begin in one year."""
    wraps = yearly.last < yearly.first
    return Period(_day(year, yearly.first), _day(year + wraps, yearly.last))


def nearest(yearly: Yearly, lean: int, today: date) -> Period:
    """The last that is over, the one of this year, or the next to begin."""
    around = [in_year(yearly, today.year + offset) for offset in (-2, -1, 0, 1)]
    if lean < 0:
        return ([period for period in around if period.last < today] or around[:1])[-1]
    if lean > 0:
        return ([period for period in around if period.first > today] or around[-1:])[0]
    return next((period for period in around if matches(period, today)), around[2])


def latest(yearly: Yearly, today: date) -> Period:
    """The last that has begun."""
    begun = [in_year(yearly, today.year + offset) for offset in (-1, 0)]
    return begun[begun[1].first <= today]


def span(begin: Stretch, end: Stretch) -> Stretch | None:
    """From one to the other; the one without a year takes the other's."""
    match begin, end:
        case Yearly(), Yearly():
            return Yearly(begin.first, end.last)
        case Yearly(), Period():
            return Period(latest(begin, end.last).first, end.last)
        case Period(), Yearly():
            same = in_year(end, begin.first.year)
            late = same if begin.first <= same.last else in_year(end, begin.first.year + 1)
            return Period(begin.first, late.last)
        case Period(), Period():
            # Each weekday was the one before today; Friday comes after its Monday.
            within = timedelta(0) < begin.first - end.last < timedelta(7)
            last = days_from(end.last, 7) if within else end.last
            return Period(begin.first, last) if begin.first <= last else None


def met(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Close "after May 2023 and before July 2023", which as a union would be all of time."""
    met: list[Stretch] = []
    for stretch in stretches:
        match met[-1:], stretch:
            case [Period(first, date.max)], Period(date.min, last) if first <= last:
                met[-1] = Period(first, last)
            case _:
                met.append(stretch)
    return met


def _day(year: int, place: MonthDay) -> date:
    year = min(max(year, date.min.year), date.max.year)
    return date(year, place.month, min(place.day, monthrange(year, place.month)[1]))
