"""The window is fast: a long session opens in a moment, and many words leave the page free."""

import json
from dataclasses import dataclass
from time import monotonic

import pytest
from tests.e2e.window.script import PARAGRAPH
from tests.e2e.window.windows import ended, write

WATCH = """() => {
  window.tasks = [];
  const told = (list) => window.tasks.push(...list.getEntries().map((each) => each.duration));
  new PerformanceObserver(told).observe({ type: "longtask" });
}"""


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


def test_a_session_of_five_thousand_events_is_open_in_a_moment(free_windows):
    lines = "\n".join(json.dumps(line) for line in long_session(5000))
    made = free_windows.send("POST", "/api/sessions/import", lines, "application/x-ndjson")
    known = free_windows.ask("GET", f"/api/sessions/{made['id']}/events?limit=1")
    assert known["newest_seq"] >= 5000
    took = []
    # Other tests run beside this one: what counts is how fast it can be.
    while len(took) < 10 and not any(each < 1500 for each in took):
        page = free_windows.open(f"chat/{made['id']}")
        page.wait_for_selector(".turn:last-of-type .prose:has-text('Answer 499')")
        took.append(round(page.evaluate("performance.now()")))
        page.context.close()

    assert min(took) < 1500, f"opened in {took} ms"


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
    page = windows.open("chat/a")
    page.wait_for_selector(".call-head")
    moments = []

    def heard(frame):
        if '"text_delta"' in frame:
            moments.append(monotonic())

    page.on("websocket", lambda socket: socket.on("framereceived", heard))
    page.goto(windows.at(f"chat/{session}"))
    page.wait_for_selector(".call-head", state="detached")
    page.wait_for_load_state("networkidle")
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


# Long enough for three runs on a machine that is too slow: it is to say how slow.
@pytest.mark.timeout(300)
def test_fifty_deltas_a_second_leave_the_page_free_for_whoever_uses_it(free_windows):
    runs = []
    # Other tests run beside this one, so that the server may be too slow for once. For the same
    # reason it is the work of a task that counts, not when it was over.
    while len(runs) < 3 and not any(run.rate >= 50 for run in runs):
        runs.append(streamed(free_windows, f"stream-{len(runs)}"))

    assert runs[-1].rate >= 50, runs
    assert all(run.busiest < 50 for run in runs), runs
