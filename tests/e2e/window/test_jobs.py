"""Jobs: made, run, paused, edited, removed, taken along, and those that the agent proposes."""

import json
from pathlib import Path

import pytest
from patchright.sync_api import expect
from tests.e2e.window.script import COUNT
from tests.e2e.window.test_work import assert_usable
from tests.e2e.window.windows import PHONE, button, choose, says


@pytest.fixture
def counting(windows):
    """The windows of somebody who has a job."""
    windows.ask("POST", "/api/jobs", job={**COUNT, "zone": "Europe/Berlin", "jitter": 30})
    return windows


def jobs(windows):
    """The jobs there are, by id."""
    told = windows.ask("GET", "/api/jobs")["jobs"]
    return {each["job"]["id"]: each["job"] for each in told}


def test_a_job_is_made_by_whoever_sees_what_its_schedule_means(windows, size):
    page = windows.open("jobs", size=size)
    says(page, "No jobs yet.")
    assert_usable(page)
    button(page, "New job").click()
    page.get_by_label("Name").fill("Morning news")
    page.get_by_label("Schedule").fill("daily 25:00")
    says(page, "Write it as in")
    windows.forgive(400)
    page.get_by_label("Schedule").fill("at 2090-12-01T09:00")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    times = page.get_by_role("list", name="Next times").get_by_role("listitem")
    expect(times).to_have_text(["Fri 1 Dec 2090, 09:00 +01:00"])
    page.get_by_label("Schedule").fill("daily 09:00")
    expect(times).to_have_count(5)
    says(page, "At 09:00 every day (Europe/Berlin)")
    page.get_by_label("Prompt").fill("Sum up the news.")
    page.get_by_label("Session", exact=True).select_option("new")
    page.get_by_label("Tokens of a run").fill("5000")
    page.locator("summary").click()
    page.get_by_label("Moments missed").select_option("all")
    page.get_by_label("Hours without a run").fill("36")
    page.get_by_label("Each result").check()
    assert_usable(page)
    button(page, "Add job").click()
    page.wait_for_selector("h1:text-is('Morning news')")
    expect(page.locator(".facts")).to_contain_text("5k tokens")
    assert_usable(page)
    page.get_by_role("link", name="All jobs").click()
    expect(page.locator(".job-row")).to_contain_text("09:00 +0")
    assert_usable(page)

    made = jobs(windows)["morning-news"]
    assert (made["limits"]["tokens"], made["expect_every"]) == (5000, 36 * 3600)
    assert (made["session_mode"], made["missed"]) == ("new", "all")
    assert made["notify"] == ["failure", "silence", "approval", "result"]


def test_what_the_server_refuses_is_said_beside_the_form_and_nothing_is_lost(counting):
    page = counting.open("jobs/count-the-herons", size=PHONE)
    button(page, "Edit").click()
    page.locator("summary").click()
    page.get_by_label("A moment while").select_option("parallel")
    button(page, "Save").click()
    says(page, "Runs side by side need a session each.")
    counting.forgive(400)
    assert_usable(page)
    page.get_by_label("Session", exact=True).select_option("new")
    button(page, "Save").click()
    says(page, "it runs side by side")

    edited = jobs(counting)["count-the-herons"]
    assert (edited["overlap"], edited["session_mode"], edited["jitter"]) == ("parallel", "new", 30)


def test_a_run_is_in_the_history_with_the_way_to_its_session(counting, size):
    page = counting.open("jobs/count-the-herons", size=size)
    says(page, "Nothing was planned yet.")
    expect(page.get_by_role("list", name="Next times").get_by_role("listitem")).to_have_count(5)
    counting.ask("PATCH", "/api/jobs/count-the-herons", changes={"jitter": 0})
    button(page, "Run now").click()
    page.wait_for_selector("td .tag:text-is('done')")
    expect(page.locator("tbody tr")).to_contain_text("I hear you.")
    expect(page.locator("tbody tr")).to_contain_text("tokens")
    assert_usable(page)
    page.get_by_role("link", name="Open the session").click()
    says(page, "How many herons?")


def test_a_job_is_paused_resumed_and_removed_after_a_question(counting, size):
    page = counting.open("jobs/count-the-herons", size=size)
    button(page, "Pause").click()
    button(page, "Resume").wait_for()
    assert jobs(counting)["count-the-herons"]["state"] == "paused"
    expect(page.get_by_role("list", name="Next times")).to_have_count(0)
    button(page, "Resume").click()
    button(page, "Pause").wait_for()
    button(page, "Remove…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The sessions of its runs stay.")
    assert_usable(page)
    button(dialog, "Cancel").click()
    assert jobs(counting)
    button(page, "Remove…").click()
    button(dialog, "Remove").click()
    says(page, "No jobs yet.")
    assert jobs(counting) == {}


def test_what_the_agent_proposes_stands_out_and_fires_only_when_accepted(windows, size):
    windows.chat("garden", "Every morning, remind me to feed the herons.")
    [proposed] = jobs(windows).values()
    assert (proposed["state"], proposed["next_at"]) == ("proposed", None)
    page = windows.open("jobs", size=size)
    section = page.get_by_role("region", name="Proposed job Feed the herons")
    expect(section).to_contain_text("Say whom to feed.")
    assert_usable(page)
    button(section, "Accept").click()
    expect(page.locator(".job-row")).to_contain_text("Next: ")
    assert jobs(windows)[proposed["id"]]["state"] == "active"


def test_a_proposal_can_be_declined(windows):
    windows.chat("garden", "Every morning, remind me to feed the herons.")
    page = windows.open("jobs")
    button(page, "Decline").click()
    says(page, "No jobs yet.")
    assert jobs(windows) == {}


def test_jobs_come_from_a_file_and_go_into_one(counting):
    page = counting.open("jobs")
    with page.expect_download() as told:
        button(page, "Export").click()
    [written] = json.loads(Path(told.value.path()).read_text(encoding="utf-8"))
    assert written["schedule"] == "daily 02:30"
    entry = {"id": "weekly", "name": "Weekly", "schedule": "@weekly", "prompt": "Tidy up."}
    choose(page, "cron.json", json.dumps([entry, written]).encode())
    expect(page.locator(".job-row")).to_have_count(2)
    choose(page, "broken.json", b"{")
    says(page, "broken.json is not JSON")
    counting.forgive(400)


def test_a_job_that_is_not_there_is_explained(windows):
    page = windows.open("jobs/nothing")
    page.wait_for_selector(".failure:has-text('nothing')")
    windows.forgive(404)
