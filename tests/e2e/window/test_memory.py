"""The page of memories: written, found, corrected, switched off, forgotten and brought back."""

import pytest
from tests.e2e.window.windows import PHONE, says


def remembered(windows, query=""):
    return windows.ask("GET", f"/api/memory{query}")["memories"]


def test_a_memory_is_written_found_with_reasons_and_corrected(windows, size):
    page = windows.open("memory", size=size)
    says(page, "No memories yet.")
    page.click("button:has-text('Add a memory')")
    page.fill("dialog textarea", "The heron eats frogs.")
    page.click("dialog button:has-text('Remember')")
    page.wait_for_selector(".memory-words:has-text('The heron eats frogs.')")
    page.click("button:has-text('Correct')")
    page.fill("dialog textarea", "The heron eats fish.")
    page.click("dialog button:has-text('Correct')")
    page.wait_for_selector(".memory-words:has-text('The heron eats fish.')")

    page.wait_for_selector("section[aria-label='Replaces']:has-text('eats frogs')")
    page.click("a:has-text('All memories')")
    page.fill("input[type=search]", "heron")
    page.wait_for_selector(".remembered:has-text('1.00:')")
    assert page.locator(".remembered").count() == 1
    page.select_option("select >> nth=1", label="The web")
    says(page, "No memories found.")


@pytest.mark.parametrize(
    ("button", "left"), [("Keep both", 2), ("Replace it", 1)], ids=["kept", "replaced"]
)
def test_something_similar_is_shown_and_somebody_says_what_shall_be(windows, button, left):
    windows.ask("POST", "/api/memory", content="The grey heron eats small fish at the lake.")
    page = windows.open("memory")
    page.click("button:has-text('Add a memory')")
    page.fill("dialog textarea", "The grey heron eats only small fish at the lake.")
    page.click("dialog button:has-text('Remember')")
    page.wait_for_selector(".similar-one:has-text('eats small fish')")
    windows.forgive(409)
    assert len(remembered(windows)) == 1
    page.click(f"dialog button:has-text('{button}')")
    page.wait_for_selector(".memory-words:has-text('eats only small fish')")

    assert len(remembered(windows)) == left


def test_a_memory_is_switched_off_and_on(windows):
    written = windows.ask("POST", "/api/memory", content="The heron eats frogs.")
    page = windows.open(f"memory/{written['memory']['id']}")
    page.click("button:has-text('Switch off')")
    says(page, "switched off", exact=True)

    assert remembered(windows, "?q=heron") == []
    page.click("button:has-text('Switch on')")
    page.wait_for_selector("button:has-text('Switch off')")
    assert len(remembered(windows, "?q=heron")) == 1


def test_what_would_be_forgotten_is_shown_first_and_comes_back(windows):
    windows.ask("POST", "/api/memory", content="The heron eats frogs.")
    windows.ask("POST", "/api/memory", content="Boats are cheap in winter.")
    page = windows.open("memory", size=PHONE)
    page.click("button:has-text('Forget')")
    page.get_by_label("Containing all of these words").fill("heron")
    page.click("dialog button:has-text('Preview')")
    page.wait_for_selector(".going-one:has-text('The heron eats frogs.')")
    assert len(remembered(windows)) == 2
    page.click("dialog button:has-text('Forget')")
    page.wait_for_selector(".undo")
    page.wait_for_selector(".remembered:has-text('heron')", state="detached")

    assert page.locator(".remembered").count() == 1
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".remembered:has-text('The heron eats frogs.')")


def test_a_memory_that_is_not_there_is_explained(windows):
    page = windows.open("memory/777777")
    page.wait_for_selector(".failure:has-text('777777')")
    windows.forgive(404)
