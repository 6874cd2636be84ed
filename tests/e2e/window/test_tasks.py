"""The page of tasks: what people do there, and that others' changes are seen."""

from tests.e2e.window.windows import says


def tasks_of(windows, name):
    told = windows.ask("GET", f"/api/sessions/{windows.named(name)}/tasks")["tasks"]
    return [(task["title"], task["status"]) for task in told]


def test_a_task_is_moved_renamed_and_filtered(windows):
    windows.chat("birds", "plan it")
    page = windows.open("tasks")
    page.click("button[aria-label^='Find: to do']")
    page.click(".menu-item:has-text('Done')")
    page.wait_for_selector(".task-completed:has-text('Find')")
    page.click("button[aria-label='Rename Find']")
    page.fill("input[aria-label='Task name']", "Find the boat")
    page.press("input[aria-label='Task name']", "Enter")
    page.wait_for_selector(".task-title:has-text('Find the boat')")

    now = [("Count the herons", "pending"), ("Find the boat", "completed")]
    assert tasks_of(windows, "birds") == now
    # What a task is a part of stays, since it is not understood without that.
    page.click(".choice:has-text('Done')")
    assert page.locator(".task-faint").inner_text().startswith("Count the herons")
    page.click(".choice:has-text('Failed')")
    says(page, "No task is failed.")
    page.click(".choice:has-text('All')")
    page.click(".grove-title a")
    page.wait_for_selector(".turn:has-text('So be it.')")


def test_a_task_that_somebody_else_changes_is_seen_at_once(windows):
    page = windows.open("tasks")
    says(page, "No tasks yet.")
    windows.chat("birds", "plan it")
    page.wait_for_selector(".task-pending:has-text('Count the herons')")
    windows.ask("PATCH", f"/api/sessions/{windows.named('birds')}/tasks/1", status="failed")

    page.wait_for_selector(".task-failed:has-text('Count the herons')")
