"""What I learned: shown with its words and reasons, taken back, read anew and tidied up."""

import pytest
from patchright.sync_api import expect
from tests.e2e.served import served
from tests.e2e.window.taught import FACT, LESSON, REASON, teach
from tests.e2e.window.test_work import assert_usable
from tests.e2e.window.windows import Windows, button, says


@pytest.fixture
def taught(browser, model_url, tmp_path):
    """The windows of somebody whose agent has learned."""
    teach(tmp_path)
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        windows.ask("POST", "/api/sessions", id="garden", title="Plan the garden")
        yield windows
        windows.close()


def enabled(windows):
    """The memories that are in use."""
    told = windows.ask("GET", "/api/memory?disabled=true")["memories"]
    return {each["content"] for each in told if each["enabled"]}


def choose(page, state, count):
    """Look at what has that state, of which there are so many."""
    page.get_by_label("What became of it").locator(f"button:has-text('{state}{count}')").click()


def test_what_became_of_it_is_shown_with_the_words_it_rests_on(taught, size):
    page = taught.open("learned", size=size)
    row = page.locator(".learned-row")
    expect(row).to_contain_text("shown once, used once")
    expect(row.locator("blockquote")).to_have_text(FACT)
    assert_usable(page)
    choose(page, "Suggested", 1)
    expect(row).to_contain_text("Answer in French.")
    choose(page, "Refused", 1)
    expect(row).to_contain_text("the quotation is not in the log")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert_usable(page)
    page.get_by_role("link", name="Plan the garden").click()
    page.wait_for_selector(".composer-text")


def test_what_is_new_is_forgotten_and_what_rests_is_woken(taught, size):
    assert enabled(taught) == {FACT}
    page = taught.open("learned?tab=resting", size=size)
    expect(page.locator(".learned-row")).to_contain_text(REASON)
    page.get_by_role("button", name="Undo").click()
    says(page, "Back in use.")
    says(page, "Nothing here.")
    assert enabled(taught) == {FACT, LESSON}
    choose(page, "New", 1)
    page.get_by_role("button", name="Undo").click()
    says(page, "Forgotten.")
    choose(page, "New", 0)
    assert enabled(taught) == {LESSON}


def test_what_is_there_twice_is_put_aside_when_somebody_tidies_up(taught):
    taught.ask(
        "POST", "/api/memory", content="In the folder accounts are the invoices.", keep_both=True
    )
    page = taught.open("learned")
    button(page, "Tidy up").click()
    expect(page.get_by_role("status")).to_contain_text(["1 at rest."])
    choose(page, "At rest", 2)
    expect(page.locator(".learned-row").first).to_contain_text("says the same")
    assert_usable(page)


def test_who_remembers_nothing_is_told_so(browser, model_url, tmp_path, size):
    with served(tmp_path, model_url, LRA_MEMORY__ENABLED="false") as server:
        windows = Windows(browser, server.address)
        page = windows.open("learned", size=size)
        says(page, "Nothing learned yet.")
        button(page, "Read sessions now").click()
        says(page, "memory is switched off")
        assert_usable(page)
        windows.close()
