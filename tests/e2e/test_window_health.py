"""What holds for every page of the window: everybody can use it, nothing goes wrong, it is fast."""

import json
import re
from dataclasses import dataclass
from time import monotonic

import pytest
from tests.docs.markdown import ROOT
from tests.e2e.served import served
from tests.e2e.windows import DESKTOP, PHONE, Windows, browsing, ended
from tests.e2e.windows import say as write

from long_running_agents.testing import Rule, Script, ToolCall, say, scripted_process

PAGES = re.findall(
    r'\{ path: "([\w-]+)"', (ROOT / "ui/src/pages/index.ts").read_text(encoding="utf-8")
)
SIZES = {"desktop": DESKTOP, "phone": PHONE}
SCHEMES = ["light", "dark"]

PARAGRAPH = "Herons **stand** in `shallow` water, and [wait](https://example.org) for a fish. "
MARKDOWN = PARAGRAPH * 8 + "\n\n- one\n- two\n\n```python\n" + "print('heron')\n" * 40 + "```\n\n"
SCRIPT = Script(
    (
        Rule(
            "^look",
            (
                say("Let me look.", calls=(ToolCall("list_files", {"path": "."}),)),
                say("## Found\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n" + MARKDOWN),
            ),
        ),
        Rule("^write", (say("", calls=(ToolCall("write_file", {"path": "a", "content": "x"}),)),)),
        Rule(
            "^plan",
            (
                say("", calls=(ToolCall("create_task", {"title": "Count the herons"}),)),
                say("Planned."),
            ),
        ),
        # More often than fifty times a second, since the way takes its time as well.
        Rule("^stream", (say(MARKDOWN * 3, chunk_delay=0.01),)),
    )
)


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture(scope="module")
def address(browser, model_url, tmp_path_factory):
    """A server on which something has happened, so that no page is empty."""
    home = tmp_path_factory.mktemp("home")
    with served(home, model_url, LRA_AGENT__TOOLS__REQUIRE_APPROVAL="write_file") as server:
        there = Windows(browser, server.address)
        there.send("PUT", "/api/files/content?path=notes.md", "# Herons\n", "text/markdown")
        there.ask("POST", "/api/memory", content="The heron's name is Rex.")
        for session, message in (("a", "look around"), ("b", "plan it"), ("c", "write it")):
            there.ask("POST", f"/api/chat/{session}", message=message)
        yield server.address


@pytest.fixture(scope="module")
def locked(model_url, tmp_path_factory):
    """The address of a server that lets nobody in without a token."""
    home = tmp_path_factory.mktemp("locked")
    with served(home, model_url, LRA_GATEWAY__REQUIRE_TOKEN="true") as server:
        yield server.address


@pytest.fixture
def windows(browser, address):
    windows = Windows(browser, address)
    yield windows
    for context in browser.contexts:
        context.close()
    assert windows.wrong == []


@pytest.fixture(scope="module")
def axe():
    return (ROOT / "ui/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def settled(page):
    """Wait until everything that a page asks for is there."""
    page.wait_for_selector("main *", state="attached")
    page.wait_for_load_state("networkidle")
    page.wait_for_function("!document.querySelector('.loading')")


def violations(page, axe):
    """What keeps somebody from using a page as it is shown now, in words."""
    found = page.evaluate(f"() => {{ {axe}; return axe.run(document); }}")
    return [
        f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes']][:3]}"
        for each in found["violations"]
    ]


def test_there_are_pages_to_look_at():
    assert "chat" in PAGES


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_use_every_page(windows, axe, name, size, scheme):
    page = windows.open(f"/#/{name}", size=SIZES[size], scheme=scheme)
    settled(page)

    assert violations(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("session", ["a", "b", "c"])
def test_everybody_can_read_calls_tasks_and_questions(windows, axe, session, scheme):
    page = windows.open(f"/#/chat/{session}", scheme=scheme)
    page.wait_for_selector(".call-head")
    page.click(".call-head")
    settled(page)

    assert violations(page, axe) == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
def test_everybody_can_log_in(browser, locked, axe, size, scheme):
    windows = Windows(browser, locked)
    page = windows.open(size=SIZES[size], scheme=scheme)
    page.wait_for_selector(".gate-form")

    assert violations(page, axe) == []
    page.context.close()
    # The browser says by itself that nobody was let in yet; that is all it has to say.
    assert [wrong for wrong in windows.wrong if "status of 401" not in wrong] == []


def test_whatever_goes_wrong_in_a_page_is_heard(browser, address):
    windows = Windows(browser, address)
    page = windows.open("/#/chat/a")
    page.wait_for_selector(".call-head")
    for script in (
        "console.error('written')",
        "setTimeout(() => { throw new Error('thrown') })",
        "void Promise.reject(new Error('rejected'))",
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color:red\">')",
        "void (new Image().src = 'http://127.0.0.1:9/elsewhere')",
    ):
        page.evaluate(script, isolated_context=False)
    settled(page)
    page.context.close()

    heard = "\n".join(windows.wrong)
    for sign in ("written", "thrown", "rejected", "inline style", "elsewhere: http://127.0.0.1:9"):
        assert sign in heard


def long_session(events):
    """An export with that many events: turns of one message, four calls, and an answer."""
    at = "2026-01-02T03:04:05Z"
    yield {"kind": "session", "id": "long", "title": "Long", "created_at": at}
    for number in range(events // 10):
        turn, place = f"t{number}", {"kind": "event", "turn_id": f"t{number}", "at": at}
        prompt, answer = f"Question {number}", f"Answer {number}. {PARAGRAPH}"
        yield {"kind": "turn", "id": turn, "prompt": prompt, "answer": answer, "created_at": at}
        yield {**place, "type": "message", "content": prompt, "origin": "user"}
        for call in range(4):
            named = {**place, "tool": "list_files", "tool_call_id": f"c{number}-{call}"}
            yield {**named, "type": "tool_call", "input": {"path": "."}, "effect": "read"}
            told = {"result_preview": "a.txt", "success": True, "duration_ms": 1}
            yield {**named, "type": "tool_result", **told, "outcome": "done"}
        used = {"input_tokens": 9, "output_tokens": 9, "cost": None}
        done = {"text": answer, "iterations": 5, "model": "m", "usage": used, "mode": "bounded"}
        yield {**place, "type": "done", **done}


def test_a_session_of_five_thousand_events_is_open_in_a_moment(windows):
    lines = "\n".join(json.dumps(line) for line in long_session(5000))
    made = windows.send("POST", "/api/sessions/import", lines, "application/x-ndjson")
    known = windows.ask("GET", f"/api/sessions/{made['id']}/events?limit=1")
    assert known["newest_seq"] >= 5000
    took = []
    # Other tests run beside this one: what counts is how fast it can be.
    while len(took) < 10 and not any(each < 1500 for each in took):
        page = windows.open(f"/#/chat/{made['id']}")
        page.wait_for_selector(".turn:last-of-type .prose:has-text('Answer 499')")
        took.append(round(page.evaluate("performance.now()")))
        page.context.close()

    assert min(took) < 1500, f"opened in {took} ms"


WATCH = """() => {
  window.tasks = [];
  const told = (list) => window.tasks.push(...list.getEntries().map((each) => each.duration));
  new PerformanceObserver(told).observe({ type: "longtask" });
}"""


@dataclass(frozen=True)
class Run:
    """How a page fared while words streamed in."""

    rate: int
    """Deltas in a second."""
    busiest: int
    """The most that one task of the main thread has worked, in milliseconds."""
    long: list
    """The tasks that took 50 ms or more, in milliseconds: with what others had of the processor."""


def streamed(windows, session):
    """Let words stream in, and watch the page."""
    windows.ask("POST", "/api/sessions", id=session)
    page = windows.open("/#/chat/a")
    page.wait_for_selector(".call-head")
    moments = []

    def heard(frame):
        if '"text_delta"' in frame:
            moments.append(monotonic())

    page.on("websocket", lambda socket: socket.on("framereceived", heard))
    page.goto(f"{windows.address}/#/chat/{session}")
    page.wait_for_selector(".call-head", state="detached")
    settled(page)
    page.evaluate(WATCH)
    browser = page.context.browser
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline"])
    write(page, "stream")
    ended(page)
    busiest = longest(json.loads(browser.stop_tracing())["traceEvents"])
    tasks = [round(each) for each in page.evaluate("window.tasks")]
    page.context.close()
    return Run(round(len(moments) / (moments[-1] - moments[0])), busiest, tasks)


def longest(trace):
    """The work of the task that worked longest in the main thread of any page."""
    names = {
        (each["pid"], each["tid"]): each["args"]["name"]
        for each in trace
        if each["name"] == "thread_name"
    }
    work = [
        each["tdur"]
        for each in trace
        if each["name"] == "RunTask"
        and names.get((each["pid"], each["tid"])) == "CrRendererMain"
        and "tdur" in each
    ]
    assert len(work) > 100, "the browser told too little of what it did"
    return round(max(work) / 1000)


def test_fifty_deltas_a_second_leave_the_page_free_for_whoever_uses_it(windows):
    runs = []
    # Other tests run beside this one, so that the server may be too slow for once. For the same
    # reason it is the work of a task that counts, not when it was over.
    while len(runs) < 3 and not any(run.rate >= 50 for run in runs):
        runs.append(streamed(windows, f"stream-{len(runs)}"))

    assert runs[-1].rate >= 50, runs
    assert all(run.busiest < 50 for run in runs), runs
