"""Schedules: every moment by an independent definition, every word, every refusal."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_running_agents.domain.schedule import ScheduleKind, parse_schedule
from long_running_agents.errors import UsageError

NOW = datetime(2026, 7, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)

EXPRESSIONS = [
    "* * * * *",
    "*/15 * * * *",
    "5 * * * *",
    "5 */6 * * *",
    "*/20 1-3 * * *",
    "* 0,23 * * *",
    "0 0 * * *",
    "30 0 * * *",
    "59 23 * * *",
    "0 1 * * *",
    "30 2 * * *",
    "30 1,2,3 * * *",
    "0-59/7 2 * * *",
    "10,40 0,23 * * *",
    "0 2 1,15,28-31 * 0",
    "15 0-3 * * 0,6",
]
TRANSITIONS = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"),
    ("America/Havana", "2026-03-08"),
    ("America/Havana", "2026-11-01"),
    ("Asia/Beirut", "2026-03-29"),
    ("Asia/Beirut", "2026-10-25"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2019-02-17"),
    ("Africa/Cairo", "2026-04-24"),
    ("Africa/Cairo", "2026-10-30"),
    ("Africa/Casablanca", "2025-02-23"),
    ("Africa/Casablanca", "2025-04-06"),
    ("Pacific/Apia", "2011-12-30"),
    ("America/Caracas", "2007-12-09"),
    ("America/Caracas", "2016-05-01"),
    ("Asia/Pyongyang", "2015-08-15"),
    ("Asia/Pyongyang", "2018-05-05"),
    ("Asia/Gaza", "2023-04-29"),
    ("Asia/Gaza", "2023-10-28"),
    ("America/St_Johns", "2011-03-13"),
    ("America/St_Johns", "2011-11-06"),
    ("Antarctica/Casey", "2020-10-04"),
    ("Antarctica/Casey", "2021-03-14"),
    ("Antarctica/Vostok", "1994-01-31"),
    ("America/Nuuk", "2024-03-31"),
    ("Asia/Kathmandu", "1986-01-01"),
    ("Asia/Tehran", "2022-03-22"),
    ("Asia/Tehran", "2022-09-22"),
    ("Pacific/Chatham", "2026-04-05"),
    ("Pacific/Kwajalein", "1993-08-21"),
]


def one_of(field, low, high):
    """The numbers of a field, by a reading of its own."""
    found = set()
    for term in field.split(","):
        span, _, step = term.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


def matcher(expression):
    minute, hour, day, month, weekday = expression.split(" ")
    minutes, hours = one_of(minute, 0, 59), one_of(hour, 0, 23)
    days, months, weekdays = one_of(day, 1, 31), one_of(month, 1, 12), one_of(weekday, 0, 6)
    either = not day.startswith("*") and not weekday.startswith("*")

    def matches(wall):
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            return False
        by_date, by_week = wall.day in days, (wall.weekday() + 1) % 7 in weekdays
        return by_date or by_week if either else by_date and by_week

    return matches


@cache
def minutes_around(zone, day):
    """Each minute of three days, with what the clock on the wall shows."""
    begin = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC) - 1.5 * DAY
    found = [begin + MINUTE * count for count in range(3 * 24 * 60)]
    place = ZoneInfo(zone)
    return [(moment, moment.astimezone(place).replace(tzinfo=None, fold=0)) for moment in found]


def by_definition(expression, minutes):
    """What a watcher of the clock would do, minute by minute."""
    matches = matcher(expression)
    minute, hour, *_ = expression.split(" ")
    if minute.startswith("*") or hour.startswith("*"):
        return [moment for moment, wall in minutes if matches(wall)]
    fired, seen, shown = [], set(), minutes[0][1] - MINUTE
    for moment, wall in minutes:
        passed = [wall]
        while passed[-1] - MINUTE > shown:
            passed.append(passed[-1] - MINUTE)
        due = {each for each in passed if matches(each)} - seen
        if due:
            fired.append(moment)
        seen |= due
        shown = wall
    return fired


def differences(expression, zone, day):
    """The starts from which a schedule does not give the moments of the definition."""
    minutes = minutes_around(zone, day)
    begin, end = minutes[0][0] - MINUTE, minutes[-1][0]
    schedule = parse_schedule(expression, zone)
    expected = by_definition(expression, minutes)
    found = list(takewhile(lambda moment: moment <= end, schedule.after(begin, NOW)))
    wrong = [] if found == expected else [begin]
    for start in (begin + timedelta(hours=17, seconds=17) * count for count in range(1, 4)):
        rest = [moment for moment in expected if moment > start][:3]
        if list(islice(schedule.after(start, NOW), len(rest))) != rest:
            wrong.append(start)
    return wrong


@pytest.mark.parametrize(("zone", "day"), TRANSITIONS)
def test_every_moment_around_a_change_of_the_clock_is_the_defined_one(zone, day):
    found = {expression: differences(expression, zone, day) for expression in EXPRESSIONS}

    assert {expression: starts for expression, starts in found.items() if starts} == {}


def test_the_table_is_as_large_as_promised():
    assert len(EXPRESSIONS) * len(TRANSITIONS) >= 320
    assert len(set(EXPRESSIONS)) == 16
    assert len(set(TRANSITIONS)) == len(TRANSITIONS)


@pytest.mark.parametrize(("zone", "day"), TRANSITIONS)
def test_each_of_the_days_has_one_change_of_the_clock(zone, day):
    offsets = [wall.replace(tzinfo=UTC) - moment for moment, wall in minutes_around(zone, day)]

    assert sum(earlier != later for earlier, later in pairwise(offsets)) == 1


def test_the_definition_itself_doubles_skips_and_moves():
    spring = minutes_around("Europe/Berlin", "2026-03-29")
    autumn = minutes_around("Europe/Berlin", "2026-10-25")

    def on(day, moments):
        return [f"{moment:%H:%M}" for moment in moments if moment.day == day]

    assert on(29, by_definition("30 2 * * *", spring)) == ["01:00"]
    assert on(25, by_definition("30 2 * * *", autumn)) == ["00:30"]
    assert on(29, by_definition("*/30 2 * * *", spring)) == []
    assert on(25, by_definition("*/30 2 * * *", autumn)) == ["00:00", "00:30", "01:00", "01:30"]


def test_a_moment_in_a_repeated_hour_is_strictly_after_the_start():
    schedule = parse_schedule("hourly :15", "Europe/Berlin")
    first = datetime(2026, 10, 25, 0, 15, tzinfo=UTC)

    assert next(schedule.after(first, NOW)) == first + timedelta(hours=1)
    assert next(schedule.after(first - timedelta(microseconds=1), NOW)) == first


BAD = [
    ("", "'' is no schedule"),
    ("   ", "'' is no schedule"),
    ("sometimes", "'sometimes' is no schedule"),
    ("@reboot", "'@reboot' is no schedule. Write it as in: every 30m"),
    ("@every 5m", "@hourly, @daily"),
    ("every", "'every' is not how every is written"),
    ("every 30s", "at least every 1m"),
    ("every 0m", "'every 0m' is not how every is written"),
    ("every 1.5h", "is not how every is written"),
    ("every -5m", "is not how every is written"),
    ("every 2w", "every 30m, every 2h or every 1d"),
    ("every 100000d", "is not how every is written"),
    ("every 99999999999d", "is not how every is written"),
    ("every \u0663\u0660m", "'\u0663' in 'every \u0663\u0660m' is no plain letter or digit"),
    ("daily", "Write it as in: daily 09:00"),
    ("daily 24:00", "'daily 24:00' is not how daily is written"),
    ("daily 9", "Write it as in: daily 09:00"),
    ("daily 09:60", "is not how daily is written"),
    ("hourly", "Write it as in: hourly :15"),
    ("hourly 15", "is not how hourly is written"),
    ("hourly :60", "is not how hourly is written"),
    ("at", "Write it as in: at 2026-12-01T09:00+01:00"),
    ("at tomorrow", "is not how at is written"),
    ("at 2026-12-01", "is not how at is written"),
    ("at 2026-02-30T09:00", "is no date: day is out of range"),
    ("at 2026-12-01T25:00", "is no date: hour must be"),
    ("at 2026-12-01T09:00+25:00", "is no date: "),
    ("at 0001-01-01T00:00+14:00", "is not how at is written"),
    ("at 9999-12-31T23:59-12:00", "is not how at is written"),
    ("at 2026-07-30T12:00Z", "is in the past: now it is 2026-07-30 14:00 CEST"),
    ("at 2026-07-30T13:59", "is in the past"),
    ("startup now", "Write it as in: startup, and nothing after it"),
    ("manual 5", "is not how manual is written"),
    ("watch 10", "is not how watch is written"),
    ("webhook 5", "is not how webhook is written"),
    ("0 0 9 * * *", "has five fields, and '0 0 9 * * *' has 6"),
    ("0 9 * *", "has 4. Write minute (0-59), hour"),
    ("61 * * * *", "'61' is no minute. Write minute (0-59)"),
    ("0 24 * * *", "'24' is no hour"),
    ("0 9 0 * *", "'0' is no day of the month"),
    ("0 9 32 * *", "'32' is no day of the month"),
    ("0 9 * 13 *", "'13' is no month"),
    ("0 9 * foo *", "'foo' is no month"),
    ("0 9 * * 8", "'8' is no day of the week"),
    ("0 9 * * mon#6", "'mon#6' is no day of the week"),
    ("0 9 * * L", "'L' is no day of the week"),
    ("L 9 * * *", "is no schedule"),
    ("*/0 * * * *", "'*/0' is no minute"),
    ("1,,2 * * * *", "'' is no minute"),
    ("1-2-3 * * * *", "'1-2-3' is no minute"),
    ("5-1 * * * *", "'5-1' runs backwards"),
    ("0 22-4/2 * * *", "'22-4/2' runs backwards"),
    ("5-10/0 * * * *", "'5-10/0' is no minute"),
    ("0 9 * * fri-mon", "'fri-mon' runs backwards"),
    ("0 9 * dec-jan *", "'dec-jan' runs backwards"),
    ("\u0665 * * * *", "'\u0665' in '\u0665 * * * *' is no plain letter or digit"),
    ("0 9 * * \u017fun", "is no plain letter or digit"),
    ("0 0 31 2 *", "'0 0 31 2 *' never fires: there is no such day"),
    ("0 0 30,31 feb *", "never fires"),
    ("0 0 31 4,6,9,11 *", "never fires"),
    ("0 0 */31 2 mon#2", "never fires"),
    ("9" * 5000, "longer than 300 characters"),
]


@pytest.mark.parametrize(("text", "piece"), BAD, ids=[text[:40] or "empty" for text, _ in BAD])
def test_what_means_nothing_is_refused_with_the_reason(text, piece):
    with pytest.raises(UsageError) as refused:
        parse_schedule(text, "Europe/Berlin", now=NOW)

    assert piece in str(refused.value)
    assert refused.value.hint


ZONES = [
    "",
    "Europe",
    "Mars/Olympus",
    "../etc/passwd",
    "/etc/passwd",
    "Eur\0pe",
    "Zoné",
    "x" * 5000,
]


@pytest.mark.parametrize("zone", ZONES, ids=[ascii(zone[:20]) for zone in ZONES])
def test_a_zone_that_nobody_knows_is_refused(zone):
    with pytest.raises(UsageError, match="There is no time zone") as refused:
        parse_schedule("daily 09:00", zone)

    assert "Europe/Berlin" in refused.value.hint
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize(
    ("text", "kind", "cron", "words"),
    [
        ("every 1m", "every", "", "Every minute"),
        ("every 30m", "every", "", "Every 30 minutes"),
        ("every 90m", "every", "", "Every 90 minutes"),
        ("every 60m", "every", "", "Every hour"),
        ("every 2h", "every", "", "Every 2 hours"),
        ("Every 1D", "every", "", "Every day"),
        ("every 14d", "every", "", "Every 14 days"),
        ("daily 09:00", "daily", "0 9 * * *", "At 09:00 every day (Europe/Berlin)"),
        ("daily 9:05", "daily", "5 9 * * *", "At 09:05 every day (Europe/Berlin)"),
        ("hourly :15", "hourly", "15 * * * *", "At minute 15 of every hour (Europe/Berlin)"),
        ("hourly :00", "hourly", "0 * * * *", "At the start of every hour (Europe/Berlin)"),
        ("@hourly", "cron", "0 * * * *", "At the start of every hour (Europe/Berlin)"),
        ("@daily", "cron", "0 0 * * *", "At 00:00 every day (Europe/Berlin)"),
        ("@Midnight", "cron", "0 0 * * *", "At 00:00 every day (Europe/Berlin)"),
        ("@weekly", "cron", "0 0 * * 0", "At 00:00 on Sunday (Europe/Berlin)"),
        (
            "@monthly",
            "cron",
            "0 0 1 * *",
            "At 00:00 on the first day of every month (Europe/Berlin)",
        ),
        ("@yearly", "cron", "0 0 1 1 *", "At 00:00 on January 1 (Europe/Berlin)"),
        ("@annually", "cron", "0 0 1 1 *", "At 00:00 on January 1 (Europe/Berlin)"),
        (
            "0 9 * * mon-fri",
            "cron",
            "0 9 * * mon-fri",
            "At 09:00 on Monday through Friday (Europe/Berlin)",
        ),
        (
            "0 9 22 * *",
            "cron",
            "0 9 22 * *",
            "At 09:00 on the 22nd day of every month (Europe/Berlin)",
        ),
        (
            "0 9 12 * *",
            "cron",
            "0 9 12 * *",
            "At 09:00 on the 12th day of every month (Europe/Berlin)",
        ),
        ("at 2026-12-01T09:00+01:00", "at", "", "Once, on 2026-12-01 at 09:00 (Europe/Berlin)"),
        ("at 2026-12-01T09:00:30z", "at", "", "Once, on 2026-12-01 at 10:00:30 (Europe/Berlin)"),
        ("startup", "startup", "", "When the program starts"),
        ("manual", "manual", "", "Only when somebody asks for it"),
        ("webhook", "webhook", "", "When a webhook arrives"),
        ("watch", "watch", "", "Every 5 minutes, if what is watched has changed"),
        ("watch 1h", "watch", "", "Every hour, if what is watched has changed"),
    ],
)
def test_every_kind_is_read_and_said_in_words(text, kind, cron, words):
    schedule = parse_schedule(text, "Europe/Berlin", now=NOW)

    assert (schedule.kind, schedule.cron, schedule.words()) == (ScheduleKind(kind), cron, words)


def test_the_text_is_kept_with_single_spaces():
    assert parse_schedule("  0 \t 9 * *\n mon ", "UTC").text == "0 9 * * mon"


@pytest.mark.parametrize("text", ["startup", "webhook", "manual"])
def test_what_has_no_times_has_no_moments(text):
    schedule = parse_schedule(text, "UTC")

    assert list(schedule.after(NOW, NOW)) == []
    assert schedule.usual_gap(NOW, NOW) == DAY
    assert schedule.view(NOW, NOW).next_times == ()


moments = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(
    count=st.integers(1, 3000),
    unit=st.sampled_from("mhd"),
    anchor=moments,
    start=moments,
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Apia"]),
)
@settings(deadline=None, max_examples=200)
def test_periods_are_counted_from_the_anchor_and_never_begin_anew(count, unit, anchor, start, zone):
    schedule = parse_schedule(f"every {count}{unit}", zone)
    found = list(islice(schedule.after(start.astimezone(ZoneInfo(zone)), anchor), 4))
    period = count * {"m": MINUTE, "h": 60 * MINUTE, "d": DAY}[unit]

    assert schedule.period == period
    assert all(not (moment - anchor) % period for moment in found)
    assert all(later - earlier == period for earlier, later in pairwise(found))
    assert found[0] > start
    assert found[0] >= anchor
    assert found[0] - period <= start or found[0] == anchor
    assert found[0].tzinfo is UTC
    # Asked anew after any moment of it, as after a restart, it goes on as before.
    assert list(islice(schedule.after(found[0], anchor), 3)) == found[1:]
    between = found[0] + period / 2
    assert list(islice(schedule.after(between, anchor), 3)) == found[1:]


@given(start=moments, expression=st.sampled_from(EXPRESSIONS), change=st.sampled_from(TRANSITIONS))
@settings(deadline=None, max_examples=100)
def test_moments_go_up_and_do_not_depend_on_where_one_begins(start, expression, change):
    schedule = parse_schedule(expression, change[0])
    found = list(islice(schedule.after(start, NOW), 6))

    assert start < found[0]
    assert found == sorted(set(found))
    assert list(islice(schedule.after(found[2], NOW), 3)) == found[3:]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("at 2026-12-01T09:00+01:00", "2026-12-01T08:00Z"),
        ("at 2026-12-01T09:00Z", "2026-12-01T09:00Z"),
        ("at 2026-12-01T09:00", "2026-12-01T08:00Z"),
        ("at 2026-12-01 09:00:30", "2026-12-01T08:00:30Z"),
        ("at 2027-03-28T02:30", "2027-03-28T01:00Z"),
        ("at 2026-10-25T02:30", "2026-10-25T00:30Z"),
    ],
)
def test_at_fires_once(text, moment):
    schedule = parse_schedule(text, "Europe/Berlin", now=NOW)
    expected = datetime.fromisoformat(moment)

    assert schedule.at == expected
    assert list(schedule.after(NOW, NOW)) == [expected]
    assert list(schedule.after(expected, NOW)) == []
    assert schedule.usual_gap(NOW, NOW) == DAY


def test_a_past_moment_is_read_where_nobody_says_what_time_it_is():
    assert list(parse_schedule("at 2020-01-01T00:00Z", "UTC").after(NOW, NOW)) == []


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 9 L * *", ["2026-07-31", "2026-08-31", "2026-09-30", "2026-10-31"]),
        ("0 9 L 2 *", ["2027-02-28", "2028-02-29", "2029-02-28"]),
        ("0 9 LW * *", ["2026-07-31", "2026-08-31", "2026-09-30", "2026-10-30"]),
        ("0 9 * * 5L", ["2026-07-31", "2026-08-28", "2026-09-25"]),
        ("0 9 * * MON#2", ["2026-08-10", "2026-09-14", "2026-10-12"]),
        ("0 9 * * tue#1,thu#3", ["2026-08-04", "2026-08-20", "2026-09-01"]),
        ("0 9 * * 7", ["2026-08-02", "2026-08-09"]),
        ("0 9 1 jan,jul *", ["2027-01-01", "2027-07-01"]),
        ("0 9 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 9 29 2 */7", ["2032-02-29", "2060-02-29", "2088-02-29", "2128-02-29"]),
        ("0 9 13 * fri", ["2026-07-31", "2026-08-07", "2026-08-13", "2026-08-14"]),
    ],
)
def test_last_and_counted_days_are_found(expression, days):
    found = parse_schedule(expression, "Europe/Berlin").after(NOW, NOW)

    assert [moment.date().isoformat() for moment in islice(found, len(days))] == days


def test_a_view_has_the_next_five_moments_in_the_zone():
    view = parse_schedule("daily 09:00", "Europe/Berlin").view(
        datetime(2026, 10, 23, 12, tzinfo=UTC), NOW
    )

    assert view.words == "At 09:00 every day (Europe/Berlin)"
    assert [moment.isoformat() for moment in view.next_times] == [
        "2026-10-24T09:00:00+02:00",
        "2026-10-25T09:00:00+01:00",
        "2026-10-26T09:00:00+01:00",
        "2026-10-27T09:00:00+01:00",
        "2026-10-28T09:00:00+01:00",
    ]
    assert {str(moment.tzinfo) for moment in view.next_times} == {"Europe/Berlin"}


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("every 90m", 1.5),
        ("daily 09:00", 24),
        ("hourly :15", 1),
        ("@weekly", 168),
        ("* * * * *", 1 / 60),
    ],
)
def test_the_usual_gap_is_one_period(text, gap):
    assert parse_schedule(text, "UTC").usual_gap(NOW, NOW) == timedelta(hours=gap)


def test_many_moments_are_found_without_walking_minutes():
    found = list(islice(parse_schedule("*/5 * * * *", "Europe/Berlin").after(NOW, NOW), 20_000))

    assert found[-1] - found[0] == timedelta(minutes=5) * 19_999


def test_the_moments_end_before_the_calendar_does():
    late = datetime(8999, 12, 30, tzinfo=UTC)

    for text in ("every 99999d", "daily 09:00", "* * * * *", "0 0 29 2 *"):
        assert len(list(parse_schedule(text, "Pacific/Apia").after(late, NOW))) < 5000
