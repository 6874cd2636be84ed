import pytest

from long_running_agents.domain.session import title_from


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Hello", "Hello"),
        ("\n\n  Plan the trip  \nand more", "Plan the trip"),
        ("   \n", "New session"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_a_session_is_named_after_its_first_line(prompt, title):
    assert title_from(prompt) == title
