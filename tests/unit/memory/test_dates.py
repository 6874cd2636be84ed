from datetime import date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from long_running_agents.memory.dates import (
    MonthDay,
    Period,
    Yearly,
    matches,
    matches_all,
    periods,
)

NOW = datetime(2023, 10, 18, 12)  # noqa: DTZ001 - a Wednesday in the reader's own zone
NOWS = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 12, 31))  # noqa: DTZ001
MAY = Yearly(MonthDay(5, 1), MonthDay(5, 31))
WINTER = Yearly(MonthDay(12, 1), MonthDay(2, 29))
WORDS = """
last next this in on since before after until between and from to of the a few 0 3 29 31 99 ago
2023 1900 2100 days weeks months years week month year weekend quarter q1 q4 may March FEBRUARY
december winter summer fall monday Sun past recently yesterday today 29/2/2023 1/1/00 2023-02-29
2023年 2月 29日 去年 昨天 \u0130 \u017f \u0131 - , . ? 's
"""
PIECES = st.sampled_from(WORDS.split())


def read(question, now=NOW):
    return periods(question, now)


def days(first, last=None):
    return Period(date.fromisoformat(first), date.fromisoformat(last or first))


def yearly(first, last):
    return Yearly(MonthDay(*first), MonthDay(*last))


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What does Anna like?",
        "What may happen in Paris?",
        "May I come in?",
        "may 5 people join?",
        "may 2000 people come?",
        "This may be wrong",
        "This may, in theory, help",
        "Which of the 7 may come?",
        "The 7th may be wrong",
        "Did they march 10 miles?",
        "How many came to the last march?",
        "What did April say?",
        "What did I get from April?",
        "Where are the letters from April to me?",
        "What was said before June called?",
        "Are April and June friends?",
        "What is in April's house?",
        "Who is Summer?",
        "What happened after the fall?",
        "How was his last fall?",
        "How do I start a bean in Spring Boot?",
        "When was the chair I last sat on?",
        "Who sat in the sun?",
        "Who works on Sun Microsystems?",
        "What do I do on Fridays?",
        "Where were we on Black Friday?",
        "How was my last year at school?",
        "A list of 2000 words",
        "Who sleeps in room 2022?",
        "What was in fashion in the 1990s?",
        "Is there life on Mars?",
        "When did the Mars 2020 rover land?",
        "Do we have mayo?",
        "What is the APR on my card?",
        "Was hast du hier?",
        "Half a year ago",
        "Answer Q2",
        "Is version 1.2.3 out?",
        "Call 555-2023-05",
        "29 February 2023",
        "2023-02-30",
        "2023-13-01",
        "31/31/2023",
        "May 45",
        "2023年13月",
    ],
)
def test_no_time_is_read_where_none_is_said(question):
    assert read(question) == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was on 2023-05-07?", days("2023-05-07")),
        ("at 2023-05-07T10:00", days("2023-05-07")),
        ("on 7 May 2023", days("2023-05-07")),
        ("May 7th, 2023: lunch", days("2023-05-07")),
        ("7 Sept. 2022", days("2022-09-07")),
        ("29 February 2024", days("2024-02-29")),
        ("13/7/2023", days("2023-07-13")),
        ("7.5.2023", days("2023-05-07")),
        ("Monday, 7 May 2023", days("2023-05-07")),
        ("What did we do in May 2023?", days("2023-05-01", "2023-05-31")),
        ("the 2023-05 report", days("2023-05-01", "2023-05-31")),
        ("in Feb 2024", days("2024-02-01", "2024-02-29")),
        ("in 2022", days("2022-01-01", "2022-12-31")),
        ("Q2 2024", days("2024-04-01", "2024-06-30")),
        ("2024 Q4", days("2024-10-01", "2024-12-31")),
        ("summer of 2022", days("2022-06-01", "2022-08-31")),
        ("in winter 2023", days("2023-12-01", "2024-02-29")),
        ("May last year", days("2022-05-01", "2022-05-31")),
        ("What did I eat TODAY", days("2023-10-18")),
        ("What was said this morning?", days("2023-10-18")),
        ("yesterday evening", days("2023-10-17")),
        ("the day before yesterday", days("2023-10-16")),
        ("tomorrow", days("2023-10-19")),
        ("on Monday", days("2023-10-16")),
        ("on Wednesday", days("2023-10-11")),
        ("last Friday", days("2023-10-13")),
        ("next Tuesday", days("2023-10-24")),
        ("this Friday", days("2023-10-20")),
        ("Who called on Sat?", days("2023-10-14")),
        ("this week", days("2023-10-16", "2023-10-22")),
        ("last week", days("2023-10-09", "2023-10-15")),
        ("on Monday last week", days("2023-10-09", "2023-10-15")),
        ("last weekend", days("2023-10-14", "2023-10-15")),
        ("next month", days("2023-11-01", "2023-11-30")),
        ("last quarter", days("2023-07-01", "2023-09-30")),
        ("last year", days("2022-01-01", "2022-12-31")),
        ("What did I do last May?", days("2023-05-01", "2023-05-31")),
        ("last December", days("2022-12-01", "2022-12-31")),
        ("last October", days("2022-10-01", "2022-10-31")),
        ("next May?", days("2024-05-01", "2024-05-31")),
        ("What did I do this may", days("2023-05-01", "2023-05-31")),
        ("What is planned this May in Rome?", days("2023-05-01", "2023-05-31")),
        ("last summer", days("2023-06-01", "2023-08-31")),
        ("last winter", days("2022-12-01", "2023-02-28")),
        ("3 days ago", days("2023-10-15")),
        ("two weeks ago", days("2023-10-01", "2023-10-07")),
        ("a few days ago", days("2023-10-14", "2023-10-16")),
        ("a couple of months ago", days("2023-07-04", "2023-10-02")),
        ("in the last 3 weeks", days("2023-09-27", "2023-10-18")),
        ("in the past month", days("2023-09-18", "2023-10-18")),
        ("over the last few days", days("2023-10-14", "2023-10-18")),
        ("What changed recently?", days("2023-10-04", "2023-10-18")),
    ],
)
def test_a_time_is_bound_to_the_calendar(question, expected):
    assert read(question) == (expected,)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened in May?", MAY),
        ("what happened in may", MAY),
        ("in mid-May", MAY),
        ("at the end of May", MAY),
        ("December", yearly((12, 1), (12, 31))),
        ("the 7th of May", yearly((5, 7), (5, 7))),
        ("What did June do on June 3rd?", yearly((6, 3), (6, 3))),
        ("29 February", yearly((2, 29), (2, 29))),
        ("June 3-9", yearly((6, 3), (6, 9))),
        ("between May and July", yearly((5, 1), (7, 31))),
        ("in the winter", WINTER),
        ("in Q2", yearly((4, 1), (6, 30))),
    ],
)
def test_without_a_year_it_is_every_year(question, expected):
    assert read(question) == (expected,)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("between May and July 2023", days("2023-05-01", "2023-07-31")),
        ("between November and February 2023", days("2022-11-01", "2023-02-28")),
        ("from November 2022 to February", days("2022-11-01", "2023-02-28")),
        ("from 3 to 9 June 2023", days("2023-06-03", "2023-06-09")),
        ("from March 3rd to the 9th of June 2022", days("2022-03-03", "2022-06-09")),
        ("from 2019 to 2021", days("2019-01-01", "2021-12-31")),
        ("in 2019-2021", days("2019-01-01", "2021-12-31")),
        ("between Monday and Friday", days("2023-10-16", "2023-10-20")),
        ("after January 2023 and before March 2023", days("2023-02-01", "2023-02-28")),
        ("before May 2023", Period(date.min, date(2023, 4, 30))),
        ("until 2022", Period(date.min, date(2022, 12, 31))),
        ("after last summer", Period(date(2023, 9, 1), date.max)),
        ("since May", Period(date(2023, 5, 1), date.max)),
        ("since last December", Period(date(2022, 12, 1), date.max)),
        ("since November", Period(date(2022, 11, 1), date.max)),
    ],
)
def test_two_ends_make_a_range_and_one_leaves_it_open(question, expected):
    assert read(question) == (expected,)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Was war im Mai 2023?", days("2023-05-01", "2023-05-31")),
        ("am 3. März 2023", days("2023-03-03")),
        ("Was habe ich gestern gemacht?", days("2023-10-17")),
        ("le 7 mars 2023", days("2023-03-07")),
        ("Qu\u2019est-ce que j\u2019ai fait hier ?", days("2023-10-17")),
        ("aujourd\u2019hui", days("2023-10-18")),
        ("el 7 de mayo de 2023", days("2023-05-07")),
        ("en mayo", MAY),
        ("ayer", days("2023-10-17")),
        ("2023年5月7日に何をした", days("2023-05-07")),
        ("\uff12\uff10\uff12\uff13年5月", days("2023-05-01", "2023-05-31")),
        ("去年5月", days("2022-05-01", "2022-05-31")),
        ("5月7日", yearly((5, 7), (5, 7))),
        ("昨天我做了什么", days("2023-10-17")),
        ("一昨日", days("2023-10-16")),
        ("先週何をした", days("2023-10-09", "2023-10-15")),
        ("上周", days("2023-10-09", "2023-10-15")),
        ("去年", days("2022-01-01", "2022-12-31")),
    ],
)
def test_other_languages_have_their_days_and_months(question, expected):
    assert read(question) == (expected,)


def test_slashes_that_can_be_read_both_ways_are():
    assert read("5/7/2023") == (days("2023-05-07"), days("2023-07-05"))
    assert read("from 5/7/23 to 9/8/23") == (
        days("2023-05-07", "2023-09-08"),
        days("2023-07-05", "2023-08-09"),
    )


def test_several_times_are_all_said_once_and_in_order():
    assert read("yesterday, in May, or yesterday?") == (days("2023-10-17"), MAY)
    assert read("in March and April") == (
        yearly((3, 1), (3, 31)),
        yearly((4, 1), (4, 30)),
    )


@pytest.mark.parametrize(
    ("question", "now", "expected"),
    [
        ("last month", "2024-01-31", days("2023-12-01", "2023-12-31")),
        ("next month", "2023-12-31", days("2024-01-01", "2024-01-31")),
        ("last quarter", "2024-02-29", days("2023-10-01", "2023-12-31")),
        ("in the past month", "2024-03-31", days("2024-02-29", "2024-03-31")),
        ("in the past year", "2024-02-29", days("2023-02-28", "2024-02-29")),
        ("this winter", "2024-01-10", days("2023-12-01", "2024-02-29")),
        ("last winter", "2024-01-10", days("2022-12-01", "2023-02-28")),
        ("last Monday", "2024-01-01", days("2023-12-25")),
        ("9999 years ago", "2024-01-01", days("0001-01-01", "0001-07-02")),
        ("next year", "9999-12-31", days("9999-12-01", "9999-12-31")),
    ],
)
def test_the_calendar_turns_where_months_and_years_end(question, now, expected):
    assert read(question, datetime.fromisoformat(now)) == (expected,)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map(" ".join)), NOWS)
@example("\ud800 last \u017fummer \u0130n May", NOW)
@example("from 0/0/00 to 2100", NOW)
def test_any_text_is_read_without_failing(question, now):
    for stretch in periods(question, now):
        assert isinstance(stretch, Yearly) or stretch.first <= stretch.last


@given(NOWS.map(lambda now: (now, now.date())))
def test_each_way_to_say_a_day_is_that_day(moment):
    now, today = moment
    before = today - timedelta(1)

    assert periods("today", now) == (Period(today, today),)
    assert periods("yesterday", now) == periods("1 day ago", now) == (Period(before, before),)
    assert periods(f"{today:%Y-%m-%d}", now) == (Period(today, today),)
    assert periods(f"on {today.day} {today:%B} {today.year}", now) == (Period(today, today),)
    assert periods(f"last {before:%A}", now) == (Period(before, before),)


STRETCHES = st.one_of(
    st.tuples(st.dates(), st.dates()).map(lambda ends: Period(min(ends), max(ends))),
    st.tuples(st.dates(), st.dates()).map(
        lambda ends: Yearly(*(MonthDay(end.month, end.day) for end in ends))
    ),
)


@given(st.lists(STRETCHES, max_size=4), st.lists(st.dates(), max_size=20))
def test_many_days_match_as_each_one_does(stretches, some):
    ordinals = np.array([0, *(day.toordinal() for day in some)], dtype=np.int32)

    inside = matches_all(stretches, ordinals)

    assert inside.dtype == np.bool_
    assert inside.tolist() == [
        False,
        *(any(matches(stretch, day) for stretch in stretches) for day in some),
    ]


def test_winter_passes_the_years_end_and_may_does_not():
    assert matches(WINTER, date(2024, 2, 29))
    assert matches(WINTER, date(2023, 12, 1))
    assert not matches(WINTER, date(2023, 3, 1))
    assert matches(MAY, date(1999, 5, 31))
    assert not matches(MAY, date(1999, 6, 1))


def test_an_unknown_day_matches_not_even_all_of_time():
    ever = Period(date.min, date.max)

    assert matches_all([ever, WINTER], np.array([[0, 1]], dtype=np.int32)).tolist() == [
        [False, True]
    ]
