"""Deep work: planned, approved, changed, paused, raised, looked over and reported, by a person."""

from pathlib import Path

import pytest
from patchright.sync_api import expect
from tests.e2e.window.axe import violations
from tests.e2e.window.windows import PHONE, button, says, write


@pytest.fixture
def lake(windows):
    """The windows of somebody who has the files that the works are about."""
    windows.send("PUT", "/api/files/content?path=herons.md", "A white heron.\n", "text/markdown")
    windows.send("PUT", "/api/files/content?path=birds.csv", "name,count\nheron,3\n", "text/csv")
    return windows


def begin(windows, goal, size):
    """A chat in which a goal was given for deep work."""
    page = windows.open(size=size)
    page.get_by_role("switch", name="Deep work").check()
    write(page, goal)
    return page


def work_of(windows):
    """The only work there is."""
    [work] = windows.ask("GET", "/api/works")["works"]
    return work


def follow(page, name):
    """Follow the last link of that name."""
    page.get_by_role("link", name=name).last.click()


def assert_usable(page):
    """Everybody can use what is shown, and all of it is within the window."""
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"]


def test_a_plan_is_changed_and_approved_in_the_chat(lake, size):
    page = begin(lake, "Report on the herons", size)
    plan = page.get_by_role("region", name="Plan that waits for your approval")
    expect(plan).to_contain_text("Write it down")
    assert_usable(page)
    button(page, "Ask for changes").click()
    page.get_by_label("What is to be different?").fill("Only the grey one, please.")
    assert_usable(page)
    button(plan, "Send").click()
    expect(plan).to_contain_text("Write about the grey one")
    button(page, "Approve plan").click()
    says(page, "The work has a question.")

    # What the work told its turns is nobody's message.
    said = page.locator(".prompt-text").all_inner_texts()
    assert said == ["Report on the herons", "Only the grey one, please."]
    expect(page.locator(".work-prompt")).to_have_count(2)
    expect(page.locator(".work-prompt").first).to_contain_text("Work")
    # Each task is told of in the turn in which it was looked at.
    page.locator("summary:has-text('1 verified')").click()
    expect(page.locator("details[open]")).to_contain_text("verified herons.md")
    assert_usable(page)


def test_evidence_is_looked_at_a_task_accepted_and_the_report_taken(lake, size):
    page = begin(lake, "Report on the herons", size)
    button(page, "Approve plan").click()
    follow(page, "Open the work")
    task = page.locator(".work-task:has-text('Write it down')")
    expect(task).to_contain_text("Done when the file herons.md is there and contains “grey”.")
    task.locator("summary:has-text('Evidence')").click()
    expect(task).to_contain_text("herons.md does not contain 'grey'")
    task.locator("summary:has-text('Note')").click()
    expect(task).to_contain_text("The white one was an egret.")
    outside = page.locator(".card:has-text('Outside the scope')")
    expect(outside.get_by_role("listitem")).to_have_text(["birds.csv"])
    expect(page.get_by_role("progressbar")).to_have_count(2)
    assert_usable(page)
    button(page, "Accept #3").click()
    page.wait_for_selector(".tag:text-is('complete')")
    says(page, "2 of 2 tasks proven")
    expect(page.locator(".prose")).to_contain_text("Outside the scope")
    assert_usable(page)
    with page.expect_download() as download:
        button(page, "Download").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("# Report on the")
    page.get_by_role("link", name="Open the chat").click()
    says(page, "Deep work: complete, every task is proven")
    # The next message is an ordinary one again.
    expect(page.get_by_role("switch", name="Deep work")).not_to_be_checked()


def test_a_work_is_seen_live_and_its_task_rejected_with_a_reason(lake, size):
    work = lake.ask("POST", "/api/works", goal="Report on the herons", attended=True)
    page = lake.open(f"work/{work['id']}", size=size)
    button(page, "Approve plan").wait_for()
    says(page, "It may take 2 tasks")
    lake.ask("POST", f"/api/works/{work['id']}/approve")
    button(page, "Reject #3").click()
    page.get_by_label("What is wrong").fill("It says nothing about frogs.")
    assert_usable(page)
    button(page, "Reject").click()
    page.get_by_role("link", name="Open the chat").click()
    says(page, "It says nothing about frogs.")
    says(page, "#3 refuted by owner")


def test_a_plan_is_declined_after_a_question(lake, size):
    page = begin(lake, "Report on the herons", size)
    follow(page, "Open")
    button(page, "Decline").click()
    says(page, "This ends the work.")
    assert_usable(page)
    page.get_by_role("dialog").get_by_role("button", name="Decline").click()
    page.wait_for_selector(".tag:text-is('abandoned')")
    page.get_by_role("link", name="All works").click()
    row = page.locator(".work-row")
    expect(row).to_contain_text("Report on the herons")
    expect(row).to_contain_text("abandoned")
    assert work_of(lake)["ended_at"]


def test_a_work_is_paused_resumed_and_abandoned(lake, size):
    page = begin(lake, "Wait for the herons", size)
    button(page, "Approve plan").click()
    page.wait_for_selector(".turn:has(.work-prompt) .prose:has-text('word9')")
    follow(page, "Show the work")
    button(page, "Pause").click()
    says(page, "Paused: somebody stopped it.")
    assert_usable(page)
    button(page, "Resume").click()
    button(page, "Pause").wait_for()
    button(page, "Abandon").click()
    says(page, "What the work has done stays.")
    page.get_by_role("dialog").get_by_role("button", name="Abandon").click()
    page.wait_for_selector(".tag:text-is('abandoned')")
    expect(button(page, "Pause")).to_have_count(0)


def test_a_work_that_a_limit_stopped_is_raised_and_resumed(lake, size):
    work = lake.ask("POST", "/api/works", goal="Report on the herons", limits={"steps": 5})
    page = lake.open(f"work/{work['id']}", size=size)
    button(page, "Approve plan").click()
    says(page, "all 5 steps of this work are used")
    page.get_by_role("link", name="Open the chat").click()
    says(page, "The work has reached a limit.")
    assert_usable(page)
    page.get_by_role("link", name="Raise and resume").click()
    button(page, "Raise and resume").click()
    page.get_by_label("More steps").fill("20")
    assert_usable(page)
    page.get_by_role("dialog").get_by_role("button", name="Raise and resume").click()
    button(page, "Accept #3").wait_for()
    says(page, "of 25 used")


@pytest.mark.parametrize("answer", ["Approve change", "Decline"])
def test_a_change_of_the_plan_is_proposed_and_answered(lake, answer):
    page = begin(lake, "Count with care", PHONE)
    button(page, "Approve plan").click()
    says(page, "Approve this change of the plan?")
    assert_usable(page)
    follow(page, "Open")
    change = page.get_by_role("region", name="Proposed change of the plan")
    expect(change).to_contain_text("They fly around.")
    expect(change).to_contain_text("Change #1 “Count”: call it “Count them twice”")
    assert_usable(page)
    button(change, answer).click()
    if answer == "Approve change":
        page.wait_for_selector(".tag:text-is('complete')")
        says(page, "#1 Count them twice")
    else:
        says(page, "Change declined.")
        change.wait_for(state="hidden")


def test_a_question_stands_above_the_field_and_a_message_answers_it(lake, size):
    page = begin(lake, "Draw a heron", size)
    hint = page.locator(".work-hint")
    expect(hint).to_contain_text("Which heron shall I draw?")
    assert_usable(page)
    # Beside the work: the question stays.
    page.get_by_role("switch", name="Deep work").uncheck()
    write(page, "hello")
    page.wait_for_selector(".prose:has-text('I hear you.')")
    expect(hint).to_contain_text("Which heron shall I draw?")
    page.get_by_role("switch", name="Deep work").check()
    write(page, "The grey one")
    button(page, "Approve plan").wait_for()
    expect(hint).to_have_count(0)
    page.goto(lake.at("work"))
    expect(page.locator(".work-row")).to_contain_text("0 of 1 tasks proven")
    expect(page.locator(".work-row")).to_contain_text("plan ready")
