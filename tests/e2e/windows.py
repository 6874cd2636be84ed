"""A real browser before a real server; whatever goes wrong in the page is a failure."""

import json
import urllib.request
from contextlib import contextmanager

from patchright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


class Windows:
    """Opens windows on a server, and writes down what they should not do."""

    def __init__(self, browser, address):
        self._browser = browser
        self.address = address
        self.wrong = []

    def open(self, path="/", *, size=None, scheme="light"):
        """A window of its own, with cookies of its own."""
        phone = size is PHONE
        context = self._browser.new_context(
            viewport=size or DESKTOP, color_scheme=scheme, has_touch=phone
        )
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.goto(self.address + path)
        return page

    def _console(self, message):
        # Words about a broken policy come as errors, too.
        if message.type == "error":
            self.wrong.append(f"console: {message.text}")

    def _request(self, request):
        place = self.address.removeprefix("http")
        if not request.url.startswith((f"http{place}", f"ws{place}", "data:", f"blob:http{place}")):
            self.wrong.append(f"elsewhere: {request.url}")

    def ask(self, method, path, **body):
        """Ask the server itself."""
        data = json.dumps(body).encode() if body else None
        asked = urllib.request.Request(
            self.address + path,
            method=method,
            data=data,
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(asked) as answer:
            return json.loads(answer.read() or b"null")


@contextmanager
def browsing():
    """A browser, ended with everything that it has opened."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def say(page, text):
    """Write a message and send it."""
    page.fill(".composer-text", text)
    page.press(".composer-text", "Enter")


def ended(page):
    """Wait until the last turn has ended."""
    page.wait_for_selector(".turn:last-of-type [aria-label^='Fork']")
