"""Agents: made, tried, published and retired; chosen by words and corrected; at work for others."""

from pathlib import Path

import pytest
from patchright.sync_api import expect
from tests.e2e.window.script import RELAY
from tests.e2e.window.test_work import assert_usable
from tests.e2e.window.windows import PHONE, button, choose, ended, says, write

POET = {
    "name": "poet",
    "description": "Writes poems.",
    "instructions": "You write short poems.",
    "examples": ["A poem about herons"],
}
FILE = b"""---
name: critic
description: Looks at poems.
tools: Read, Teleport
---
You approve everything.
"""


@pytest.fixture
def poet(windows):
    """The windows of somebody who has published an agent, and has a draft of another version."""
    windows.ask("POST", "/api/agents", agent=POET)
    windows.ask("POST", "/api/agents/poet/publish", version=1)
    rhyming = {**POET, "instructions": "You write short poems.\nThey rhyme."}
    windows.ask("POST", "/api/agents", agent=rhyming)
    return windows


def standing(windows, name):
    """The stages of an agent's versions, the newest first."""
    told = windows.ask("GET", f"/api/agents/{name}/versions")["versions"]
    return [each["stage"] for each in told]


def pick(page, name):
    """Choose who answers the next message."""
    page.locator("[aria-label^='Agent:']").click()
    page.get_by_role("menuitemradio", name=name).click()


def test_an_agent_is_made_and_published_by_whoever_sees_what_it_may_do(windows, size):
    page = windows.open("agents", size=size)
    expect(page.locator(".agent-row")).to_have_count(3)
    page.get_by_label("Search agents").fill("research")
    expect(page.locator(".agent-row")).to_have_count(1)
    button(page, "New agent").click()
    page.get_by_label("Name").fill("poet")
    page.get_by_label("Description").fill("Writes poems.")
    page.get_by_label("Instructions").fill("You write short poems.")
    page.get_by_label("Tools", exact=True).fill("read_file, list_files")
    page.get_by_label("Examples").fill("A poem about herons\nAn ode to frogs")
    assert_usable(page)
    button(page, "Save as draft").click()
    button(page, "Publish version 1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("read_file, list_files")
    assert_usable(page)
    button(dialog, "Publish").click()
    page.wait_for_selector(".agent-head .tag:text-is('published')")
    page.get_by_role("tab", name="About").click()
    says(page, "An ode to frogs")
    assert_usable(page)
    assert standing(windows, "poet") == ["published"]


def test_a_mistake_in_the_form_is_said_and_nothing_is_lost(windows):
    page = windows.open("agents/%2Bnew", size=PHONE)
    page.get_by_label("Name").fill("the poet")
    button(page, "Save as draft").click()
    says(page, "Agent name 'the poet' not accepted")
    windows.forgive(400)
    page.locator("summary").click()
    page.get_by_label("The rest, as JSON").fill("{")
    button(page, "Save as draft").click()
    says(page, "The rest is no JSON object.")
    expect(page.get_by_label("Name")).to_have_value("the poet")
    assert_usable(page)


def test_a_draft_is_edited_tried_beside_the_published_one_and_compared(poet, size):
    page = poet.open("agents/poet?tab=console", size=size)
    says(page, "Version 2 is a draft.")
    page.get_by_label("Instructions").fill("You write short poems.\nThey do not rhyme.")
    button(page, "Save as draft").click()
    page.wait_for_selector("h2:text-is('Edit version 3')")
    page.get_by_label("Message", exact=True).fill("A poem about herons")
    button(page, "Try").click()
    for label in ("poet@3", "poet@1"):
        column = page.get_by_role("region", name=label)
        expect(column).to_contain_text("Herons stand in the rain.")
        expect(column).to_contain_text("No calls")
        expect(column).to_contain_text("tokens")
    assert_usable(page)
    page.get_by_role("tab", name="Versions").click()
    page.get_by_label("Compare with").select_option("1")
    expect(page.locator(".code")).to_contain_text("+They do not rhyme.")
    assert_usable(page)
    page.get_by_role("tab", name="Runs").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert_usable(page)
    page.get_by_role("tab", name="Console").click()
    page.get_by_label("Message", exact=True).fill("A poem about herons")
    button(page, "Try").click()
    page.get_by_role("link", name="What it sees").first.click()
    page.wait_for_selector(".context-bar")


def test_an_agent_is_retired_after_a_question_and_nobody_can_choose_it(poet, size):
    page = poet.open("agents/poet", size=size)
    button(page, "Retire").click()
    says(page, "Turns that run keep it")
    assert_usable(page)
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    page.wait_for_selector(".agent-head .tag:text-is('retired')")
    assert standing(poet, "poet") == ["draft", "retired"]
    page.goto(poet.at("chat"))
    page.locator("[aria-label^='Agent:']").click()
    expect(page.get_by_role("menuitemradio", name="coder")).to_be_visible()
    expect(page.get_by_role("menuitemradio", name="poet")).to_have_count(0)


def test_a_file_is_taken_in_as_a_draft_with_warnings_and_taken_out_again(windows, size):
    page = windows.open("agents", size=size)
    page.wait_for_selector(".agent-row")
    choose(page, "critic.md", FILE)
    says(page, "imported from critic.md")
    expect(page.locator(".agent-warnings")).to_contain_text("Teleport")
    assert_usable(page)
    button(page, "Publish version 1").click()
    says(page, "Its words are not yours")
    assert_usable(page)
    button(page, "Cancel").click()
    with page.expect_download() as download:
        button(page, "Export").click()
    assert download.value.suggested_filename == "critic.md"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "name: critic" in text
    assert "You approve everything." in text


def test_whom_a_message_is_for_is_told_with_the_reason_and_taught(poet, size):
    page = poet.open("agents?tab=which", size=size)
    page.get_by_label("A message").fill("Why does this test fail?")
    button(page, "Find out").click()
    says(page, "It is for coder@1.")
    expect(page.locator(".routing-list")).to_contain_text("Fix the failing test in this project.")
    assert_usable(page)
    page.get_by_label("Should have been").select_option("reviewer")
    button(page, "Teach").click()
    says(page, "Messages like this go to reviewer from now on.")
    expect(page.locator(".routing-list li").first).to_contain_text("reviewer@1")


def test_a_message_is_routed_and_the_choice_corrected_in_the_chat(poet, size):
    page = poet.open(size=size)
    pick(page, "Choose for me")
    write(page, "A poem about herons in spring")
    ended(page)
    line = page.locator("details:has-text('Routed to poet@1')")
    line.locator("summary").click()
    expect(line).to_contain_text("like “A poem about herons”")
    assert_usable(page)
    line.get_by_label("Should have been").select_option("researcher")
    button(line, "Teach").click()
    says(page, "Messages like this go to researcher from now on.")
    told = poet.ask("POST", "/api/agents/route", text="A poem about herons in spring")
    near = {each["agent"]: each["near_example"] for each in told["candidates"]}
    assert near["researcher@1"] == "A poem about herons in spring"
    # Who is named answers from there on, and stays chosen.
    pick(page, "coder")
    write(page, "hello")
    says(page, "From here on: coder@1")
    page.reload()
    page.wait_for_selector("[aria-label='Agent: coder']")


def test_the_question_of_a_delegate_is_answered_in_the_chat_that_began_it(windows, size):
    page = windows.open(size=size)
    write(page, "Ask the coder to draw")
    question = page.locator(".call:has(.question)")
    expect(question).to_contain_text("main > coder")
    expect(page.locator(".delegate")).to_contain_text("coder@1 at work")
    assert_usable(page)
    button(question, "Allow once").click()
    ended(page)
    expect(page.locator(".delegate")).to_contain_text("coder@1 done")
    expect(page.locator(".delegate")).to_contain_text("tokens")
    expect(page.locator(".call:has-text('main > coder')")).to_contain_text("allowed once")
    page.wait_for_selector(".prose:has-text('The coder has done it.')")
    assert_usable(page)
    # Its session is not among the chats, and a click away.
    expect(page.locator(".session-title", has_text="coder:")).to_have_count(0)
    page.get_by_role("link", name="Open the session of coder@1").click()
    page.wait_for_selector(".prose:has-text('It is in heron.txt.')")
    expect(page.locator(".prompt-text")).to_have_count(0)
    assert_usable(page)
    if size is PHONE:
        button(page, "Sessions").click()
    page.get_by_label("Started by").select_option("delegate")
    expect(page.locator(".session-title")).to_have_text(["coder: Put a heron into heron.txt."])


def test_a_delegate_that_looked_at_nothing_is_marked(windows):
    page = windows.open(size=PHONE)
    write(page, "Ask the reviewer")
    ended(page)
    expect(page.locator(".delegate")).to_contain_text("no work seen")
    assert_usable(page)


def test_a_chain_is_drawn_as_it_is_and_as_a_turn_went_through_it(windows, size):
    windows.ask("POST", "/api/agents", agent=RELAY)
    windows.ask("POST", "/api/agents/relay/publish", version=1)
    page = windows.open("agents/relay", size=size)
    expect(page.locator(".chain rect")).to_have_count(3)
    # Whoever does not see it is told the same.
    told = page.locator(".chain li")
    expect(told.nth(2)).to_have_text("coder, if 2.output contains wrong, gets the message")
    assert_usable(page)
    page.goto(windows.at("chat"))
    pick(page, "relay")
    write(page, "herons")
    ended(page)
    expect(page.locator(".delegate")).to_have_count(2)
    button(page, "Show the chain").click()
    expect(page.locator(".chain-done")).to_have_count(2)
    expect(page.locator(".chain-skipped")).to_contain_text("3. coder")
    expect(page.locator(".chain-done").first).to_contain_text("tokens")
    assert_usable(page)
