"""The pictures that the README shows, taken of a real window: `make pictures`."""

import os

import pytest
from tests.docs.markdown import ROOT
from tests.e2e.served import served
from tests.e2e.window.windows import Windows, ended, write

PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 200_000
SIZE = {"width": 1280, "height": 1080}
PHONE = {"width": 390, "height": 760}
# Asked for before any test runs, since tests see nothing of the environment.
WANTED = os.environ.get("LRA_PICTURES") == "1"

TABLE = "month,birds\nJanuary,12\nFebruary,19\nMarch,41\nApril,38\n"


@pytest.fixture(scope="module")
def taken(browser, model_url, tmp_path_factory):
    """A folder with fresh pictures of one conversation: the committed one if that was asked for."""
    folder = PICTURES if WANTED else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    home = tmp_path_factory.mktemp("home")
    asks = {"LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "write_file", "AGENT_MODEL": "qwen3-8b"}
    with served(home, model_url, **asks) as server:
        windows = Windows(browser, server.address)
        converse(windows)
        for scheme in ("light", "dark"):
            for name, size in (("chat", SIZE), ("phone", PHONE)):
                page = windows.open("chat/birds", size=size, scheme=scheme)
                page.wait_for_selector(".question")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{name}-{scheme}.png", caret="hide")
        windows.close()
    return folder


def converse(windows):
    """A conversation that ends with a question."""
    windows.send("PUT", "/api/files/content?path=birds.csv", TABLE, "text/csv")
    windows.ask("POST", "/api/sessions", id="garden", title="Plan the garden")
    windows.ask("POST", "/api/sessions", id="birds", title="Birds of the spring")
    page = windows.open("chat/birds")
    write(page, "Which month of birds.csv had the most birds?")
    ended(page)
    write(page, "Yes, keep it in report.md.")
    page.wait_for_selector(".question")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["chat", "phone"])
def test_a_picture_is_taken_and_small(taken, name, scheme):
    picture = taken / f"{name}-{scheme}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < MOST_BYTES


def test_the_readme_shows_what_is_taken(taken):
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    for scheme in ("light", "dark"):
        assert f"docs/pictures/chat-{scheme}.png" in shown
        assert (PICTURES / f"chat-{scheme}.png").stat().st_size < MOST_BYTES
