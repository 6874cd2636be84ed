from datetime import UTC, datetime

import pytest

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import Task, TaskStatus, outline, parse_status, summary
from long_running_agents.errors import UsageError

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def task(number, title, *, status=TaskStatus.PENDING, parent=None):
    return Task(
        session_id=SessionId("s"),
        number=number,
        title=title,
        description="",
        status=status,
        parent=parent,
        result="",
        created_at=NOON,
        updated_at=NOON,
    )


TREE = [
    task(1, "Move house", status=TaskStatus.IN_PROGRESS),
    task(2, "Paint", status=TaskStatus.COMPLETED, parent=1),
    task(3, "Call the bank", status=TaskStatus.CANCELLED),
    task(4, "Pack", parent=1),
    task(5, "Find boxes", status=TaskStatus.FAILED, parent=4),
]


def test_the_outline_shows_children_under_their_parents():
    assert outline(TREE).splitlines() == [
        "[>] #1 Move house",
        "  [x] #2 Paint",
        "  [ ] #4 Pack",
        "    [!] #5 Find boxes",
        "[-] #3 Call the bank",
    ]


def test_the_summary_counts_in_words():
    assert summary(TREE) == "1 of 5 tasks completed, 1 in progress"
    assert summary([task(1, "x")]) == "0 of 1 tasks completed"
    assert (summary([]), outline([])) == ("no tasks", "")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        *((status.value, status) for status in TaskStatus),
        ("Done", TaskStatus.COMPLETED),
        (" todo ", TaskStatus.PENDING),
        ("doing", TaskStatus.IN_PROGRESS),
        ("open", TaskStatus.PENDING),
        ("In Progress", TaskStatus.IN_PROGRESS),
        ("in-progress", TaskStatus.IN_PROGRESS),
    ],
)
def test_a_status_is_read_as_people_and_models_write_it(text, status):
    assert parse_status(text) is status


@pytest.mark.parametrize("text", ["", "finished?", "0", "complete d"])
def test_an_unknown_status_is_refused_with_the_known_ones(text):
    with pytest.raises(
        UsageError, match="use one of pending, in_progress, completed, failed, canc"
    ):
        parse_status(text)


def test_open_tasks_are_those_with_something_left_to_do():
    assert [s for s in TaskStatus if s.open] == [TaskStatus.PENDING, TaskStatus.IN_PROGRESS]
