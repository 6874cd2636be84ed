"""What was used and what was done: bars and tables, a live feed, and the timeline of a turn."""

import re

from patchright.sync_api import expect
from tests.e2e.window.windows import button, says

REFUSAL = {"type": "error", "code": "internal", "message": "The books burn.", "hint": "Wait."}


def test_usage_is_shown_as_bars_and_as_a_table(windows):
    windows.chat("herons", "hello")
    page = windows.open("usage")
    expect(page.get_by_role("img", name=re.compile("Tokens by day"))).to_be_visible()
    expect(page.get_by_role("region", name="Usage by model")).to_contain_text("scripted")
    says(page, "Nothing is limited for a day")
    button(page, "Today").click()

    expect(button(page, "Today")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("region", name="Usage by session")).to_be_visible()


def test_what_cannot_be_read_says_so_and_can_be_asked_for_again(windows):
    windows.chat("herons", "hello")
    page = windows.open("files")
    page.route("**/api/usage*", lambda route: route.fulfill(status=500, json=REFUSAL))
    page.goto(windows.at("usage"))
    expect(page.get_by_role("alert")).to_contain_text("The books burn.")
    page.unroute("**/api/usage*")
    button(page, "Try again").click()

    expect(page.get_by_role("region", name="Usage by model")).to_be_visible()
    windows.forgive(500)


def test_activity_is_live_and_leads_to_the_timeline_of_a_turn(windows):
    windows.chat("herons", "look around")
    page = windows.open("activity")
    says(page, "Calls list_files")
    windows.chat("egrets", "look what is new")
    lines = page.locator(".feed-line", has_text="look what is new")
    lines.first.get_by_role("link", name=re.compile("^Timeline")).click()

    spans = page.locator(".span-name")
    expect(spans.filter(has_text="list_files")).to_have_count(1)
    expect(spans.filter(has_text="Step 2")).to_have_count(1)


def test_activity_can_be_narrowed_down(windows):
    windows.chat("herons", "look around")
    page = windows.open("activity")
    page.get_by_label("Show", exact=True).select_option("calls")
    says(page, "list_files finished")

    expect(page.locator(".feed-words", has_text="Message")).to_have_count(0)
