"""The page of approvals: calls are allowed and denied, and saved permissions revoked."""

import pytest
from tests.e2e.window.windows import PHONE, says

WATCH_NOTIFICATIONS = """() => {
  window.told = [];
  window.Notification = class {
    static permission = "granted";
    constructor(title, { body }) { window.told.push(`${title}: ${body}`); }
  };
  Object.defineProperty(document, "hidden", { value: true });
}"""
"""A browser that lets this page notify, while nobody looks at it."""


@pytest.mark.parametrize(
    ("button", "grants"), [("Allow once", 0), ("For this session", 1), ("Always", 1)]
)
def test_a_call_is_allowed_from_the_page_of_approvals(windows, button, grants):
    page = windows.open("approvals")
    says(page, "No pending approvals.")
    windows.chat("notes", "write it")
    page.click(f".question button:has-text('{button}')")
    says(page, "No pending approvals.")
    page.wait_for_selector(".judgement:has-text('by you')")

    page.wait_for_selector(".grant" if grants else "section:has-text('Saved') > p.soft")
    assert page.locator(".grant").count() == grants
    assert len(windows.ask("GET", "/api/grants")["grants"]) == grants


def test_an_approval_shows_the_change_and_is_seen_from_elsewhere(windows):
    page = windows.open("approvals")
    says(page, "No pending approvals.")
    page.evaluate(WATCH_NOTIFICATIONS, isolated_context=False)
    windows.chat("notes", "write it")
    page.wait_for_selector(".open-question pre:has-text('a.txt (whole file)')")

    assert page.inner_text(".open-question pre").splitlines()[-1] == "+x"
    assert page.title().startswith("(1) ")
    [told] = page.evaluate("window.told", isolated_context=False)
    assert "write_file" in told
    page.click(".question button:has-text('Allow once')")
    says(page, "No pending approvals.")
    page.wait_for_function("!document.title.startsWith('(')")


def test_the_browser_is_asked_once_whether_it_may_notify(windows):
    windows.chat("notes", "write it")
    page = windows.open("approvals")
    page.click("button:has-text('Notify me')")
    page.wait_for_selector("button:has-text('Notify me')", state="detached")
    page.reload()
    page.wait_for_selector(".question")

    assert page.query_selector("button:has-text('Notify me')") is None


def test_a_call_is_denied_with_a_reason(windows):
    windows.chat("notes", "write it")
    page = windows.open("approvals", size=PHONE)
    page.click(".question button:has-text('Deny')")
    page.fill(".question input", "not today")
    page.press(".question input", "Enter")
    page.wait_for_selector(".judgement:has-text('denied')")

    history = windows.ask("GET", f"/api/sessions/{windows.named('notes')}/history")
    assert "not today" in str(history)


def test_a_saved_permission_is_revoked(windows):
    windows.chat("notes", "write it")
    page = windows.open("approvals")
    page.click(".question button:has-text('Always')")
    page.click(".grant button:has-text('Revoke')")
    page.click("dialog button:has-text('Revoke')")
    page.wait_for_selector(".grant", state="detached")

    assert windows.ask("GET", "/api/grants")["grants"] == []
    page.get_by_label("Show revoked").check()
    page.wait_for_selector(".grant:has-text('revoked')")
