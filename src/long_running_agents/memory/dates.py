"""Which stretches of time a question speaks of.

It would rather miss a date than see one where none is: "may", "march" and "fall" are verbs first,
"April" and "June" are people, until a word beside them says otherwise. The finding is a table of
patterns; what stands before a finding ("last", "since", "between") then bends it.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import product
from typing import NamedTuple, TypeAlias

from long_running_agents.memory import date_words as words
from long_running_agents.memory.date_words import (
    MonthDay,
    Period,
    Stretch,
    Yearly,
    days_from,
    in_year,
    latest,
    matches,
    matches_all,
    met,
    months_from,
    nearest,
    span,
    unit_from,
)

__all__ = ["MonthDay", "Period", "Stretch", "Yearly", "matches", "matches_all", "periods"]

# A document is pasted, a question is asked: what is further in is not the question's time.
_READ = 4000
_RECENT_DAYS = 14
_CENTURY = 100
_LEAP_YEAR = 2000
_WHOLE_YEAR = Yearly(MonthDay(1, 1), MonthDay(12, 31))
_NUMBER = frozenset("#")
_EASTERN = frozenset("字")
_NOT_OF_YEARS = frozenset(("", "on", "over", "by"))
_OWNERS = (" his ", " her ", " my ", " your ", " their ", " our ", " its ")


class _Found(NamedTuple):
    """A place in the text and what it may mean."""

    start: int
    end: int
    readings: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class _Page:
    """A question made ready for reading."""

    folded: str
    """Lower case, with single spaces."""
    cased: str
    """The same places with their capitals."""
    today: date
    found: list[_Found]
    """What earlier rules, or this one further left, made of it."""

    def before(self, start: int) -> str:
        return self.folded[max(0, start - 32) : start]

    def cue(self, start: int) -> str:
        """The preposition that leads to a place, or nothing."""
        cue = words.CUE.search(self.before(start))
        return cue[1] if cue else ""

    def capital(self, start: int) -> bool:
        """Whether a word has a capital that neither a sentence's start nor shouting gave it."""
        word = self.cased[start : start + 2]
        return start > 1 and word.istitle() and self.cased[start - 2] not in ".?!"

    def joined(self, start: int) -> bool:
        """Whether a place goes on with what was found before it, as July in "May to July"."""
        return any(
            self.folded[found.end : start].strip() in words.GLUE
            for found in self.found
            if found.end < start < found.end + 12
        )


def periods(question: str, now: datetime) -> tuple[Stretch, ...]:
    """Say which stretches of time a question speaks of; none when it speaks of no time."""
    text = unicodedata.normalize("NFKC", question[:_READ]).replace("\u2019", "'")
    cased = " ".join(text.split())
    folded = cased.lower()
    seen = _seen(folded)
    # Some capitals are two letters when they are small; the places must stay the same.
    page = _Page(folded, cased if len(cased) == len(folded) else folded, now.date(), [])
    for needs, pattern, read in _RULES:
        for match in () if needs.isdisjoint(seen) else pattern.finditer(folded):
            if not any(match.start() < end and start < match.end() for start, end, _ in page.found):
                page.found.extend(_place(match, read(match, page), page))
    found = sorted(page.found, key=lambda found: found.start)
    return tuple(dict.fromkeys(met(_bend(found, page))))


def _seen(folded: str) -> set[str]:
    """The words of a text, and signs for its numbers and for eastern writing."""
    seen = set(words.WORD.findall(folded))
    if words.NUMBER.search(folded):
        seen |= _NUMBER
    if words.EASTERN_SIGN.search(folded):
        seen |= _EASTERN
    return seen


def _place(match: re.Match[str], readings: tuple[Stretch, ...], page: _Page) -> Iterator[_Found]:
    """A finding begins with the "last" or "next" before it, so that "since last May" is seen."""
    if readings:
        lean = words.LEAN.search(page.before(match.start()))
        yield _Found(match.start() - (len(lean["lean"]) + 1 if lean else 0), match.end(), readings)


def _bend(found: list[_Found], page: _Page) -> Iterator[Stretch]:
    """Make ranges of pairs, and open the ends of what stands after "before" or "since"."""
    index = 0
    while index < len(found):
        here, after = found[index], found[index + 1 : index + 2]
        if after and (range_ := _range(here, after[0], page)):
            yield from range_
            index += 2
        else:
            opening = words.OPENING.search(page.before(here.start))
            for stretch in here.readings:
                yield _opened(stretch, opening[1], page.today) if opening else stretch
            index += 1


def _range(first: _Found, last: _Found, page: _Page) -> list[Stretch]:
    glue = page.folded[first.end : last.start].strip(" ,").removesuffix(" the")
    between = page.cue(first.start) in words.BETWEEN and glue in words.PAIRERS
    if not between and glue not in words.JOINERS:
        return []
    # Two dates of one text are written the same way round.
    alike = len(first.readings) == len(last.readings)
    pairs = (zip if alike else product)(first.readings, last.readings)
    return [whole for begin, end in pairs if (whole := span(begin, end))]


def _opened(stretch: Stretch, opening: str, today: date) -> Period:
    period = latest(stretch, today) if isinstance(stretch, Yearly) else stretch
    match opening:
        case "before" | "prior to":
            return Period(date.min, days_from(period.first, -1))
        case "after":
            return Period(days_from(period.last, 1), date.max)
        case "since" | "seit" | "depuis" | "desde":
            return Period(period.first, date.max)
        case _:
            return Period(date.min, period.last)


def _calendar(match: re.Match[str], _: _Page) -> tuple[Stretch, ...]:
    """A date in numbers, as 2023-05-07, or its month."""
    return _dated(int(match["year"]), int(match["month"]), int(match["day"] or 0))


def _dated(year: int, month: int, day: int) -> tuple[Period, ...]:
    """The day, or the month for day 0; nothing when the calendar has no such day."""
    if month not in range(1, 13) or day > monthrange(year, month)[1]:
        return ()
    return (in_year(_of_month(month, day, day), year),)


def _of_month(month: int, first: int, last: int) -> Yearly:
    """Some days of a month, or for 0 all of them."""
    longest = monthrange(_LEAP_YEAR, month)[1]
    return Yearly(MonthDay(month, first or 1), MonthDay(month, last or longest))


def _slashed(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """Nobody knows whether 5/7/2023 is in May or in July, so it is both."""
    one, other, year = int(match[1]), int(match[3]), int(match[4])
    if year < _CENTURY:
        year += page.today.year // _CENTURY * _CENTURY
        year -= _CENTURY if year > page.today.year + 10 else 0
    return tuple(dict.fromkeys((*_dated(year, one, other), *_dated(year, other, one))))


def _eastern(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    if match["any_month"]:
        month, day = int(match["any_month"]), int(match["any_day"] or 0)
        valid = _dated(_LEAP_YEAR, month, day)
        return (_of_month(month, day, day),) if valid else ()
    lean = words.PHRASES[match["lean"]][1] if match["lean"] else 0
    year = int(match["year"] or page.today.year + lean)
    if not match["month"]:
        return (in_year(_WHOLE_YEAR, year),)
    return _dated(year, int(match["month"]), int(match["day"] or 0))


def _monthly(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """A month by its name, with or without days and a year."""
    month = words.MONTHS[match["month"]]
    first = int(match["day"] or match["late_day"] or 0)
    last = int(match["until"] or match["late_until"] or first)
    longest = monthrange(int(match["year"] or _LEAP_YEAR), month)[1]
    numbered = match["day"] or match["late_day"]
    if numbered and not 1 <= first <= last <= longest:
        return ()
    if not _is_month(match, page):
        return ()
    return _in_its_year(_of_month(month, first, last), match, page)


def _is_month(match: re.Match[str], page: _Page) -> bool:
    """Whether a word that may also be a verb or a person is a month here."""
    word = match["month"]
    if word in words.NOUNS:
        return page.cue(match.start()) == "en" or match["day"] is not None
    if word not in words.VERBS | words.NAMES or page.joined(match.start()):
        return True
    if match["day"] or match["late_day"] or match["year"] or match["lean"]:
        return _is_dated_month(match, page)
    return _is_bare_month(match, page)


def _is_dated_month(match: re.Match[str], page: _Page) -> bool:
    if match["of"] or page.cue(match.start()) not in {"", "of"}:
        return True
    if words.TAIL.match(page.folded, match.end()) or (match["late_day"] and match["year"]):
        return True
    if match["month"] in words.VERBS:
        return page.capital(match.start("month"))
    return bool(match["day"] or match["year"] or match["late_nth"])


def _is_bare_month(match: re.Match[str], page: _Page) -> bool:
    start, end = match.span("month")
    if lean := words.LEAN.search(page.before(start)):
        verb = match["month"] in words.VERBS
        plain = not verb or page.capital(start) or words.END.match(page.folded, end)
        return bool(plain and not lean["owner"])
    cue = page.cue(start)
    if cue in words.BOUNDED:
        return words.TAIL.match(page.folded, end) is not None
    if cue in words.PAIRED:
        return words.PARTNER.match(page.folded, end) is not None
    return cue in words.PLACED or cue.endswith(" of")


def _in_its_year(yearly: Yearly, match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """Bind days to the year that is said with them, or to none."""
    if match["year"]:
        return (in_year(yearly, int(match["year"])),)
    if match["lean"]:
        return (in_year(yearly, page.today.year + words.LEANS[match["lean"]]),)
    if lean := words.LEAN.search(page.before(match.start())):
        return (nearest(yearly, words.LEANS[lean["lean"]], page.today),)
    return (yearly,)


def _season(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    lean = words.LEAN.search(page.before(match.start()))
    cue = page.cue(match.start())
    led = cue in words.PLACED | words.BOUNDED
    if match["season"] in words.SEASON_VERBS:
        # After the fall somebody stood up again, and "in Spring Boot" is no time of the year.
        led = cue in words.PLACED and words.TAIL.match(page.folded, match.end()) is not None
    if not (match["year"] or match["lean"] or led or (lean and not lean["owner"])):
        return ()
    return _in_its_year(words.SEASONS[match["season"]], match, page)


def _quarter(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """A quarter; without a year or a cue it is the second question."""
    month = int(match["quarter"]) * 3
    yearly = Yearly(MonthDay(month - 2, 1), _of_month(month, 0, 0).last)
    if match["first_year"]:
        return (in_year(yearly, int(match["first_year"])),)
    lean = words.LEAN.search(page.before(match.start()))
    if match["year"] or match["lean"] or lean or page.cue(match.start()):
        return _in_its_year(yearly, match, page)
    return ()


def _ago(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """Nobody counts the days of "two months ago": it is half a month more or less."""
    count, unit = _count(match["count"]), match["unit"]
    size = words.UNIT_DAYS[unit]
    slack = size // 2 + (size if match["count"] in words.VAGUE else 0)
    there = _back(page.today, count, unit)
    return (Period(days_from(there, -slack), days_from(there, slack)),)


def _rolling(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """The last few weeks end today."""
    said = match["count"] or match["some"] or "a"
    count = _count(said) + (said in words.VAGUE)
    return (Period(_back(page.today, count, match["unit"]), page.today),)


def _count(said: str) -> int:
    return words.COUNTS.get(said) or int(said)


def _back(day: date, count: int, unit: str) -> date:
    if unit in {"month", "year"}:
        return months_from(day, -count * (12 if unit == "year" else 1))
    return days_from(day, -count * words.UNIT_DAYS[unit])


def _phrase(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    unit, shift = words.PHRASES[match[0]]
    if unit == "recent":
        return (Period(days_from(page.today, -_RECENT_DAYS), page.today),)
    # In German, "hier" is a place.
    foreign = match[0] == "hier" and not words.FRENCH.search(page.folded)
    if foreign or f" {page.before(match.start())}".endswith(_OWNERS):
        return ()
    return (unit_from(page.today, unit, shift),)


def _weekday(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """A weekday is the one before today unless it is said to come."""
    start, end = match.span()
    named = page.capital(start) and words.TAIL.match(page.folded, end)
    if match[0] in words.WEEKDAY_VERBS and not named:
        return ()
    ahead = words.WEEKDAYS[match[0]] - 1 - page.today.weekday()
    lean = words.LEAN.search(page.before(start))
    cue = page.cue(start)
    led = cue in words.WEEKDAY_CUES
    if not (lean or led or page.joined(start) or words.DAYTIME.match(page.folded, end)):
        return ()
    match words.LEANS[lean["lean"]] if lean else -1:
        case -1:
            offset = -(-ahead % 7 or 7)
        case 1:
            offset = ahead % 7 or 7
        case _:
            offset = ahead
    return (unit_from(page.today, "day", offset),)


def _lone_year(match: re.Match[str], page: _Page) -> tuple[Stretch, ...]:
    """A year needs a preposition, and a round one an end: "a list of 2000 words" has neither."""
    cue = page.cue(match.start())
    if cue in _NOT_OF_YEARS and not page.joined(match.start()):
        return ()
    if match[0].endswith("00") and not words.TAIL.match(page.folded, match.end()):
        return ()
    return (in_year(_WHOLE_YEAR, int(match[0])),)


_Reader: TypeAlias = Callable[[re.Match[str], _Page], tuple[Stretch, ...]]

# What a text must have for a rule to be tried: searching them all would take a reader's patience.
# Where two find the same place, the upper one has it.
_RULES: tuple[tuple[frozenset[str], re.Pattern[str], _Reader], ...] = (
    (_NUMBER, words.ISO, _calendar),
    (_NUMBER, words.ISO_MONTH, _calendar),
    (_NUMBER, words.DOTTED, _calendar),
    (_NUMBER, words.SLASHED, _slashed),
    (_EASTERN, words.EASTERN, _eastern),
    (frozenset(words.MONTHS), words.MONTHLY, _monthly),
    (frozenset(words.SEASONS), words.SEASON, _season),
    (_NUMBER, words.QUARTER, _quarter),
    (frozenset(("ago",)), words.AGO, _ago),
    (frozenset(("last", "past")), words.ROLLING, _rolling),
    (words.PHRASE_ENDS | _EASTERN, words.PHRASE, _phrase),
    (frozenset(words.WEEKDAYS), words.WEEKDAY, _weekday),
    (_NUMBER, words.LONE_YEAR, _lone_year),
)
