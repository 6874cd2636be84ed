"""The page for whoever has no token yet: everybody can use it, and only a good token lets in."""

import pytest
from tests.e2e.window.axe import violations
from tests.e2e.window.windows import DESKTOP, PHONE, Windows, button


@pytest.fixture
def stranger(browser, locked):
    """The windows of somebody whom the server does not know."""
    windows = Windows(browser, locked.address)
    yield windows
    # The browser says by itself that nobody was let in yet; that is all it has to say.
    windows.forgive(401)
    windows.close()


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_everybody_can_log_in(stranger, size, scheme):
    page = stranger.open(size=size, scheme=scheme)
    page.wait_for_selector(".gate-form")

    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


def test_a_wrong_token_is_refused_and_a_good_one_lets_somebody_in(stranger, locked):
    page = stranger.open("tasks")
    page.get_by_label("Access token").fill("lra_wrong")
    button(page, "Sign in").click()
    page.wait_for_selector(".failure:has-text('not known')")
    page.get_by_label("Access token").fill(locked.token("newcomer"))
    button(page, "Sign in").click()

    page.wait_for_selector(".empty:has-text('No tasks yet.')")
