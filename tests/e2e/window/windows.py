"""A real browser before a real server; whatever goes wrong in the page is a failure."""

import json
import urllib.request
from contextlib import contextmanager

from patchright.sync_api import expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
PATIENCE = 150_000
"""Milliseconds that anything may take: much, for a machine that has other things to do as well."""


class Windows:
    """Opens windows on a server for somebody, and writes down what they should not do."""

    def __init__(self, browser, address, *, owner="", token=None):
        self._browser = browser
        self._contexts = []
        self._owner = owner
        self._token = token
        self.address = address
        self.wrong = []

    def open(self, place=None, *, size=DESKTOP, scheme="light"):
        """A window of its own, with cookies of its own."""
        context = self._browser.new_context(
            viewport=size, color_scheme=scheme, has_touch=size is PHONE
        )
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE)
        if self._token is not None:
            answer = context.request.post(f"{self.address}/login", data={"token": self._token})
            assert answer.ok, answer.text()
        page = context.new_page()
        self._listen(context.new_cdp_session(page))
        page.on("console", self._console)
        page.on("request", lambda request: self._asked_for(request.url))
        page.on("websocket", lambda socket: self._asked_for(socket.url))
        page.goto(self.at(place))
        return page

    def at(self, place=None):
        """The address of a place in the window; of where everybody lands unless given."""
        return f"{self.address}/" if place is None else f"{self.address}/#/{place}"

    def close(self):
        """Close whatever is open; nothing may have gone wrong."""
        for context in self._contexts:
            context.close()
        assert self.wrong == [], self.wrong

    def forgive(self, status):
        """A browser counts an answer that refuses as an error; this one was meant to come."""
        expected = f"status of {status}"
        assert any(expected in line for line in self.wrong), self.wrong
        self.wrong[:] = [line for line in self.wrong if expected not in line]

    def named(self, name):
        """What a session of this owner is called: no two sessions of a server share a name."""
        return f"{name}-{self._owner}" if self._owner else name

    def chat(self, name, message):
        """Have something said in a session, and wait until the turn ends or asks."""
        return self.ask("POST", f"/api/chat/{self.named(name)}", message=message)

    def ask(self, method, path, **body):
        """Ask the server itself."""
        return self.send(method, path, json.dumps(body) if body else "", "application/json")

    def send(self, method, path, text, kind):
        """Send the server something of any kind."""
        headers = {"content-type": kind}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        return send(self.address + path, method, text, headers)

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


def send(address, method, text, headers):
    """Ask an address for JSON."""
    asked = urllib.request.Request(
        address, method=method, data=text.encode() or None, headers=headers
    )
    with urllib.request.urlopen(asked, timeout=PATIENCE / 1000) as answer:
        return json.loads(answer.read() or b"null")


@contextmanager
def browsing():
    """A browser, ended with everything that it has opened."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def write(page, text):
    """Write a message and send it."""
    page.fill(".composer-text", text)
    page.press(".composer-text", "Enter")


def ended(page):
    """Wait until the last turn has ended."""
    page.wait_for_selector(".turn:last-of-type [aria-label^='Fork']")


def words_of(page):
    """The words of the first answer."""
    return page.inner_text(".turn .prose").split()


def says(page, text, *, exact=False):
    """Wait until a page says something."""
    page.get_by_text(text, exact=exact).first.wait_for()


def button(page, name):
    """The button of that name."""
    return page.get_by_role("button", name=name, exact=True)


def choose(page, name, content):
    """Choose a file, as if by the dialog for it."""
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("input[type=file]", file)
