"""The words and written forms of dates, as tables and as patterns over lower-case text."""

import re
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


def _set(row: str) -> frozenset[str]:
    return frozenset(row.split())


def _index(rows: str) -> dict[str, int]:
    """Number the lines of a table from one, and say for each word which line it is in."""
    lines = rows.strip().splitlines()
    return {word: number for number, line in enumerate(lines, 1) for word in line.split()}


MONTHS = _index("""
january jan januar jänner janvier enero
february feb februar février febrero
march mar märz mars marzo
april apr avril abril
may mai mayo
june jun juni juin junio
july jul juli juillet julio
august aug août agosto
september sep sept septembre septiembre
october oct oktober okt octobre octubre
november nov novembre noviembre
december dec dezember dez décembre diciembre
""")
# Months only where a word beside them says so. The first tell themselves by a capital, as well.
VERBS = _set("may march mar apr dec sep")
NAMES = _set("april june august jan jun jul aug avril abril julio juli mai sept")
NOUNS = _set("mars mayo")
SEASONS = {
    "spring": Yearly(MonthDay(3, 1), MonthDay(5, 31)),
    "summer": Yearly(MonthDay(6, 1), MonthDay(8, 31)),
    "autumn": Yearly(MonthDay(9, 1), MonthDay(11, 30)),
    "fall": Yearly(MonthDay(9, 1), MonthDay(11, 30)),
    "winter": Yearly(MonthDay(12, 1), MonthDay(2, 29)),
}
WEEKDAYS = _index("""
monday mon
tuesday tue tues
wednesday wed
thursday thu thur thurs
friday fri
saturday sat
sunday sun
""")
WEEKDAY_VERBS = _set("mon wed sat sun")
SEASON_VERBS = _set("fall spring")
LEANS = {"this": 0, "current": 0, "last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}
PHRASES = {
    f"{lean} {unit}": (unit, shift)
    for lean, shift in LEANS.items()
    for unit in ("week", "weekend", "month", "quarter", "year")
} | {
    phrase: (unit, shift)
    for unit, shift, row in (
        ("day", 0, "today|tonight|this morning|this afternoon|this evening|heute|aujourd'hui|hoy"),
        ("day", 0, "今天|今日|오늘"),
        ("day", -1, "yesterday|last night|gestern|hier|ayer|昨天|昨日|昨晚|어제"),
        ("day", -2, "day before yesterday|vorgestern|avant-hier|anteayer|前天|一昨日|그저께"),
        ("day", 1, "tomorrow|明天|明日|내일"),
        ("day", 2, "day after tomorrow|übermorgen|après-demain|pasado mañana|后天|明後日"),
        ("week", -1, "letzte woche|semaine dernière|semana pasada|上周|上週|上星期|先週|지난주"),
        ("week", 0, "diese woche|cette semaine|esta semana|本周|这周|今週|이번 주"),
        ("week", 1, "nächste woche|semaine prochaine|próxima semana|下周|来週"),
        ("weekend", -1, "over the weekend|on the weekend|at the weekend"),
        ("month", -1, "letzten monat|mois dernier|mes pasado|上个月|上月|先月|지난달"),
        ("month", 0, "diesen monat|ce mois-ci|este mes|这个月|本月|今月"),
        ("year", -1, "letztes jahr|année dernière|an dernier|año pasado|去年|昨年|작년"),
        ("year", 0, "dieses jahr|cette année|este año|今年|올해"),
        ("year", 1, "nächstes jahr|année prochaine|próximo año|明年|来年"),
        ("recent", 0, "recently|lately|kürzlich|neulich|récemment|últimamente|最近|최근"),
    )
    for phrase in row.split("|")
}
COUNTS = _index("""
a an one
two couple
three few
four
five
six
seven several
eight
nine
ten
eleven
twelve
""")
VAGUE = _set("couple few several")
UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
JOINERS = _set("to until till through - \u2013 \u2014 bis al au à a")
PAIRERS = _set("and und et y or")
GLUE = JOINERS | PAIRERS
PLACED = _set("in during early mid late im en anfang mitte ende over")
BOUNDED = _set("since until till before after by seit bis depuis desde")
BETWEEN = _set("between zwischen entre")
PAIRED = BETWEEN | {"from"}
WEEKDAY_CUES = _set("on since until till before after from between")


def _any(words: Iterable[str]) -> str:
    """Alternatives, the longest first, so that none hides another."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


_HAN = [phrase for phrase in PHRASES if ord(phrase[0]) >= ord("⺀")]
WORD = re.compile(r"[^\W\d_]+")
NUMBER = re.compile(r"\d")
EASTERN_SIGN = re.compile(r"[⺀-鿿가-힣]")
PHRASE_ENDS = frozenset(WORD.findall(phrase)[-1] for phrase in PHRASES)

_YEAR = r"(?:19\d\d|20\d\d|2100)"
_TAKES_YEAR = (
    rf"(?:,? ?(?:of |de |del )?\b(?P<year>{_YEAR})\b| (?:of )?(?P<lean>last|this|next) year\b)?"
)
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)"
_THROUGH = rf" ?(?:{_any(JOINERS)}|and|und|et|y) ?"
_COUNT = rf"(?:(?:a )?(?P<count>\d{{1,4}}|{_any(COUNTS)})(?: of)?)"
_UNIT = rf"(?P<unit>{_any(UNIT_DAYS)})s?\b"
ISO = re.compile(rf"(?<![\d.\-])(?P<year>{_YEAR})([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)(?!\d)")
ISO_MONTH = re.compile(rf"(?<![\d.\-])(?P<year>{_YEAR})-(?P<month>\d\d)(?P<day>)(?![\d\-])")
DOTTED = re.compile(
    rf"(?<![\d.])(?P<day>\d\d?)\. ?(?P<month>\d\d?)\. ?(?P<year>{_YEAR})(?![\d.]\d)"
)
SLASHED = re.compile(rf"(?<![\d/])(\d\d?)([/\-])(\d\d?)\2({_YEAR}|\d\d)(?![\d/])")
EASTERN = re.compile(
    rf"(?<!\d)(?:(?P<year>{_YEAR})[年년]|(?P<lean>去年|昨年|작년|今年|올해|明年|来年)の?(?= ?\d)) ?"
    r"(?:(?P<month>\d\d?)[月월] ?(?:(?P<day>\d\d?)[日号號일])?)?"
    r"|(?<!\d)(?P<any_month>\d\d?)[月월] ?(?:(?P<any_day>\d\d?)[日号號일])?"
)
MONTHLY = re.compile(
    rf"(?<![\w.,:/])(?:(?P<day>\d\d?)(?P<nth>{_ORDINAL})?(?:{_THROUGH}(?P<until>\d\d?){_ORDINAL}?)?"
    rf" ?(?P<of>of |de )?)?\b(?P<month>{_any(MONTHS)})\b(?!['\-][a-z]{{1,2}}\b)\.?"
    rf"(?: (?:the )?(?P<late_day>\d\d?)(?P<late_nth>st|nd|rd|th)?(?![\d:]| ?(?:am|pm|h|%))"
    rf"(?:{_THROUGH}(?P<late_until>\d\d?)(?:st|nd|rd|th)?(?![\d:]))?)?{_TAKES_YEAR}"
)
SEASON = re.compile(rf"\b(?P<season>{_any(SEASONS)})\b{_TAKES_YEAR}")
QUARTER = re.compile(rf"\b(?:(?P<first_year>{_YEAR})[ \-]?)?q(?P<quarter>[1-4])\b{_TAKES_YEAR}")
AGO = re.compile(rf"(?<![\w.,])(?<!half ){_COUNT} {_UNIT} ago\b")
ROLLING = re.compile(
    rf"\b(?:the (?:last|past) (?:{_COUNT} )?|(?:last|past) {_COUNT.replace('<count>', '<some>')} "
    rf"|past ){_UNIT}(?! of\b)"
)
PHRASE = re.compile(rf"(?<!\w)(?:{_any(PHRASES.keys() - _HAN)})(?!\w| of\b)|{_any(_HAN)}")
WEEKDAY = re.compile(
    rf"\b(?P<weekday>{_any(WEEKDAYS)})\b(?!,? (?:the )?(?:\d|(?:{_any(MONTHS)})\b)"
    r"| (?:of|in|last|this|next)\b)"
)
LONE_YEAR = re.compile(rf"(?<![\w.,:/$€£+]){_YEAR}(?![\w%/:]|[.,]\d|-\d\d?\b)")

LEAN = re.compile(
    rf"(?:\b(?P<owner>the|his|her|my|your|their|our|its) )?\b(?P<lean>{_any(LEANS)}) $"
)
CUE = re.compile(
    r"\b((?:end|start|beginning|middle|month) of|on|of|year|"
    rf"{_any(PLACED | BOUNDED | PAIRED)})[ \-](?:the )?$"
)
OPENING = re.compile(
    r"\b(before|prior to|until|till|up to|bis|after|since|seit|depuis|desde) "
    r"(?:the )?(?:(?:end|start|beginning|middle) of )?(?:early |late |mid[ -])?$"
)
END = re.compile(r" ?(?:$|[?.!])")
TAIL = re.compile(
    r" ?(?:$|[^\w\s'\-]|(?:in|at|on|with|for|about|to|and|or|until|till|of|this|last|by)\b)"
)
PARTNER = re.compile(rf" ?(?:{_any(GLUE)}) ?(?:{_any(MONTHS)}|\d|now|today|this|last|next)")
DAYTIME = re.compile(r" (?:morning|noon|afternoon|evening|night)\b")
FRENCH = re.compile(r"\b(?:qu|que|quoi|je|j|tu|nous|vous|ai|as|avons|avez|est-ce|les?)\b")
