"""The page of tools and skills: what a tool takes, and the whole life of a skill."""

import re

import pytest
from patchright.sync_api import expect
from tests.e2e.window.script import DOUBLE
from tests.e2e.window.windows import button, says

AGAIN = DOUBLE.replace("2 *", "number +").replace("Twice", "Twice as ever")
HALF = 'def half(number: float) -> float:\n    """Half."""\n    return number / 2\n'


def test_a_tool_says_what_it_does_and_what_it_takes(windows):
    page = windows.open("tools")
    page.get_by_role("searchbox", name="Search tools").fill("read_fi")
    page.get_by_role("link", name=re.compile("^read_file")).click()

    says(page, "Changes nothing; it may be repeated.")
    found = page.get_by_role("list", name="Arguments")
    expect(found).to_contain_text("offset_line")
    expect(found).to_contain_text("whole number from 1 to 2000")


def test_a_tool_that_nobody_knows_is_not_there(windows):
    page = windows.open("tools/heron_song")
    says(page, "heron_song was not found.")
    windows.forgive(404)


@pytest.fixture
def approved(windows):
    """A page about a skill that somebody has just approved."""
    windows.ask("POST", "/api/skills", source=DOUBLE)
    page = windows.open("tools?tab=skills")
    says(page, "1 skill needs your approval.")
    page.get_by_role("link", name=re.compile("^double")).click()
    says(page, "Version 1 needs your approval.")
    button(page, "Approve").click()
    says(page, "Version 1 approved.")
    return page


def test_an_approved_skill_is_tried_and_says_what_is_no_argument(approved):
    approved.get_by_label("number").fill("x")
    button(approved, "Run").click()
    says(approved, "This is not a number.")
    approved.get_by_label("number").fill("21")
    button(approved, "Run").click()

    expect(approved.locator(".outcome")).to_contain_text("42")


def test_a_second_version_is_compared_and_rejected_and_the_skill_deleted(approved, windows):
    approved.goto(windows.at("tools/%2Bnew"))
    approved.get_by_label("Python code").fill(AGAIN)
    button(approved, "Save skill").click()
    says(approved, "Version 2 needs your approval.")
    says(approved, "What changed from version 1 to version 2")
    expect(approved.locator(".code", has_text="-    return 2 * number")).to_have_count(1)
    button(approved, "Reject").click()
    says(approved, "Version 2 was rejected.")

    button(approved, "Disable").click()
    button(approved, "Enable").click()
    button(approved, "Disable").wait_for()
    button(approved, "Delete").click()
    approved.get_by_role("dialog").get_by_role("button", name="Delete").click()
    says(approved, "double was deleted.")


def test_a_review_names_the_line(windows):
    page = windows.open("tools/%2Bnew")
    area = page.get_by_label("Python code")
    area.fill("import socket\n\ndef f(x):\n    return socket\n")
    button(page, "Review").click()
    says(page, "needs changes")
    page.get_by_role("button", name=re.compile("^Line ")).first.click()

    assert area.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")


def test_modules_are_imported_and_skills_exported(windows):
    page = windows.open("tools?tab=skills")
    page.get_by_label("A Python module to import").set_input_files(
        {"name": "m.py", "mimeType": "text/x-python", "buffer": HALF.encode()}
    )
    says(page, "1 skill imported. It needs your approval.")
    page.get_by_role("link", name=re.compile("^half")).wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()

    assert download.value.suggested_filename == "skills.py"
