"""Tasks, memory, approvals and files in the window: what people do there, in a real browser."""

from pathlib import Path

import pytest
from tests.e2e.served import served
from tests.e2e.windows import DESKTOP, PHONE, Windows, browsing

from long_running_agents.testing import Rule, Script, ToolCall, say, scripted_process

AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
SCRIPT = Script(
    (
        Rule(
            "^plan",
            (
                say("", calls=(ToolCall("create_task", {"title": "Count the herons"}),)),
                say("", calls=(ToolCall("create_task", {"title": "Find", "parent_id": 1}),)),
                say("So be it."),
            ),
        ),
        Rule(
            "^write",
            (
                say("", calls=(ToolCall("write_file", {"path": "a.txt", "content": "x"}),)),
                say("So be it."),
            ),
        ),
        Rule("", (say("I hear you."),)),
    )
)
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


WATCH = """
    window.broken = [];
    addEventListener("error", (event) => broken.push(event.message));
    addEventListener("unhandledrejection", (event) => broken.push(String(event.reason)));
"""


class Watched(Windows):
    """The driver hides itself so well that it does not hear what breaks: the page is asked."""

    def __init__(self, browser, address):
        super().__init__(browser, address)
        self._pages = []

    def open(self, path="/", **options):
        page = super().open(path, **options)
        page.evaluate(WATCH, isolated_context=False)
        self._pages.append(page)
        return page

    def close(self):
        for page in self._pages:
            self.wrong += page.evaluate("broken", isolated_context=False)
            page.context.close()


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture
def windows(browser, model_url, tmp_path):
    asking = {
        "LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "write_file",
        "LRA_AGENT__TOOLS__NON_INTERACTIVE_APPROVAL_POLICY": "ask",
    }
    with served(tmp_path, model_url, **asking) as server:
        windows = Watched(browser, server.address)
        yield windows
        windows.close()
        assert windows.wrong == []


def expected(windows, status):
    """A browser counts an answer that refuses as an error; this one was meant to come."""
    [line] = windows.wrong
    assert f"status of {status}" in line
    windows.wrong.clear()


def shown(page, text):
    page.get_by_text(text, exact=True).first.wait_for()


def tasks_of(windows):
    told = windows.ask("GET", "/api/sessions/birds/tasks")["tasks"]
    return [(task["title"], task["status"]) for task in told]


def test_a_task_is_moved_renamed_and_filtered(windows):
    windows.ask("POST", "/api/chat/birds", message="plan it")
    page = windows.open("/#/tasks")
    page.click("button[aria-label^='Find: to do']")
    page.click(".menu-item:has-text('Done')")
    page.wait_for_selector(".task-completed:has-text('Find')")
    page.click("button[aria-label='Rename Find']")
    page.fill("input[aria-label='What the task is called']", "Find the boat")
    page.press("input[aria-label='What the task is called']", "Enter")
    page.wait_for_selector(".task-title:has-text('Find the boat')")

    assert tasks_of(windows) == [("Count the herons", "pending"), ("Find the boat", "completed")]
    # What a task is a part of stays, since it is not understood without that.
    page.click(".choice:has-text('Done')")
    assert page.locator(".task-faint").inner_text().startswith("Count the herons")
    page.click(".choice:has-text('Failed')")
    shown(page, "No task is failed.")
    page.click(".choice:has-text('All')")
    page.click(".grove-title a")
    page.wait_for_selector(".turn:has-text('So be it.')")


def test_a_task_that_somebody_else_changes_is_seen_at_once(windows):
    page = windows.open("/#/tasks")
    shown(page, "There are no tasks yet.")
    windows.ask("POST", "/api/chat/birds", message="plan it")
    page.wait_for_selector(".task-pending:has-text('Count the herons')")
    windows.ask("PATCH", "/api/sessions/birds/tasks/1", status="failed")

    page.wait_for_selector(".task-failed:has-text('Count the herons')")


def test_a_memory_is_written_found_with_reasons_and_corrected(windows):
    page = windows.open("/#/memory")
    shown(page, "Nothing is remembered yet.")
    page.click("button:has-text('Remember something')")
    page.fill("dialog textarea", "The heron eats frogs.")
    page.click("dialog button:has-text('Remember')")
    page.wait_for_selector(".memory-words:has-text('The heron eats frogs.')")
    page.click("button:has-text('Correct')")
    page.fill("dialog textarea", "The heron eats fish.")
    page.click("dialog button:has-text('Correct')")
    page.wait_for_selector(".memory-words:has-text('The heron eats fish.')")

    page.wait_for_selector("section[aria-label='What it replaced']:has-text('eats frogs')")
    page.click("a:has-text('All memories')")
    page.fill("input[type=search]", "heron")
    page.wait_for_selector(".remembered:has-text('1.00:')")
    assert page.locator(".remembered").count() == 1
    page.select_option("select >> nth=1", label="The web")
    shown(page, "Nothing like that is remembered.")


@pytest.mark.parametrize(
    ("button", "left"), [("Keep both", 2), ("Replace it", 1)], ids=["kept", "replaced"]
)
def test_something_similar_is_shown_and_somebody_says_what_shall_be(windows, button, left):
    windows.ask("POST", "/api/memory", content="The grey heron eats small fish at the lake.")
    page = windows.open("/#/memory")
    page.click("button:has-text('Remember something')")
    page.fill("dialog textarea", "The grey heron eats only small fish at the lake.")
    page.click("dialog button:has-text('Remember')")
    page.wait_for_selector(".similar-one:has-text('eats small fish')")
    expected(windows, 409)
    assert len(windows.ask("GET", "/api/memory")["memories"]) == 1
    page.click(f"dialog button:has-text('{button}')")
    page.wait_for_selector(".memory-words:has-text('eats only small fish')")

    assert len(windows.ask("GET", "/api/memory")["memories"]) == left


def test_a_memory_is_switched_off_and_on(windows):
    written = windows.ask("POST", "/api/memory", content="The heron eats frogs.")
    number = written["memory"]["id"]
    page = windows.open(f"/#/memory/{number}")
    page.click("button:has-text('Switch off')")
    shown(page, "switched off")

    assert windows.ask("GET", "/api/memory?q=heron")["memories"] == []
    page.click("button:has-text('Switch on')")
    page.wait_for_selector("button:has-text('Switch off')")
    assert len(windows.ask("GET", "/api/memory?q=heron")["memories"]) == 1


def test_what_would_be_forgotten_is_shown_first_and_comes_back(windows):
    windows.ask("POST", "/api/memory", content="The heron eats frogs.")
    windows.ask("POST", "/api/memory", content="Boats are cheap in winter.")
    page = windows.open("/#/memory", size=PHONE)
    page.click("button:has-text('Forget')")
    page.get_by_label("With all of these words").fill("heron")
    page.click("dialog button:has-text('Show what would go')")
    page.wait_for_selector(".going-one:has-text('The heron eats frogs.')")
    assert len(windows.ask("GET", "/api/memory")["memories"]) == 2
    page.click("dialog button:has-text('Forget')")
    page.wait_for_selector(".undo")
    page.wait_for_selector(".remembered:has-text('heron')", state="detached")

    assert page.locator(".remembered").count() == 1
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".remembered:has-text('The heron eats frogs.')")


def test_a_memory_that_is_not_there_is_explained(windows):
    page = windows.open("/#/memory/77")
    page.wait_for_selector(".failure:has-text('77')")
    expected(windows, 404)


@pytest.mark.parametrize(
    ("button", "grants"), [("Allow once", 0), ("For this session", 1), ("Always", 1)]
)
def test_a_call_is_allowed_from_the_page_of_approvals(windows, button, grants):
    page = windows.open("/#/approvals")
    shown(page, "Nothing waits for you.")
    windows.ask("POST", "/api/chat/notes", message="write it")
    page.click(f".question button:has-text('{button}')")
    shown(page, "Nothing waits for you.")
    page.wait_for_selector(".judgement:has-text('by you')")

    page.wait_for_selector(".grant" if grants else "section:has-text('Lasting') > p.soft")
    assert page.locator(".grant").count() == grants
    assert len(windows.ask("GET", "/api/grants")["grants"]) == grants


def test_a_call_is_denied_with_a_reason(windows):
    windows.ask("POST", "/api/chat/notes", message="write it")
    page = windows.open("/#/approvals", size=PHONE)
    page.click(".question button:has-text('Deny')")
    page.fill(".question input", "not today")
    page.press(".question input", "Enter")
    page.wait_for_selector(".judgement:has-text('denied')")

    assert "not today" in str(windows.ask("GET", "/api/sessions/notes/history"))


def test_a_lasting_answer_is_taken_back(windows):
    windows.ask("POST", "/api/chat/notes", message="write it")
    page = windows.open("/#/approvals")
    page.click(".question button:has-text('Always')")
    page.click(".grant button:has-text('Take back')")
    page.click("dialog button:has-text('Take back')")
    page.wait_for_selector(".grant", state="detached")

    assert windows.ask("GET", "/api/grants")["grants"] == []
    page.get_by_label("Also those taken back").check()
    page.wait_for_selector(".grant:has-text('taken back')")


def choose(page, name, content):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.set_input_files("input[type=file]", file)


def test_files_are_brought_looked_at_taken_and_deleted(windows):
    page = windows.open("/#/files")
    shown(page, "There are no files yet.")
    choose(page, "birds.csv", b'name,count\nheron,3\n"swan, white",12\n')
    page.click(".file-link:has-text('birds.csv')")
    page.wait_for_selector("td:has-text('swan, white')")
    page.get_by_role("tab", name="Text").click()
    page.wait_for_selector("pre:has-text('name,count')")
    with page.expect_download() as download:
        page.click("a:has-text('Download')")
    assert Path(download.value.path()).read_bytes().startswith(b"name,count")

    page.click("button:has-text('Delete')")
    page.click("dialog button:has-text('Delete')")
    shown(page, "There are no files yet.")
    assert windows.ask("GET", "/api/files")["files"] == []


def test_a_file_is_replaced_only_when_somebody_says_so(windows):
    page = windows.open("/#/files")
    choose(page, "a.txt", b"old")
    page.wait_for_selector(".file:has-text('3 B')")
    choose(page, "a.txt", b"newer")
    page.click("dialog button:has-text('Keep what is there')")
    page.wait_for_selector("dialog", state="detached")
    assert windows.ask("GET", "/api/files")["files"][0]["size"] == 3
    choose(page, "a.txt", b"newer")
    page.click("dialog button:has-text('Replace')")

    page.wait_for_selector(".file:has-text('5 B')")


def test_dropped_files_and_pictures_are_shown_and_other_bytes_are_explained(windows):
    page = windows.open("/#/files")
    shown(page, "There are no files yet.")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["# Herons"], "notes.md"));
          const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true });
          document.querySelector(".drop").dispatchEvent(drop);
        }""",
        isolated_context=False,
    )
    page.click(".file-link:has-text('notes.md')")
    page.wait_for_selector("h2.heading-1:has-text('Herons')")
    page.click(".trail a:has-text('Workspace')")
    choose(page, "dot.png", PIXEL)
    page.click(".file-link:has-text('dot.png')")
    page.wait_for_selector("img[alt='Picture dot.png']")
    page.click(".trail a:has-text('Workspace')")
    choose(page, "core.bin", b"\0\1\2")
    page.click(".file-link:has-text('core.bin')")

    shown(page, "This is no text.")


def test_a_file_that_is_not_there_is_explained(windows):
    page = windows.open("/#/files/none.txt")
    page.wait_for_selector(".failure")
    windows.wrong[:] = [line for line in windows.wrong if "status of 404" not in line]


def furnish(windows):
    """Something on every page."""
    windows.ask("POST", "/api/chat/birds", message="plan it")
    windows.ask("POST", "/api/chat/notes", message="write it")
    written = windows.ask("POST", "/api/memory", content="The heron eats frogs.")
    path = f"/api/memory/{written['memory']['id']}"
    return windows.ask("PATCH", path, content="The heron eats fish.")["memory"]["id"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_page_can_be_used_by_everybody(windows, size, scheme):
    number = furnish(windows)
    page = windows.open("/#/files", size=size, scheme=scheme)
    choose(page, "birds.csv", b"name,count\nheron,3\n")
    ready = {
        "tasks": ".task",
        "memory": ".remembered",
        f"memory/{number}": ".facts",
        "approvals": ".judgement",
        "files": ".file",
        "files/birds.csv": "td",
    }
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = {}
    for path, there in ready.items():
        page.goto(f"{windows.address}/#/{path}")
        page.wait_for_selector(there)
        told = page.evaluate("axe.run().then(({ violations }) => violations)")
        found[path] = [(each["id"], each["nodes"][0]["html"]) for each in told]
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"], path
        assert page.evaluate("main.scrollWidth <= main.clientWidth"), path

    assert found == {path: [] for path in ready}
