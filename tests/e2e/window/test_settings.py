"""Settings: models, tokens, what is configured, the doctor, and how the window looks."""

import re

from patchright.sync_api import expect
from tests.e2e.window.windows import button, says, send


def test_a_model_is_tested(windows):
    page = windows.open("settings/models")
    page.get_by_role("button", name=re.compile("^Test .*scripted")).first.click()

    says(page, "Answered in")


def test_a_token_is_made_shown_once_rotated_and_revoked(windows):
    page = windows.open("settings/tokens")
    button(page, "Create a token").click()
    page.get_by_label("Name").fill("phone")
    button(page, "Create").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    # It lets somebody in.
    send(f"{windows.address}/api/status", "GET", "", {"authorization": f"Bearer {secret}"})
    button(page, "Done").click()
    assert secret not in page.content()

    button(page, "Rotate phone").click()
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    button(page, "Done").click()
    button(page, "Revoke phone").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()


def test_a_setting_is_changed_and_holds_after_a_restart(windows):
    page = windows.open("settings/config")
    page.get_by_role("searchbox", name="Search settings").fill("max_loop")
    button(page, "Change agent.max_loop_iterations").click()
    page.get_by_label("Value").fill("no number")
    button(page, "Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    windows.forgive(400)
    page.get_by_label("Value").fill("17")
    button(page, "Save").click()

    says(page, "17 after a restart")


def test_who_the_agent_is_and_works_for_is_written(windows):
    page = windows.open("settings/character")
    for path, words in (("SOUL.md", "Be brief."), ("USER.md", "Ada counts herons.")):
        page.get_by_label(path).fill(words)
        button(page, f"Save {path}").click()
        says(page, f"{path} was saved.")
        expect(button(page, f"Save {path}")).to_be_disabled()
    windows.chat("notes", "hello")
    context = windows.ask("GET", f"/api/sessions/{windows.named('notes')}/context")

    told = {each["source"]: each["text"] for each in context["instructions"]}
    assert "Be brief." in told["SOUL.md"]
    assert "Ada counts herons." in told["USER.md"]
    page.reload()
    expect(page.get_by_label("SOUL.md")).to_have_value("Be brief.")


def test_the_doctor_and_the_theme(windows):
    page = windows.open("settings/doctor")
    expect(page.locator(".doctor-check").first).to_be_visible()
    page.get_by_role("tab", name="Doctor").press("ArrowRight")
    page.get_by_role("radio", name=re.compile("^Dark")).check()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
