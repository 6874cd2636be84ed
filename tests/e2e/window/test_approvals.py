"""The page of approvals: calls are allowed and denied, and lasting answers taken back."""

import pytest
from tests.e2e.window.windows import PHONE, says


@pytest.mark.parametrize(
    ("button", "grants"), [("Allow once", 0), ("For this session", 1), ("Always", 1)]
)
def test_a_call_is_allowed_from_the_page_of_approvals(windows, button, grants):
    page = windows.open("approvals")
    says(page, "Nothing waits for you.")
    windows.chat("notes", "write it")
    page.click(f".question button:has-text('{button}')")
    says(page, "Nothing waits for you.")
    page.wait_for_selector(".judgement:has-text('by you')")

    page.wait_for_selector(".grant" if grants else "section:has-text('Lasting') > p.soft")
    assert page.locator(".grant").count() == grants
    assert len(windows.ask("GET", "/api/grants")["grants"]) == grants


def test_a_call_is_denied_with_a_reason(windows):
    windows.chat("notes", "write it")
    page = windows.open("approvals", size=PHONE)
    page.click(".question button:has-text('Deny')")
    page.fill(".question input", "not today")
    page.press(".question input", "Enter")
    page.wait_for_selector(".judgement:has-text('denied')")

    history = windows.ask("GET", f"/api/sessions/{windows.named('notes')}/history")
    assert "not today" in str(history)


def test_a_lasting_answer_is_taken_back(windows):
    windows.chat("notes", "write it")
    page = windows.open("approvals")
    page.click(".question button:has-text('Always')")
    page.click(".grant button:has-text('Take back')")
    page.click("dialog button:has-text('Take back')")
    page.wait_for_selector(".grant", state="detached")

    assert windows.ask("GET", "/api/grants")["grants"] == []
    page.get_by_label("Also those taken back").check()
    page.wait_for_selector(".grant:has-text('taken back')")
