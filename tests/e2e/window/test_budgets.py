"""Budgets: a turn that a limit stopped is continued from the chat, and the page Usage has bars."""

import pytest
from patchright.sync_api import expect
from tests.e2e.served import served
from tests.e2e.window.axe import violations
from tests.e2e.window.windows import PHONE, Windows, button, says, write

LIMITED = {
    "LRA_BUDGET__SESSION__STEPS": "1",
    "LRA_BUDGET__DAY__TOKENS": "500000",
    # So early that the second request of a day is told of it.
    "LRA_AGENT__DEEP_WORK__WARNING_THRESHOLD": "0.0001",
}


@pytest.fixture
def limited(browser, model_url, tmp_path):
    """The windows of somebody whose days and sessions have limits."""
    with served(tmp_path, model_url, **LIMITED) as server:
        windows = Windows(browser, server.address)
        yield windows
        windows.close()


def assert_usable(page):
    """Everybody can use what is shown, and all of it is within the window."""
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def test_a_turn_that_a_limit_stopped_is_raised_and_continued(limited):
    page = limited.open(size=PHONE)
    write(page, "look around")
    expect(page.locator(".ending")).to_contain_text("all 1 steps of this session are used")
    assert_usable(page)
    button(page, "Raise and continue").click()
    page.wait_for_selector(".prose:has-text('Found')")
    says(page, "Most of today's 500k tokens are used")
    expect(page.locator(".ending")).to_have_count(0)

    write(page, "hello")
    page.get_by_role("link", name="Show budget").click()
    session = page.get_by_role("region", name="Budget of this session")
    expect(session).to_contain_text("2 of 2 used (100 %)")
    today = page.get_by_role("region", name="Budget of today")
    expect(today.get_by_role("progressbar")).to_have_count(1)
    expect(today).to_contain_text("of 500k used")
    page.wait_for_selector(".totals")
    assert_usable(page)
    button(page, "Raise today's limits").click()
    page.get_by_label("More tokens").fill("100000")
    assert_usable(page)
    button(page, "Raise").click()
    expect(today).to_contain_text("of 600k used")
