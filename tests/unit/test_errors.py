import pytest

from long_running_agents import errors
from long_running_agents.errors import LraError

KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LraError)
]


def test_an_error_reads_as_what_happened_and_what_to_do():
    error = errors.NotFound("No session 'x'.", hint="List them.")

    assert str(error) == "No session 'x'. List them."
    assert str(LraError("Broken.")) == "Broken."


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_codes_for_programs_shells_and_http(kind):
    assert kind.code.isidentifier()
    assert 1 <= kind.exit_code <= 125
    assert 400 <= kind.http_status <= 599


def test_no_two_errors_share_a_code():
    assert len({kind.code for kind in KINDS}) == len(KINDS) == 31


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_tree_in_the_docstring_is_the_tree(kind):
    assert kind.__name__ in errors.__doc__
