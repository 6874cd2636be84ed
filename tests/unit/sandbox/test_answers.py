import pytest

from long_running_agents.sandbox.base import FailureName, printable
from long_running_agents.sandbox.kernel import clean, lost, result_of


def result(answer, *, out_of_memory=False):
    return result_of(answer, isolation=("pid",), out_of_memory=out_of_memory)


def test_a_plain_answer_is_a_success():
    found = result({"stdout": "hi\n", "display": [{"text/plain": "1"}], "duration_ms": 2.5})

    assert found.success
    assert (found.stdout, found.display) == ("hi\n", ({"text/plain": "1"},))
    assert (found.duration_ms, found.isolation) == (2.5, ("pid",))


@pytest.mark.parametrize(
    ("stopped", "failure"),
    [
        ("timeout", FailureName.TIMEOUT),
        ("memory", FailureName.MEMORY),
        ("disk", FailureName.DISK),
        ("output", FailureName.OUTPUT),
        ("cancelled", FailureName.KILLED),
    ],
)
def test_what_was_stopped_says_why(stopped, failure):
    found = result({"stopped": stopped, "died": True, "rolled_back": True})

    assert found.error.name == failure
    assert found.rolled_back
    assert not found.success


def test_a_death_is_told_from_a_death_by_memory():
    assert result({"died": True}).error.name == FailureName.KILLED
    assert result({"died": True}, out_of_memory=True).error.name == FailureName.MEMORY


def test_a_command_fails_by_its_exit_code():
    assert result({"exit_code": 0}).success
    assert not result({"exit_code": 3}).success
    assert result({"exit_code": 3}).error is None


@pytest.mark.parametrize(
    "answer",
    [
        {"stdout": 7, "stderr": None, "display": "x", "error": 5, "exit_code": True},
        {"display": [1, [2], {"a": 3}], "error": [], "rolled_back": "yes", "stopped": {}},
        {"error": {"name": 1, "message": {}, "traceback": None}, "duration_ms": "fast"},
    ],
)
def test_an_answer_of_the_wrong_shape_is_still_a_result(answer):
    found = result(answer)

    assert isinstance(found.stdout, str)
    assert all(isinstance(text, str) for item in found.display for text in item.values())
    assert found.exit_code is None
    assert found.rolled_back is False


def test_text_can_always_be_written_down():
    found = result({"stdout": "a\ud800b", "value": {"\udfff": ["\ud800", 1, None]}})

    assert found.stdout.encode() == b"a?b"
    assert found.value == {"?": ["?", 1, None]}


def test_data_nested_without_end_is_cut():
    nested = []
    for _ in range(500):
        nested = [nested]

    found = clean(nested)
    depth = 0
    while found:
        [found] = found
        depth += 1
    assert depth <= 101


def test_a_lost_sandbox_is_not_alive():
    found = lost(FailureName.DIED, "it is gone", isolation=())

    assert not found.alive
    assert "its files are not" in found.error.message


def test_printable_text_commands_no_terminal():
    assert printable("\x1b]52;c;ZXZpbA==\x07ok\r\n\ttab\x9b2J") == "]52;c;ZXZpbA==ok\n\ttab2J"


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_does_not_know_become_text(number):
    found = result({"value": [number], "duration_ms": number})

    assert found.value == [str(number)]
    assert found.duration_ms == 0


@pytest.mark.parametrize("number", [10**400, True, "1", None])
def test_a_number_that_cannot_be_is_none(number):
    found = result({"exit_code": number, "duration_ms": number})

    assert found.exit_code is None
    assert found.duration_ms == 0
