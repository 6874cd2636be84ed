"""One browser, one model and one server for all; to each test an owner of its own on that server.

They end with this folder, not with the session: the driver keeps an event loop running in its
thread, which would break the asynchronous tests of other folders that come later.
"""

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from tests.e2e.served import served
from tests.e2e.window.script import DOUBLE, SCRIPT
from tests.e2e.window.taught import teach
from tests.e2e.window.windows import DESKTOP, PHONE, Windows, browsing, send
from tests.scripted_process import scripted_process

from long_running_agents.home import Home
from long_running_agents.server.server_file import running

ASKING = {
    "LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "write_file",
    "LRA_AGENT__TOOLS__NON_INTERACTIVE_APPROVAL_POLICY": "ask",
}


@dataclass(frozen=True)
class Locked:
    """A server that lets nobody in without a token."""

    address: str
    home: Path

    def token(self, owner):
        """A token for everything that an owner may do."""
        wanted = {"name": "window", "owner": owner, "scopes": ["read", "chat", "approve", "admin"]}
        # What the server has put down for programs of the person whose home it is.
        headers = {
            "authorization": f"Bearer {running(Home(self.home)).secret}",
            "content-type": "application/json",
        }
        told = send(f"{self.address}/api/tokens", "POST", json.dumps(wanted), headers)
        return told["secret"]


@pytest.fixture(scope="package")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="package")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture(scope="package")
def locked(model_url, tmp_path_factory):
    """The one server of most tests."""
    home = tmp_path_factory.mktemp("locked")
    with served(home, model_url, LRA_GATEWAY__REQUIRE_TOKEN="true", **ASKING) as server:
        yield Locked(server.address, home)


@pytest.fixture(scope="package")
def owners():
    """Names that nobody had yet."""
    return (f"owner{number}" for number in count())


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def size(request):
    """Both widths, one after the other."""
    return request.param


@pytest.fixture
def windows(browser, locked, owners):
    """The windows of somebody who has nothing yet."""
    owner = next(owners)
    windows = Windows(browser, locked.address, owner=owner, token=locked.token(owner))
    yield windows
    windows.close()


@pytest.fixture(scope="package")
def furnished(model_url, tmp_path_factory):
    """A server as most people have it, without tokens; so much has happened that no page is empty.

    Its sessions are "a" with a call, "b" with tasks, "c" with a question that is open, and "new".
    """
    home = tmp_path_factory.mktemp("furnished")
    teach(home)
    with served(home, model_url, **ASKING) as server:
        there = Windows(None, server.address)
        there.ask("POST", "/api/sessions", id="new")
        for session, message in (("a", "look around"), ("b", "plan it"), ("c", "write it")):
            there.chat(session, message)
        there.send("PUT", "/api/files/content?path=birds.csv", "name,count\nheron,3\n", "text/csv")
        there.send("PUT", "/api/files/content?path=notes.md", "# Herons\n", "text/markdown")
        there.ask("POST", "/api/skills", source=DOUBLE)
        there.ask("POST", "/api/tokens", name="phone")
        yield server.address


@pytest.fixture
def free_windows(browser, furnished):
    """The windows of somebody who needs no token, on the furnished server."""
    windows = Windows(browser, furnished)
    yield windows
    windows.close()
