import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior

from long_running_agents.models.resilience import Again, NextModel, reason, remedy

AGAIN = [408, 409, 425, 429, 500, 502, 503, 504, 529]
NEVER = [400, 401, 402, 403, 404, 413, 422, 501]


def http(status, **headers):
    return ModelHTTPError(status, "m", "broken", headers=headers)


@pytest.mark.parametrize("status", AGAIN)
def test_what_may_pass_is_tried_again(status):
    assert remedy(http(status), attempt=1, retries=3) == Again(0.5)


@pytest.mark.parametrize("status", NEVER)
def test_what_will_not_pass_goes_to_the_next_model(status):
    assert remedy(http(status), attempt=1, retries=3) == NextModel()


@pytest.mark.parametrize("error", [ModelAPIError("m", "cut"), UnexpectedModelBehavior("not JSON")])
def test_failures_without_a_status_are_tried_again(error):
    assert remedy(error, attempt=1, retries=1) == Again(0.5)


def test_other_errors_are_not():
    assert remedy(RuntimeError("bug"), attempt=1, retries=3) == NextModel()


def test_waits_double_until_the_retries_are_used_up():
    remedies = [remedy(http(500), attempt=attempt, retries=4) for attempt in range(1, 6)]

    assert remedies == [Again(0.5), Again(1.0), Again(2.0), Again(4.0), NextModel()]
    assert remedy(http(500), attempt=1, retries=0) == NextModel()


@pytest.mark.parametrize(
    ("header", "decision"),
    [
        ("7", Again(7.0)),
        ("0", Again(0.0)),
        ("30", Again(30.0)),
        ("31", NextModel()),
        ("x", Again(0.5)),
    ],
)
def test_a_server_is_given_the_time_it_asks_for_up_to_half_a_minute(header, decision):
    error = http(429, **{"retry-after": header})

    assert remedy(error, attempt=1, retries=3) == decision


def test_no_wait_is_longer_than_half_a_minute():
    assert remedy(http(500), attempt=10, retries=10) == NextModel()


def test_reasons_are_short_and_name_the_status():
    assert reason(http(429)) == "HTTP 429: broken"
    assert reason(ModelAPIError("m", "cut")) == "cut"
    assert len(reason(ModelHTTPError(500, "m", "x" * 5000))) < 250
