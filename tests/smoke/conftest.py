import pytest
from tests.zygote import cold


@pytest.fixture(autouse=True)
def _cold_starts():
    """A person starts the program from nothing."""
    with cold():
        yield
