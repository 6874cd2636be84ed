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
        self._listen(context.new_cdp_session(page))
        page.on("console", self._console)
        page.on("request", lambda request: self._asked_for(request.url))
        page.on("websocket", lambda socket: self._asked_for(socket.url))
        page.goto(self.address + path)
        return page

    def _listen(self, session):
        # This browser hides from pages that it is driven, so that it hears neither of their
        # exceptions nor of what they write to the console unless it is asked for.
        session.on("Runtime.exceptionThrown", self._thrown)
        session.on("Runtime.consoleAPICalled", self._written)
        session.send("Runtime.enable")

    def _thrown(self, told):
        detail = told["exceptionDetails"]
        what = detail.get("exception", {}).get("description", "")
        self.wrong.append(f"script: {detail['text']} {what}")

    def _written(self, told):
        if told["type"] in ("error", "assert"):
            words = [str(each.get("value", each.get("description"))) for each in told["args"]]
            self.wrong.append(f"console: {' '.join(words)}")

    def _console(self, message):
        # What the browser itself has to say: a broken policy, an answer that is a failure.
        if message.type == "error":
            self.wrong.append(f"console: {message.text}")

    def _asked_for(self, url):
        place = self.address.removeprefix("http")
        if not url.startswith((f"http{place}", f"ws{place}", "data:", f"blob:http{place}")):
            self.wrong.append(f"elsewhere: {url}")

    def ask(self, method, path, **body):
        """Ask the server itself."""
        return self.send(method, path, json.dumps(body) if body else "", "application/json")

    def send(self, method, path, text, kind):
        """Send the server something of any kind."""
        asked = urllib.request.Request(
            self.address + path,
            method=method,
            data=text.encode() or None,
            headers={"content-type": kind},
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
