"""A window whose server is killed: it says so, waits, and shows what became of the turn."""

from urllib.parse import urlsplit

from tests.e2e.served import served
from tests.e2e.window.script import ENDLESS
from tests.e2e.window.windows import Windows, words_of, write


def test_a_turn_is_seen_through_the_death_of_its_server(browser, model_url, tmp_path):
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open()
        write(page, "endless")
        page.wait_for_selector(".prose:has-text('word5')")
        server.kill()
    page.wait_for_selector(".offline")

    with served(tmp_path, model_url, "--port", str(urlsplit(windows.address).port)):
        page.wait_for_selector(".turn:has-text('The turn goes on')")
        page.wait_for_selector(".offline", state="detached")
        page.wait_for_selector(".foot:has-text('Writing')")
        page.wait_for_selector(".prose:has-text('word5')")
        page.keyboard.press("Escape")
        page.wait_for_selector(".ending:has-text('Stopped')")
        words = words_of(page)
        assert words == ENDLESS[: len(words)]
        # The browser says by itself that nobody answered; that is all it has to say.
        windows.wrong[:] = [line for line in windows.wrong if "net::ERR_" not in line]
        windows.close()
