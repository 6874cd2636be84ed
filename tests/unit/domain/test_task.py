from datetime import UTC, datetime
from graphlib import TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.task import (
    Criterion,
    CriterionKind,
    Scope,
    Task,
    TaskStatus,
    check_dependencies,
    leaves,
    outline,
    parse_criterion,
    parse_status,
    plain_path,
    summary,
)
from long_running_agents.errors import UsageError

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


def task(number, title="x", *, status=TaskStatus.PENDING, parent=None, **more):
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
        **more,
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


PROOF = Criterion(kind=CriterionKind.FILE, path="out.txt")
GONE = TaskStatus.CANCELLED


@pytest.mark.parametrize(
    ("tasks", "numbers"),
    [
        ([], []),
        ([task(1), task(2)], [1, 2]),
        ([task(1, status=GONE)], []),
        # What is above others is proven by them, unless it says what proves it.
        ([task(1), task(2, parent=1)], [2]),
        ([task(1, planned=True), task(2, parent=1, planned=True)], [2]),
        ([task(1), task(2, parent=1, criterion=PROOF)], [2]),
        ([task(1, criterion=PROOF), task(2, parent=1, criterion=PROOF)], [1, 2]),
        # A step below an approved plan is proven by what is above it, unless it says so as well.
        ([task(1, criterion=PROOF, planned=True), task(2, parent=1), task(3, parent=2)], [1]),
        # A step that was given up leaves what is above it to be proven.
        ([task(1, planned=True), task(2, parent=1, status=GONE)], [1]),
        # What is above it is not there any more.
        ([task(1, status=GONE), task(2, parent=1)], [2]),
    ],
)
def test_the_tasks_that_have_to_be_proven(tasks, numbers):
    assert [each.number for each in leaves(tasks)] == numbers


def test_a_task_cannot_wait_for_what_is_not_there_or_for_itself():
    known = [task(1, depends_on=(2,)), task(2), task(3, depends_on=(1,))]

    check_dependencies(known, 3, (1, 2))
    check_dependencies(known, 0, (1, 2, 3))
    with pytest.raises(UsageError, match="No task #9"):
        check_dependencies(known, 3, (1, 9))
    for number, wanted in ((2, (1,)), (2, (3,)), (3, (3,)), (1, (2, 3))):
        with pytest.raises(UsageError, match=f"#{number} would wait for itself"):
            check_dependencies(known, number, wanted)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=25))
def test_whatever_is_asked_for_no_tasks_wait_for_each_other(edges):
    waits = {number: set() for number in range(1, 7)}
    for number, other in edges:
        known = [task(each, depends_on=tuple(on)) for each, on in waits.items()]
        ahead, seen = [other], set()
        while ahead:
            each = ahead.pop()
            ahead += [] if each in seen else waits[each]
            seen.add(each)
        if number in seen:
            with pytest.raises(UsageError):
                check_dependencies(known, number, [other])
        else:
            check_dependencies(known, number, [other])
            waits[number].add(other)
    assert len(list(TopologicalSorter(waits).static_order())) == 6


@pytest.mark.parametrize(
    ("paths", "path", "covered"),
    [
        ((), "anything", True),
        (("birds",), "birds", True),
        (("birds",), "birds/heron.md", True),
        (("birds/",), "birds/deep/heron.md", True),
        (("./birds",), "/workspace/birds/heron.md", True),
        (("/workspace/birds",), "birds/heron.md", True),
        (("birds",), "birds.txt", False),
        (("birds",), "birds/../secret.txt", False),
        (("birds",), "/etc/birds/heron.md", False),
        (("birds",), "../birds/heron.md", False),
        (("*.md",), "notes.md", True),
        (("birds/?.md",), "birds/1.md", True),
        (("birds/?.md",), "birds/12.md", False),
        (("a", "b"), "b/c", True),
        ((".",), "anything/at/all", True),
        (("/workspace",), "anything", True),
        (("/workspace/",), "anything", True),
        (("/",), "anything", False),
        (("app/[id]/page.tsx",), "app/[id]/page.tsx", True),
        (("app/[id]",), "app/i/page.tsx", False),
    ],
)
def test_a_path_is_in_a_scope_or_not(paths, path, covered):
    assert Scope(paths=paths).covers_path(path) is covered


def test_where_only_the_workspace_is_meant_nothing_outside_is():
    assert not Scope(paths=(".",)).covers_path("../secret")
    assert not Scope(paths=("/workspace",)).covers_path("/etc/passwd")
    assert not Scope(paths=("*",)).covers_path("../secret")


@pytest.mark.parametrize(
    ("hosts", "host", "covered"),
    [
        ((), "example.org", True),
        (("example.org",), "example.org", True),
        (("example.org",), "www.example.org", True),
        (("example.org",), "bad-example.org", False),
        (("example.org",), "example.org.evil.net", False),
        (("*.example.org",), "www.example.org", True),
        (("*.example.org",), "example.org", False),
    ],
)
def test_a_host_is_in_a_scope_or_not(hosts, host, covered):
    assert Scope(hosts=hosts).covers_host(host) is covered


def test_a_scope_is_in_another_if_all_of_it_is():
    wide = Scope(paths=("birds", "nests"), hosts=("example.org",))

    assert wide.covers(Scope(paths=("birds/heron.md",), hosts=("www.example.org",)))
    assert wide.covers(Scope(paths=("nests",)))
    assert not wide.covers(Scope(paths=("birds", "eggs")))
    assert not wide.covers(Scope(paths=("birds",), hosts=("example.net",)))
    # One that says nothing of paths may write anything.
    assert not wide.covers(Scope(hosts=("example.org",)))
    assert Scope().covers(wide)
    assert Scope().covers(Scope())


def test_two_scopes_together_are_open_where_one_of_them_is():
    assert Scope(paths=("a",), hosts=("x",)) | Scope(paths=("b", "a")) == Scope(paths=("a", "b"))


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("a/b.md", "a/b.md"),
        ("./a//b.md", "a/b.md"),
        ("/workspace/a", "a"),
        ("/workspace//a", "a"),
        ("/workspace", "."),
        ("/workspaces/a", "/workspaces/a"),
        ("a/../b", "b"),
        ("../b", "../b"),
        ("/etc/passwd", "/etc/passwd"),
    ],
)
def test_a_path_has_one_form(path, plain):
    assert plain_path(path) == plain


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"kind": "wish"}, "kind is one of file, command, call, fetch, judged, human"),
        ({"path": "a"}, "kind is one of"),
        ({"kind": "file"}, "of kind file needs 'path'"),
        ({"kind": "command"}, "needs 'command'"),
        ({"kind": "call"}, "needs 'tool'"),
        ({"kind": "fetch"}, "needs 'url'"),
        ({"kind": "judged"}, "needs 'text'"),
        ({"kind": "file", "path": "a", "must": "be"}, "has no 'must'"),
        ({"kind": "file", "path": "a", "min_bytes": "many"}, "min_bytes"),
        ({"kind": "call", "tool": "shell", "contains": "ok"}, "Use kind command"),
        ({"kind": "call", "tool": "execute_code"}, "Use kind command"),
    ],
)
def test_a_criterion_that_proves_nothing_is_refused(given, why):
    with pytest.raises(UsageError, match=why):
        parse_criterion(given)


def test_no_criterion_is_none():
    assert parse_criterion(None) is None
    assert parse_criterion({}) is None
