import pytest
from tests.zygote import cold


@pytest.fixture(autouse=True)
def _cold_starts():
    """What is measured and looked at here is a start as everybody has it."""
    with cold():
        yield
