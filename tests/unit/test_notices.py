"""Notices: when they are tried again, and what of an address is shown."""

from datetime import UTC, datetime

import pytest

from long_running_agents.config.loader import secret_addresses
from long_running_agents.domain.job import JobId, Notice, NoticeKind
from long_running_agents.jobs.notices import BACK_OFF, attempted
from long_running_agents.jobs.notifiers import target

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOTICE = Notice(
    key="result:turn_1",
    target="https://example.org (00000000)",
    kind=NoticeKind.RESULT,
    job_id=JobId("news"),
    title="News: done",
    text="All is well.",
    created_at=NOON,
    next_at=NOON,
)


def test_a_notice_is_tried_later_and_later_and_then_given_up_with_its_error():
    notice, waits = NOTICE, []
    while notice.next_at is not None:
        notice = attempted(notice, NOON, "It answered with status 500.")
        waits.append(notice.next_at and (notice.next_at - NOON).total_seconds())
    assert waits == [*BACK_OFF, None]
    assert (notice.attempts, notice.sent_at) == (6, None)
    assert notice.error == "It answered with status 500."


def test_a_notice_that_arrived_is_not_tried_again_and_has_no_error():
    failed = attempted(NOTICE, NOON, "It cannot be reached.")
    sent = attempted(failed, NOON, "")
    assert (sent.sent_at, sent.next_at, sent.error, sent.attempts) == (NOON, None, "", 2)


@pytest.mark.parametrize(
    ("url", "shown", "secrets"),
    [
        ("http://127.0.0.1:9", "http://127.0.0.1:9", set()),
        (
            "https://example.org/hooks/T0/S3CRET",
            "https://example.org",
            {"https://example.org/hooks/T0/S3CRET"},
        ),
        (
            "https://me:S3CRET@example.org",
            "https://example.org",
            {"https://me:S3CRET@example.org", "S3CRET"},
        ),
        (
            "HTTPS://example.org/?key=S3CRET",
            "https://example.org",
            {"HTTPS://example.org/?key=S3CRET"},
        ),
        ("http://[::1/x", "http://[::1", {"http://[::1/x"}),
        ("tgram://S3CRET/1234", "tgram", {"tgram://S3CRET/1234", "S3CRET/1234"}),
        ("S3CRET", "address", {"S3CRET"}),
    ],
)
def test_of_an_address_only_its_kind_and_the_host_of_the_web_are_shown(url, shown, secrets):
    name, _, digest = target(url).rpartition(" ")
    assert name == shown
    assert len(digest) == len("(01234567)")
    assert target(url) != target(f"{url}0")
    assert secret_addresses([url]) == secrets
