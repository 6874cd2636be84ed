"""A window on a home that has no model yet: it is a way to one, and the agent answers at once."""

from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
from patchright.sync_api import expect
from tests.contract.mcp.homes import plain
from tests.contract.mcp.homes import write as write_servers
from tests.e2e.served import served
from tests.e2e.window.axe import violations
from tests.e2e.window.windows import Windows, button, ended, says, write


@pytest.fixture
def bare(browser, tmp_path):
    """The windows of a home without a model."""
    with served(tmp_path, "", AGENT_MODEL="") as server:
        windows = Windows(browser, server.address)
        yield windows
        windows.close()


def test_the_address_of_a_server_is_tested_and_used_without_a_restart(bare, model_url, size):
    page = bare.open(size=size)
    says(page, "Connect a model to start.")
    card = page.locator(".card:has-text('Model server')")
    card.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    card.get_by_role("button", name="Test").click()
    card.locator(".setup-bad, .failure").wait_for()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    card.get_by_label("Address").fill(model_url)
    card.get_by_role("button", name="Test").click()
    card.get_by_role("button", name="Use this model").click()
    page.wait_for_selector(".idea")
    write(page, "hello")
    ended(page)

    assert "I hear you." in page.inner_text(".turn")
    bare.wrong[:] = [line for line in bare.wrong if "status of 4" not in line]


WEIGHTS = bytes(range(256)) * 16384
SMALL_CATALOG = f"""
from dataclasses import replace
from long_running_agents.models.local import catalog
small = dict(size={len(WEIGHTS)}, sha256="{sha256(WEIGHTS).hexdigest()}", wheels=())
small = replace(catalog.QWEN_HALF, url="URL", **small)
catalog.CATALOG[small.name] = small
catalog.RUNTIME = "json"
"""


@contextmanager
def weights_server():
    """Gives weights away, the second half when it is let; yields its address and what lets it."""
    rest = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(WEIGHTS)))
            self.end_headers()
            self.wfile.write(WEIGHTS[: len(WEIGHTS) // 2])
            rest.wait()
            self.wfile.write(WEIGHTS[len(WEIGHTS) // 2 :])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/weights", rest.set
        finally:
            rest.set()
            server.shutdown()


def test_a_model_is_downloaded_before_ones_eyes(browser, tmp_path):
    with weights_server() as (url, finish):
        (tmp_path / "sitecustomize.py").write_text(SMALL_CATALOG.replace("URL", url))
        with served(tmp_path / "home", "", AGENT_MODEL="", PYTHONPATH=str(tmp_path)) as server:
            windows = Windows(browser, server.address)
            page = windows.open()
            page.get_by_role("button", name="Download (4.2 MB)").click()
            page.wait_for_function(
                "half => document.querySelector('.setup progress')?.value === half",
                arg=len(WEIGHTS) // 2,
            )
            assert violations(page) == []
            finish()
            page.wait_for_selector(".idea")
            page.wait_for_selector("[aria-label^='Model: local:']")
            windows.close()


def test_a_key_is_kept_and_never_shown_again(browser, model_url, tmp_path):
    # With a model, so that nobody elsewhere is asked for the one that a provider suggests.
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open("settings/models")
        card = page.locator(".card:has-text('API key')")
        card.get_by_label("Provider").select_option("openrouter")
        card.get_by_label("Key").fill("sk-or-heron-0123456789")
        card.get_by_role("button", name="Save key").click()
        card.get_by_role("button", name="Remove key").wait_for()
        file = tmp_path / ".env"

        assert "sk-or-heron-0123456789" in file.read_text(encoding="utf-8")
        assert file.stat().st_mode & 0o777 == 0o600
        page.reload()
        card.get_by_label("Provider").select_option("openrouter")
        expect(card.get_by_label("Key")).to_have_value("")
        assert "heron-0123" not in page.content()
        card.get_by_role("button", name="Remove key").click()
        expect(button(page, "Remove key")).to_have_count(0)
        assert "heron" not in file.read_text(encoding="utf-8")
        windows.close()


def test_foreign_servers_are_seen_with_their_tools_and_failures(browser, model_url, tmp_path):
    look = {"name": "look", "description": "Looks around."}
    broken = {"command": "no-such-program"}
    write_servers(tmp_path, plain=plain(tmp_path / "scripts", look), broken=broken)
    with served(tmp_path, model_url) as server:
        windows = Windows(browser, server.address)
        page = windows.open("tools?tab=mcp")
        ready = page.locator(".card:has-text('plain')")
        while not ready.get_by_text("plain_look").count():
            button(page, "Refresh").click()
            expect(button(page, "Refresh")).to_be_enabled()
        failed = page.locator(".card:has-text('broken')")

        assert "no-such-program" in failed.inner_text()
        assert violations(page) == []
        windows.close()
