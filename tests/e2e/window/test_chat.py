"""The chat: what people do in a conversation, at both widths."""

import base64

import pytest
from patchright.sync_api import expect
from tests.e2e.window.script import ENDLESS, WORDS
from tests.e2e.window.windows import PHONE, choose, ended, words_of, write

from long_running_agents.server.wire import LONGEST

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
)
FOCUS_AT_ONCE = """async ([opener, inside]) => {
  document.querySelector(opener).click();
  await new Promise(queueMicrotask);
  const field = document.querySelector(inside);
  field.focus();
  return document.activeElement === field;
}"""
"""Open a drawer and go into it, faster than anything is drawn."""

WATCH_WORDS = """() => {
  window.tops = new Set();
  const look = () => {
    const words = document.querySelector(".turn .prose");
    if (!words) return;
    window.first ??= words;
    window.tops.add(words.offsetTop);
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}"""


def test_a_conversation_with_a_call_is_shown_and_nothing_in_it_runs(windows, size):
    page = windows.open(size=size)
    write(page, "look around")
    ended(page)

    assert page.inner_text(".turn .prompt-text") == "look around"
    assert page.inner_text(".prose h2") == "Found"
    assert "<b onclick=alert(1)>no</b>" in page.inner_text(".turn")
    assert page.query_selector(".prose b") is None
    page.click(".call-head:has-text('list_files')")
    assert "Input" in page.inner_text(".call-body")
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]


@pytest.mark.parametrize(
    ("button", "note", "grants"),
    [
        ("Allow once", "allowed once", 0),
        ("For this session", "allowed for this session", 1),
        ("Always", "allowed always", 1),
    ],
)
def test_a_call_is_allowed_for_as_long_as_somebody_says(windows, size, button, note, grants):
    page = windows.open(size=size)
    write(page, "write it")
    page.wait_for_selector(".head-badge:has-text('1')")
    page.click(f".question button:has-text('{button}')")
    ended(page)

    assert note in page.inner_text(".call-head")
    assert "So be it." in page.inner_text(".turn")
    assert len(windows.ask("GET", "/api/grants")["grants"]) == grants
    page.wait_for_selector(".head-badge", state="detached")


def test_a_call_is_denied_with_a_reason(windows, size):
    page = windows.open(size=size)
    write(page, "write it")
    page.click(".question button:has-text('Deny')")
    page.fill(".question-deny .input", "not today")
    page.press(".question-deny .input", "Enter")
    ended(page)

    assert "denied: not today" in page.inner_text(".call-head")
    assert windows.ask("GET", "/api/files")["files"] == []


def test_what_no_call_has_seen_is_shown_below_the_answer(windows, size):
    page = windows.open(size=size)
    write(page, "pretend")
    ended(page)

    told = page.locator(".turn .not-seen")
    expect(told).to_have_text("Not seen: report.md, 12 tests pass")
    expect(told).to_have_attribute("title", "No tool call of this session knows these.")
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    # The same after the page was loaded anew, and only where something was claimed.
    page.reload()
    expect(told).to_have_text("Not seen: report.md, 12 tests pass")
    write(page, "hello")
    page.wait_for_selector(".turn:last-of-type .prose:has-text('I hear you.')")
    expect(told).to_have_count(1)


def test_esc_stops_a_turn_and_the_next_in_line_is_answered(windows, size):
    page = windows.open(size=size)
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    write(page, "and this")
    page.wait_for_selector(".foot:has-text('Queued')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".ending:has-text('Stopped')")
    page.wait_for_selector(".turn:last-of-type .prose:has-text('I hear you.')")


def test_a_message_steers_the_turn_that_runs_and_is_shown_where_it_was_heard(windows, size):
    page = windows.open(size=size)
    write(page, "write it")
    page.wait_for_selector(".question")
    write(page, "and then this")
    page.wait_for_selector(".foot:has-text('Queued')")
    page.fill(".composer-text", "in blue ink")
    page.click(".composer button:has-text('Steer')")
    page.wait_for_selector(".foot:has-text('Given at the next step')")
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    # Before what queues, as it is answered.
    prompts = page.locator(".turn > .prompt .prompt-text").all_inner_texts()
    assert prompts == ["write it", "in blue ink", "and then this"]

    page.click(".question button:has-text('Allow once')")
    between = page.locator(".turn .items .prompt")
    expect(between).to_have_text("in blue inkSteered")
    page.wait_for_selector(".turn:last-of-type .prose:has-text('I hear you.')")
    # The same after the page was loaded anew.
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").first.locator(".items .prompt")).to_have_text("in blue inkSteered")


def test_ctrl_enter_steers_and_what_is_not_heard_any_more_is_answered_next(windows, size):
    page = windows.open(size=size)
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    page.fill(".composer-text", "hello?")
    page.press(".composer-text", "Control+Enter")
    page.wait_for_selector(".foot:has-text('Given at the next step')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".ending:has-text('Stopped')")
    page.wait_for_selector(".turn:last-of-type .prose:has-text('I hear you.')")


def test_esc_in_a_field_leaves_the_turn_alone(windows, size):
    page = windows.open(size=size)
    write(page, "write it")
    page.click(".question button:has-text('Deny')")
    page.press(".question-deny .input", "Escape")
    page.click(".question button:has-text('Allow once')")
    ended(page)

    assert "So be it." in page.inner_text(".turn")
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    if size is PHONE:
        page.click(".chat-open-side button")
    page.press(".sessions .search input", "Escape")
    page.wait_for_selector(".prose:has-text('word60')")
    assert page.query_selector(".ending") is None
    page.press(".composer-text", "Escape")
    page.wait_for_selector(".ending:has-text('Stopped')")


def test_a_drawer_has_the_focus_as_soon_as_it_opens_and_esc_closes_only_it(windows):
    page = windows.open(size=PHONE)
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    for opener, inside, opened in (
        (".chat-open-side button", ".sessions .search input", ".chat-side"),
        (".head-menu button", ".rail .nav-link", ".rail-open"),
    ):
        assert page.evaluate(FOCUS_AT_ONCE, [opener, inside])
        page.evaluate("opener => document.querySelector(opener).focus()", opener)
        page.keyboard.press("Escape")
        page.wait_for_selector(opened, state="detached")
    known = len(words_of(page))
    page.wait_for_selector(f".prose:has-text('word{known + 5}')")
    assert page.query_selector(".ending") is None
    page.keyboard.press("Escape")
    page.wait_for_selector(".ending:has-text('Stopped')")


def test_a_stopped_turn_goes_on_when_somebody_says_so(windows, size):
    page = windows.open(size=size)
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    page.click("button:has-text('Stop')")
    page.click(".ending button:has-text('Continue')")
    page.wait_for_selector(".turn:has-text('Turn resumed')")
    page.wait_for_selector(".foot:has-text('Writing')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".ending")


def test_a_second_window_and_a_reload_see_the_same_words(windows, size):
    page = windows.open(size=size)
    write(page, "endless")
    page.wait_for_selector(".prose:has-text('word5')")
    other = windows.open(page.url.partition("#/")[2], size=size)
    page.reload()
    # Both go on from what was there, and hear of what is new.
    other.wait_for_selector(".prose:has-text('word5')")
    known = len(words_of(other))
    for each in (page, other):
        each.wait_for_selector(f".prose:has-text('word{known + 5}')")
    page.keyboard.press("Escape")
    for each in (page, other):
        each.wait_for_selector(".ending:has-text('Stopped')")

    words = words_of(page)
    assert words == ENDLESS[: len(words)]
    assert words_of(other) == words


def test_words_that_are_there_stay_where_they_are_while_more_come(windows, size):
    page = windows.open(size=size)
    page.evaluate(WATCH_WORDS)
    write(page, "slow one")
    ended(page)

    assert words_of(page) == WORDS
    assert page.evaluate("window.first.isConnected")
    assert page.evaluate("window.tops.size") == 1


def test_a_question_is_asked_differently_in_a_session_that_began_the_same(windows, size):
    page = windows.open(size=size)
    write(page, "first")
    ended(page)
    write(page, "second")
    page.wait_for_selector(".turn:nth-of-type(2) [aria-label^='Edit']")
    before = page.url
    page.click(".turn:nth-of-type(2) [aria-label^='Edit']")
    page.fill(".prompt-editing textarea", "better")
    page.click("button:has-text('Ask again')")
    page.wait_for_selector(".turn:nth-of-type(2) .prompt-text:has-text('better')")
    page.wait_for_selector(".turn:nth-of-type(2) .prose:has-text('I hear you.')")

    assert page.url != before
    assert page.locator(".prompt-text").all_inner_texts() == ["first", "better"]


def test_an_answer_is_regenerated_in_a_session_that_began_the_same(windows):
    page = windows.open()
    for text in ("hello", "hello"):
        write(page, text)
        ended(page)
    before = page.url
    page.click(".turn:nth-of-type(2) [aria-label^='Regenerate']")
    page.wait_for_function("before => location.href !== before", arg=before)
    page.wait_for_selector(".turn:nth-of-type(2) .prose:has-text('I hear you.')")

    assert page.locator(".prompt-text").all_inner_texts() == ["hello", "hello"]


def test_a_picture_goes_with_a_message_and_is_shown(windows, size):
    page = windows.open(size=size)
    choose(page, "heron.png", PIXEL)
    page.wait_for_selector(".attached .tag:has-text('heron.png')")
    write(page, "take this")
    ended(page)

    assert page.evaluate("document.querySelector('.prompt-files img').naturalWidth") == 1


def test_a_new_chat_is_open_for_whoever_comes_and_an_old_one_for_whoever_returns(windows):
    windows.chat("notes", "hello")
    page = windows.open()
    page.wait_for_selector(".idea")
    new = page.url
    page.evaluate("place => void (location.hash = place)", f"#/chat/{windows.named('notes')}")
    ended(page)
    page.click(".nav-link:has-text('Memory')")
    page.wait_for_selector(".remembered")
    page.click(".nav-link:has-text('Chat')")
    ended(page)

    assert page.url not in (new, f"{windows.address}/#/chat")


def test_a_session_is_forked_renamed_found_and_deleted(windows, size):
    page = windows.open(size=size)
    write(page, "about herons")
    ended(page)
    page.click("[aria-label^='Fork']")
    page.wait_for_selector(".head-title:has-text('(fork)')")
    page.click("[aria-label='More about this session']")
    page.click("[role=menuitem]:has-text('Rename')")
    page.fill("dialog .input", "Kingfishers")
    page.press("dialog .input", "Enter")
    page.wait_for_selector(".head-title:has-text('Kingfishers')")
    # A phone has them behind a button.
    page.wait_for_selector(".session:nth-of-type(2)", state="attached")
    page.click("[aria-label='More about this session']")
    page.click("[role=menuitem]:has-text('Delete')")
    page.click("dialog button:has-text('Delete')")
    page.wait_for_selector(".session:nth-of-type(2)", state="detached")

    known = windows.ask("GET", "/api/sessions")["sessions"]
    assert [each["title"] for each in known] == ["about herons"]


def test_sessions_are_listed_by_who_started_them(windows, size):
    windows.chat("notes", "about herons")
    asked = [{"role": "user", "content": "from an editor"}]
    windows.ask("POST", "/v1/chat/completions", model="lra", messages=asked)
    page = windows.open(size=size)
    if size is PHONE:
        page.click(".chat-open-side button")
    page.wait_for_selector(".session")
    titles = page.locator(".session-title")
    for origin, listed in (
        ("Your chats", ["about herons"]),
        ("API clients", ["from an editor"]),
        ("MCP clients", []),
        ("All sessions", ["from an editor", "about herons"]),
    ):
        page.select_option(".sessions-origin", label=origin)
        expect(titles).to_have_text(listed)


def test_a_file_goes_with_a_message(windows, size):
    page = windows.open(size=size)
    choose(page, "birds.csv", b"a,b\n1,2\n")
    page.wait_for_selector(".attached .tag:has-text('birds.csv')")
    write(page, "take this")
    ended(page)

    [session] = windows.ask("GET", "/api/sessions")["sessions"]
    said = windows.ask("GET", f"/api/sessions/{session['id']}/history")["messages"][0]["content"]
    assert said == "take this\n\nAttached files:\n- uploads/birds.csv"
    assert page.inner_text(".prompt-files") == "birds.csv"


def test_another_model_is_chosen_for_the_session(windows, size):
    page = windows.open(size=size)
    write(page, "hello")
    ended(page)
    page.click("[aria-label^='Model:']")
    page.click("[role=menuitemradio]:has-text('custom:scripted')")
    page.wait_for_selector("text=uses custom:scripted")

    [session] = windows.ask("GET", "/api/sessions")["sessions"]
    assert session["model"] == "custom:scripted"


def test_a_message_that_is_refused_is_not_lost(windows, size):
    page = windows.open(size=size)
    choose(page, "birds.csv", b"a,b\n1,2\n")
    page.wait_for_selector(".attached .tag:has-text('birds.csv')")
    long = "heron " * (LONGEST // 6 + 1)
    write(page, long)
    page.wait_for_selector(".toast:has-text('content')")

    page.wait_for_function("document.querySelector('.composer-text').value.startsWith('heron')")
    assert page.input_value(".composer-text") == long.strip()
    assert page.inner_text(".attached .tag") == "birds.csv"
    # What went wrong is said where it hides nothing that is used next.
    toast, send = (page.locator(each).bounding_box() for each in (".toast", ".composer"))
    assert toast["y"] + toast["height"] < send["y"]
    assert page.query_selector(".prompt-sent") is None
