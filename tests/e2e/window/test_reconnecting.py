"""A window whose server is killed: it says so, waits, and shows what became of the turn."""

from urllib.parse import urlsplit

from tests.e2e.served import served
from tests.e2e.window.script import ENDLESS
from tests.e2e.window.windows import Windows, ended, words_of, write


def test_a_turn_is_seen_through_the_death_of_its_server(browser, model_url, tmp_path):
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open()
        write(page, "endless")
        page.wait_for_selector(".prose:has-text('word5')")
        server.kill()
    page.wait_for_selector(".offline")

    with served(tmp_path, model_url, "--port", str(urlsplit(windows.address).port)):
        page.wait_for_selector(".turn:has-text('Turn resumed')")
        page.wait_for_selector(".offline", state="detached")
        page.wait_for_selector(".foot:has-text('Writing')")
        page.wait_for_selector(".prose:has-text('word5')")
        page.keyboard.press("Escape")
        page.wait_for_selector(".ending:has-text('Stopped')")
        words = words_of(page)
        assert words == ENDLESS[: len(words)]
        closed(windows)


def test_a_message_is_delivered_although_somebody_looks_at_another_page(
    browser, model_url, tmp_path
):
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open()
        write(page, "hello")
        ended(page)
        session = page.url.partition("#/")[2]
        go(page, "memory")
        page.wait_for_selector(".remembered")
        go(page, session)
        ended(page)
        server.kill()
    page.wait_for_selector(".composer-link")
    write(page, "keep this")
    page.wait_for_selector(".prompt-sent:has-text('keep this')")
    # This page is there; that one has to be fetched, and cannot be.
    go(page, "memory")
    page.wait_for_selector(".conversation", state="detached")
    go(page, "tasks")
    page.wait_for_selector(".failure")

    with served(tmp_path, model_url, "--port", str(urlsplit(windows.address).port)):
        page.wait_for_selector(".empty:has-text('No tasks yet.')")
        go(page, session)
        page.wait_for_selector(".turn:nth-of-type(2) .prose:has-text('I hear you.')")
        assert page.locator(".prompt-text").all_inner_texts() == ["hello", "keep this"]
        closed(windows)


def test_a_page_opened_while_the_server_is_away_is_filled_when_it_is_back(
    browser, model_url, tmp_path
):
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open("chat/old")
        write(page, "hello")
        ended(page)
        go(page, "approvals")
        page.wait_for_selector(".judgement, .approvals section > p.soft")
        go(page, "chat/other")
        page.wait_for_selector(".idea")
        server.kill()
    page.wait_for_selector(".offline")
    go(page, "approvals")
    page.wait_for_selector(".failure")
    go(page, "chat/old")
    page.wait_for_selector(".conversation .failure")

    with served(tmp_path, model_url, "--port", str(urlsplit(windows.address).port)):
        page.wait_for_selector(".turn .prose:has-text('I hear you.')")
        go(page, "approvals")
        page.wait_for_selector(".approvals section > p.soft")
        page.wait_for_selector(".failure", state="detached")
        windows.forgive(404)
        closed(windows)


def go(page, place):
    """Go to a place by a link, not by loading the window again."""
    page.evaluate("place => void (location.hash = `#/${place}`)", place)


def closed(windows):
    """Close; the browser says by itself that nobody answered, and that is all it has to say."""
    nobody = ("net::ERR_", "WebSocket connection to")
    windows.wrong[:] = [
        line for line in windows.wrong if not any(words in line for words in nobody)
    ]
    windows.close()
