"""Moments as people type them."""

from datetime import UTC, datetime, timedelta

import pytest

from long_running_agents.cli.memory import FORMS, KINDS, SCOPES
from long_running_agents.cli.output import moment_of, number_of
from long_running_agents.domain.memory import MemoryKind, MemoryScope
from long_running_agents.errors import UsageError
from long_running_agents.memory.transfer import Format

NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "hours"), [("6h", 6), ("90d", 90 * 24), ("2w", 14 * 24), (" 1Y ", 365 * 24)]
)
def test_an_age_is_counted_back_from_now(text, hours):
    assert moment_of(text, NOW) == NOW - timedelta(hours=hours)


def test_a_day_begins_and_ends_where_the_person_is():
    begins = moment_of("2025-01-31", NOW)
    assert begins == datetime(2025, 1, 31).astimezone()
    assert moment_of("2025-01-31", NOW, end=True) == begins + timedelta(days=1)


def test_a_time_is_taken_as_it_is():
    assert moment_of("2025-01-31T12:00+00:00", NOW) == datetime(2025, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "90", "31.1.2025", "99999y", "9999-12-31"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(UsageError, match="90d"):
        moment_of(text, NOW, end=True)


@pytest.mark.parametrize("text", ["12", "#12", " #12 "])
def test_a_memory_is_named_by_its_number(text):
    assert number_of(text) == 12


@pytest.mark.parametrize("text", ["", "#", "x", "-1", "1.5", "9" * 30, "\u0661"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(UsageError, match="#12"):
        number_of(text)


def test_help_knows_every_kind_scope_and_form():
    assert tuple(KINDS) == tuple(MemoryKind)
    assert tuple(SCOPES) == tuple(MemoryScope)
    assert tuple(FORMS) == tuple(Format)
