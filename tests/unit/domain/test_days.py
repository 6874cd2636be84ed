from datetime import UTC, date, datetime

import pytest

from long_running_agents.domain.ids import DayRange, beginning, day_of, zone_of
from long_running_agents.errors import UsageError

NOW = datetime(2026, 11, 16, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "zone", "expected"),
    [
        (DayRange.TODAY, "UTC", "2026-11-16T00:00:00+00:00"),
        (DayRange.TODAY, "Europe/Berlin", "2026-11-15T23:00:00+00:00"),
        (DayRange.TODAY, "America/New_York", "2026-11-15T05:00:00+00:00"),
        (DayRange.TODAY, "Asia/Kathmandu", "2026-11-15T18:15:00+00:00"),
        (DayRange.WEEK, "UTC", "2026-11-10T00:00:00+00:00"),
        # Clocks were moved in between.
        (DayRange.MONTH, "Europe/Berlin", "2026-10-17T22:00:00+00:00"),
    ],
)
def test_a_range_begins_at_midnight_of_its_first_day(wanted, zone, expected):
    assert beginning(wanted, NOW, zone_of(zone)).isoformat() == expected


def test_all_has_no_beginning():
    assert beginning(DayRange.ALL, NOW, None) is None


def test_without_a_zone_days_are_those_of_this_machine():
    first = beginning(DayRange.TODAY, NOW, None)
    assert first.astimezone().time().isoformat() == "00:00:00"
    assert first <= NOW
    assert day_of(NOW, None) == NOW.astimezone().date()


def test_a_moment_belongs_to_another_day_elsewhere():
    assert day_of(NOW, zone_of("America/New_York")) == date(2026, 11, 15)


@pytest.mark.parametrize("name", ["", "Nowhere", "../../etc/passwd", "Europe", "/etc/x", "a\x00b"])
def test_what_is_no_zone_is_refused(name):
    with pytest.raises(UsageError, match="no time zone"):
        zone_of(name)
