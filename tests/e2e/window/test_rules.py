"""Rules in the chat: pinned, suggested, enforced and lifted, at both widths."""

from patchright.sync_api import expect
from tests.e2e.window.axe import violations
from tests.e2e.window.windows import ended, says, write

SELECT = """() => {
  const text = document.querySelector(".prompt-text").firstChild;
  const range = document.createRange();
  range.setStart(text, 6);
  range.setEnd(text, 16);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


def rules_of(windows, ended="false"):
    told = windows.ask("GET", f"/api/rules?ended={ended}")["rules"]
    return [(rule["text"], rule["state"], len(rule["enforced"])) for rule in told]


def open_rules(page):
    page.click("button[aria-label^='Rules']")
    page.wait_for_selector("aside[aria-label='Rules']")


def test_a_message_or_what_is_selected_of_it_is_pinned_and_lifted(windows, size):
    page = windows.open(size=size)
    write(page, "Hello use blue ink please")
    ended(page)
    page.click("button[aria-label^='Pin as a rule']")
    says(page, "Pinned as a rule.")
    page.wait_for_selector(".aside-line:has-text('Rule pinned')")
    page.evaluate(SELECT)
    page.click("button[aria-label^='Pin as a rule']")
    open_rules(page)
    expect(page.locator(".rule")).to_have_count(2)

    assert rules_of(windows) == [
        ("Hello use blue ink please", "active", 0),
        ("use blue i", "active", 0),
    ]
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    page.click(".rule:has-text('use blue ink please') button:has-text('Lift')")
    expect(page.locator(".rule")).to_have_count(1)
    page.click("button[aria-label='Close the rules']")
    expect(page.locator("aside[aria-label='Rules']")).to_have_count(0)


def test_a_suggestion_is_pinned_or_dismissed_and_enforced(windows, size):
    page = windows.open(size=size)
    write(page, "Never open evil.com. Always be brief.")
    ended(page)
    page.wait_for_selector("button[aria-label='Rules: 2 suggested']")
    open_rules(page)
    assert violations(page) == []
    page.click(".rule:has-text('be brief') button:has-text('Dismiss')")
    expect(page.locator(".rule")).to_have_count(1)
    page.click(".rule button:has-text('Pin')")
    page.wait_for_selector(".rule:has-text('The gate could enforce: deny * evil.com')")
    page.click(".rule button:has-text('Also enforce')")
    page.wait_for_selector(".rule .tag:has-text('enforced')")
    assert rules_of(windows, "true") == [
        ("Always be brief.", "dismissed", 0),
        ("Never open evil.com.", "active", 2),
    ]
    page.wait_for_selector("button[aria-label='Rules']")


def test_before_anything_was_said_the_rules_for_all_sessions_are_there(windows, size):
    windows.ask("POST", "/api/rules", text="Be kind.")
    windows.ask("POST", "/api/rules", text="Elsewhere only.", session_id=windows.named("other"))
    page = windows.open(size=size)
    open_rules(page)

    expect(page.locator(".rule")).to_have_count(1)
    page.wait_for_selector(".rule:has-text('Be kind.') .tag:has-text('all sessions')")
