import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior

from long_running_agents.domain.retry_policy import RetryPolicy
from long_running_agents.models.retry import (
    Trouble,
    backoff,
    reason,
    trouble,
)

AGAIN = [408, 409, 425, 429, 500, 502, 503, 504, 520, 529]
NEVER = [400, 401, 402, 403, 404, 413, 422, 501]


def http(status, **headers):
    return ModelHTTPError(status, "m", "broken", headers=headers)


@pytest.mark.parametrize("status", AGAIN)
def test_what_may_pass_is_tried_again(status):
    assert backoff(http(status), 1, RetryPolicy(retries=3)) == 0.5


@pytest.mark.parametrize("status", NEVER)
def test_what_will_not_pass_goes_to_the_next_model(status):
    assert backoff(http(status), 1, RetryPolicy(retries=3)) is None


@pytest.mark.parametrize("error", [ModelAPIError("m", "cut"), UnexpectedModelBehavior("not JSON")])
def test_failures_without_a_status_are_tried_again(error):
    assert backoff(error, 1, RetryPolicy(retries=1)) == 0.5


def refused(status, message, code=None):
    return ModelHTTPError(status, "m", message, provider_error_code=code)


TROUBLES = [
    (refused(400, "too long", "context_length_exceeded"), Trouble.TOO_LONG),
    (refused(400, "the request exceeds the available context size"), Trouble.TOO_LONG),
    (refused(400, "x", "exceed_context_size_error"), Trouble.TOO_LONG),
    (refused(400, "This model's maximum context length is 8192 tokens."), Trouble.TOO_LONG),
    (refused(500, "context size has been exceeded"), Trouble.TOO_LONG),
    (refused(413, "Request entity too large"), Trouble.TOO_LONG),
    (refused(401, "Incorrect API key provided."), Trouble.NOT_ALLOWED),
    (refused(403, "Forbidden"), Trouble.NOT_ALLOWED),
    (refused(402, "Payment required"), Trouble.NOT_ALLOWED),
    (refused(429, "You exceeded your quota.", "insufficient_quota"), Trouble.NOT_ALLOWED),
    (refused(429, "Rate limit reached"), Trouble.BUSY),
    (refused(400, "Unknown field"), Trouble.REFUSED),
    (refused(404, "model not found"), Trouble.REFUSED),
    (refused(422, "x"), Trouble.REFUSED),
    (refused(501, "x"), Trouble.REFUSED),
    (refused(500, "x"), Trouble.BROKEN),
    (refused(503, "loading model"), Trouble.BROKEN),
    (ModelAPIError("m", "the connection failed"), Trouble.CUT),
    (UnexpectedModelBehavior("not JSON"), Trouble.CUT),
    (RuntimeError("bug"), Trouble.BUG),
]


@pytest.mark.parametrize(("error", "kind"), TROUBLES, ids=lambda value: str(value)[:60])
def test_every_failure_has_its_kind(error, kind):
    again = kind in {Trouble.BUSY, Trouble.BROKEN, Trouble.CUT}

    assert trouble(error) is kind
    assert (backoff(error, 1, RetryPolicy(retries=3)) is not None) is again


def test_other_errors_are_not():
    assert backoff(RuntimeError("bug"), 1, RetryPolicy(retries=3)) is None


def test_waits_double_until_the_retries_are_used_up():
    remedies = [backoff(http(500), attempt, RetryPolicy(retries=4)) for attempt in range(1, 6)]

    assert remedies == [
        0.5,
        1.0,
        2.0,
        4.0,
        None,
    ]
    assert backoff(http(500), 1, RetryPolicy(retries=0)) is None


@pytest.mark.parametrize(
    ("header", "decision"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("30", 30.0),
        ("31", None),
        ("x", 0.5),
    ],
)
def test_a_server_is_given_the_time_it_asks_for_up_to_half_a_minute(header, decision):
    error = http(429, **{"retry-after": header})

    assert backoff(error, 1, RetryPolicy(retries=3)) == decision


def test_no_wait_is_longer_than_half_a_minute():
    assert backoff(http(500), 10, RetryPolicy(retries=10)) is None


def test_reasons_are_short_and_name_the_status():
    assert reason(http(429)) == "HTTP 429: broken"
    assert reason(ModelAPIError("m", "cut")) == "cut"
    assert len(reason(ModelHTTPError(500, "m", "x" * 5000))) < 250
