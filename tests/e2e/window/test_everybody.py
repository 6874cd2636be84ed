"""What holds for every page: everybody can use it, it fits, and nothing goes wrong unheard."""

import re

import pytest
from patchright.sync_api import expect
from tests.docs.markdown import ROOT
from tests.e2e.window.axe import violations
from tests.e2e.window.script import COUNT, RELAY
from tests.e2e.window.windows import DESKTOP, PHONE, Windows

PAGES = re.findall(
    r'\{ path: "([\w-]+)"', (ROOT / "ui/src/pages/index.ts").read_text(encoding="utf-8")
)
PLACES = {
    "talk": {
        "chat": ".idea",
        "chat/new": ".idea",
        "chat/a": ".call-head",
        "chat/b": ".call-head",
        "chat/c": ".question",
        "chat/planned": ".plan-tasks",
        "chat/asking": ".work-hint",
        "tasks": ".task",
        "approvals": ".judgement",
        "context": ".page",
        "context/a": ".context-bar",
    },
    "work": {
        "work": ".work-row",
        "work/{planned}": ".work-task",
        "work/{asking}": ".work-asked",
    },
    "agents": {
        "agents": ".agent-row",
        "agents?tab=which": "textarea",
        "agents/%2Bnew": "textarea",
        "agents/relay": ".chain",
        "agents/relay?tab=console": "textarea",
        "agents/relay?tab=versions": ".code",
        "agents/relay?tab=runs": ".table",
        "chat/delegated": ".delegate",
    },
    "jobs": {
        "jobs": ".job-row",
        "jobs/%2Bnew": "textarea",
        "jobs/count": ".table",
    },
    "things": {
        "memory": ".remembered",
        "memory/{memory}": ".facts",
        "learned": ".learned-row",
        "learned?tab=resting": ".learned-row",
        "files": ".file",
        "files/birds.csv": "td",
        "files/notes.md": ".prose",
        "usage": ".totals",
        "activity": ".feed-line",
        "activity/a/{turn}": ".span",
    },
    "tools": {
        "tools": ".line",
        "tools?tab=skills": ".line",
        "tools?tab=mcp": ".tools-panel",
        "tools?tab=problems": ".tools-panel",
        "tools/read_file": ".tool-facts",
        "tools/double": ".skill-summary",
        "tools/%2Bnew": "textarea",
    },
    "settings": {
        "settings": ".rows-line",
        "settings/models": ".rows-line",
        "settings/character": "textarea",
        "settings/tokens": ".rows-line",
        "settings/config": ".setting-value",
        "settings/doctor": ".doctor-check",
        "settings/look": ".theme",
    },
}
"""Where everybody goes, and what is there when there is something to see."""
LOOKS = {"desktop": (DESKTOP, "light"), "phone": (PHONE, "dark")}


@pytest.fixture(scope="module")
def known(furnished):
    """What the places are about: a memory that was corrected, a turn, an agent, works that wait."""
    there = Windows(None, furnished)
    written = there.ask("POST", "/api/memory", content="The heron eats frogs.")["memory"]["id"]
    corrected = there.ask("PATCH", f"/api/memory/{written}", content="The heron eats fish.")
    turns = there.ask("GET", "/api/activity?type=tool_call&session_id=a")["activity"]
    there.send("PUT", "/api/files/content?path=herons.md", "A white heron.", "text/markdown")
    for each in (RELAY, {**RELAY, "description": "Finds things out."}):
        there.ask("POST", "/api/agents", agent=each)
    there.ask("POST", "/api/agents/relay/publish")
    there.ask("POST", "/api/chat/delegated", message="herons", agent="relay")
    there.ask("POST", "/api/jobs", job={**COUNT, "id": "count"})
    there.ask("POST", "/api/jobs/count/run", key="once")
    there.chat("morning", "Every morning, remind me to feed the herons.")
    works = {name: planned(there, name) for name in ("planned", "asking")}
    there.ask("POST", f"/api/works/{works['asking']}/approve")
    return {"memory": corrected["memory"]["id"], "turn": turns[-1]["turn_id"], **works}


def planned(there, session):
    """A work in a session of that name, whose plan waits."""
    told = {"message": f"Report on the herons: {session}", "mode": "deep_work"}
    there.ask("POST", f"/api/chat/{session}", **told)
    [work] = there.ask("GET", f"/api/works?session_id={session}")["works"]
    return work["id"]


def go(page, address, ready):
    """Go somewhere, and wait until everything is there."""
    # From nowhere: from another place, what is shown at first is the page that was there.
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(ready)
    expect(page.locator(".loading")).to_have_count(0)
    if calls := page.query_selector_all(".call-head"):
        calls[0].click()
        page.wait_for_selector(".call-body")


def test_no_page_is_forgotten():
    seen = {re.split(r"[/?]", place)[0] for places in PLACES.values() for place in places}
    assert "chat" in PAGES
    assert seen == set(PAGES)


# Each looks at many places, which a busy machine may need its time for.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("part", PLACES)
def test_everybody_can_use_every_page(free_windows, known, part, look):
    size, scheme = LOOKS[look]
    page = free_windows.open(size=size, scheme=scheme)
    found = {}
    for place, ready in PLACES[part].items():
        go(page, free_windows.at(place.format(**known)), ready)
        found[place] = violations(page)
        if page.evaluate("document.documentElement.scrollWidth") != size["width"]:
            found[place].append("wider than the window")
        if not page.evaluate("main.scrollWidth <= main.clientWidth"):
            found[place].append("wider than its frame")

    assert found == {place: [] for place in PLACES[part]}


def test_whatever_goes_wrong_in_a_page_would_be_noticed(browser, furnished):
    windows = Windows(browser, furnished)
    page = windows.open("usage")
    page.wait_for_selector(".totals")
    page.evaluate("document.querySelector('.page').append(new Image(20, 20))")
    [violation] = violations(page)
    assert violation.startswith("image-alt")
    for script in (
        "console.error('written')",
        "setTimeout(() => { throw new Error('thrown') })",
        "void Promise.reject(new Error('rejected'))",
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color:red\">')",
        "void (new Image().src = 'http://127.0.0.1:9/elsewhere')",
    ):
        page.evaluate(script, isolated_context=False)
    # Whatever was to come at once has come before this does.
    page.evaluate("new Promise((done) => setTimeout(done))", isolated_context=False)
    with pytest.raises(AssertionError):
        windows.close()

    heard = "\n".join(windows.wrong)
    for sign in ("written", "thrown", "rejected", "inline style", "elsewhere: http://127.0.0.1:9"):
        assert sign in heard
