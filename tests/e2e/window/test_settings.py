"""Settings: models, tokens, what is configured, the doctor, and how the window looks."""

import re

from patchright.sync_api import expect
from tests.e2e.window.windows import button, says, send


def test_a_model_is_tested(windows):
    page = windows.open("settings/models")
    page.get_by_role("button", name=re.compile("^Test .*scripted")).first.click()

    says(page, "It answered in")


def test_a_token_is_made_shown_once_rotated_and_revoked(windows):
    page = windows.open("settings/tokens")
    button(page, "Make a token").click()
    page.get_by_label("Name").fill("phone")
    button(page, "Make it").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    # It lets somebody in.
    send(f"{windows.address}/api/status", "GET", "", {"authorization": f"Bearer {secret}"})
    button(page, "I have kept it").click()
    assert secret not in page.content()

    button(page, "Rotate phone").click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    button(page, "I have kept it").click()
    button(page, "Revoke phone").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()


def test_a_setting_is_changed_and_holds_after_a_restart(windows):
    page = windows.open("settings/config")
    page.get_by_role("searchbox", name="Search settings").fill("max_loop")
    button(page, "Change agent.max_loop_iterations").click()
    page.get_by_label("Value").fill("no number")
    button(page, "Write it").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    windows.forgive(400)
    page.get_by_label("Value").fill("17")
    button(page, "Write it").click()

    says(page, "17 after a restart")


def test_the_doctor_and_the_theme(windows):
    page = windows.open("settings/doctor")
    expect(page.locator(".doctor-check").first).to_be_visible()
    page.get_by_role("tab", name="Doctor").press("ArrowRight")
    page.get_by_role("radio", name=re.compile("^Dark")).check()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
