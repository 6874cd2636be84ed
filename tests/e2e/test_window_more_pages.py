"""Tools, skills, usage, activity, settings and the next request, in a real browser."""

import json
import re
from pathlib import Path

import httpx2
import pytest
from patchright.async_api import async_playwright, expect
from tests.e2e.served import served

from long_running_agents.testing import Rule, Script, ToolCall, say, scripted_process
from long_running_agents.web import chromium

pytestmark = pytest.mark.anyio

DESK = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
TRIPLE = DOUBLE.replace("2 *", "number +").replace("Twice", "Twice as ever")
SCRIPT = Script(
    (
        Rule(
            "^list",
            (say("I look.", calls=(ToolCall("list_files", {"path": "."}),)), say("Nothing yet.")),
        ),
        Rule("", (say("Hello there, friend."),)),
    )
)
PAGES = (
    "tools",
    "tools?tab=skills",
    "tools?tab=problems",
    "tools/read_file",
    "tools/double",
    "tools/%2Bnew",
    "usage",
    "activity",
    "settings/models",
    "settings/tokens",
    "settings/config",
    "settings/doctor",
    "settings/look",
    "context/herons",
)


class Window:
    """A page of the window, and what went wrong in it."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.faults = []
        self.foreign = []
        page.on("request", self._see)

    async def listen(self):
        """Hear of scripts that fail and of what the policy refuses.

        The driver does not tell of a page's own scripts; the browser's protocol does.
        """
        session = await self.page.context.new_cdp_session(self.page)
        session.on("Runtime.exceptionThrown", self._failed)
        session.on("Log.entryAdded", self._logged)
        await session.send("Runtime.enable")
        await session.send("Log.enable")

    def _failed(self, told):
        self.faults.append(json.dumps(told["exceptionDetails"])[:1000])

    def _logged(self, told):
        if told["entry"]["level"] == "error":
            self.faults.append(told["entry"]["text"])

    def _see(self, request):
        if not request.url.startswith((self.address, "blob:", "data:")):
            self.foreign.append(request.url)

    async def go(self, place):
        # From nowhere: from another place, what is shown at first is the page that was there.
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.address}/#/{place}")
        await expect(self.page.locator(".page, .chat")).to_have_count(1)
        await expect(self.page.locator(".loading")).to_have_count(0)

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    async def says(self, text):
        await expect(self.page.get_by_text(text).first).to_be_visible()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server on which something has happened."""
    home = tmp_path_factory.mktemp("home")
    with scripted_process(SCRIPT) as url, served(home, url) as running:
        with httpx2.Client(base_url=running.address, trust_env=False, timeout=60) as client:
            for words in ("list my files", "hello"):
                client.post("/api/chat/herons", json={"message": words}).raise_for_status()
            made = client.post("/api/skills", json={"source": DOUBLE})
            assert made.status_code == 201, made.text
        yield running


@pytest.fixture
async def browser():
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox"]
        )
        yield browser
        await browser.close()


@pytest.fixture
def open_window(browser, server):
    """Opens windows: await open_window(size, theme)."""

    async def open_one(size=DESK, theme="light"):
        context = await browser.new_context(viewport=size, color_scheme=theme)
        window = Window(await context.new_page(), server.address)
        await window.listen()
        return window

    return open_one


@pytest.fixture
async def window(open_window):
    window = await open_window()
    yield window
    assert window.faults == []
    assert window.foreign == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_every_page_can_be_used_by_everybody(open_window, size, theme):
    window = await open_window(size, theme)
    for place in (*PAGES, await _turn(window.address)):
        await window.go(place)
        wide = await window.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size["width"], f"{place} is wider than the window"
        assert await _violations(window.page) == [], place
    assert window.faults == []
    assert window.foreign == []


async def _turn(address):
    """Where the timeline of a turn is."""
    async with httpx2.AsyncClient(base_url=address, trust_env=False) as client:
        found = (await client.get("/api/activity", params={"type": "tool_call"})).json()
    return f"activity/herons/{found['activity'][-1]['turn_id']}"


async def _violations(page):
    # In a world of its own, where the policy of the page does not count.
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (each["id"], node["html"][:200], node.get("failureSummary", "")[:300])
        for each in found["violations"]
        for node in each["nodes"]
    ]


async def test_a_script_that_fails_and_a_picture_without_words_would_be_noticed(open_window):
    window = await open_window()
    await window.go("usage")
    await window.page.locator(".page").evaluate("each => each.append(new Image(20, 20))")
    assert [each[0] for each in await _violations(window.page)] == ["image-alt"]
    await window.page.get_by_role("button", name="Today").evaluate(
        "each => each.addEventListener('click', () => { throw new Error('a broken wing'); })"
    )
    await window.button("Today").click()
    await expect(window.button("Today")).to_have_attribute("aria-pressed", "true")
    assert any("a broken wing" in fault for fault in window.faults)


async def test_a_tool_says_what_it_does_and_what_it_takes(window):
    await window.go("tools")
    await window.page.get_by_role("searchbox", name="Search tools").fill("read_fi")
    await window.page.get_by_role("link", name=re.compile("^read_file")).click()

    await window.says("Changes nothing; it may be repeated.")
    found = window.page.get_by_role("list", name="Arguments")
    await expect(found).to_contain_text("offset_line")
    await expect(found).to_contain_text("whole number from 1 to 2000")


async def test_a_tool_that_nobody_knows_is_not_there(window):
    await window.page.goto(f"{window.address}/#/tools/heron_song")
    await window.says("Nothing is called heron_song.")
    # The browser tells of the answer by itself.
    window.faults = [each for each in window.faults if "404" not in each]


async def test_the_life_of_a_skill(window):
    """Approve it, run it, make a second version, compare, reject, disable, enable, delete."""
    page = window.page
    await window.go("tools?tab=skills")
    await window.says("One skill waits for your word.")
    await page.get_by_role("link", name=re.compile("^double")).click()
    await window.says("Version 1 waits for your word.")
    await window.button("Approve").click()
    await window.says("Version 1 is in use.")

    await page.get_by_label("number").fill("x")
    await window.button("Run").click()
    await window.says("This is not a number.")
    await page.get_by_label("number").fill("21")
    await window.button("Run").click()
    await expect(page.locator(".outcome")).to_contain_text("42")

    await window.go("tools/%2Bnew")
    await page.get_by_label("Python code").fill(TRIPLE)
    await window.button("Keep it").click()
    await window.says("Version 2 waits for your word.")
    await window.says("What changed from version 1 to version 2")
    await expect(page.locator(".code", has_text="-    return 2 * number")).to_have_count(1)
    await window.button("Reject").click()
    await window.says("Version 2 was rejected.")

    await window.button("Disable").click()
    await window.button("Enable").click()
    await window.button("Disable").wait_for()
    await window.button("Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await window.says("double was deleted.")


async def test_a_review_names_the_line(window):
    await window.go("tools/%2Bnew")
    area = window.page.get_by_label("Python code")
    await area.fill("import socket\n\ndef f(x):\n    return socket\n")
    await window.button("Review").click()
    await window.says("cannot be a skill yet")
    await window.page.get_by_role("button", name=re.compile("^Line ")).first.click()
    chosen = await area.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")
    assert chosen


async def test_modules_are_imported_and_skills_exported(window, server):
    await window.go("tools?tab=skills")
    module = 'def half(number: float) -> float:\n    """Half."""\n    return number / 2\n'
    await window.page.get_by_label("A Python module to import").set_input_files(
        {"name": "m.py", "mimeType": "text/x-python", "buffer": module.encode()}
    )
    await window.says("One skill was brought in; it waits for your word.")
    await window.page.get_by_role("link", name=re.compile("^half")).wait_for()
    async with window.page.expect_download() as download:
        await window.page.get_by_role("link", name="Export").click()
    assert (await download.value).suggested_filename == "skills.py"


async def test_usage_is_shown_as_bars_and_as_a_table(window):
    await window.go("usage")
    await expect(window.page.get_by_role("img", name=re.compile("Tokens by day"))).to_be_visible()
    await expect(window.page.get_by_role("region", name="Usage by model")).to_contain_text(
        "scripted"
    )
    await window.button("Today").click()
    await expect(window.button("Today")).to_have_attribute("aria-pressed", "true")
    await expect(window.page.get_by_role("region", name="Usage by session")).to_be_visible()


async def test_what_cannot_be_read_says_so_and_can_be_asked_for_again(window):
    refusal = {"type": "error", "code": "internal", "message": "The books burn.", "hint": "Wait."}

    async def refuse(route):
        await route.fulfill(status=500, json=refusal)

    await window.page.route("**/api/usage*", refuse)
    await window.go("usage")
    await expect(window.page.get_by_role("alert")).to_contain_text("The books burn.")
    await window.page.unroute("**/api/usage*")
    await window.button("Try again").click()
    await expect(window.page.get_by_role("region", name="Usage by model")).to_be_visible()
    # The browser tells of the answer by itself.
    window.faults = [each for each in window.faults if "status of 500" not in each]


async def test_activity_is_live_and_leads_to_the_timeline_of_a_turn(window):
    await window.go("activity")
    await window.says("Calls list_files")
    async with httpx2.AsyncClient(base_url=window.address, trust_env=False, timeout=60) as client:
        await client.post("/api/chat/egrets", json={"message": "list what is new"})
    lines = window.page.locator(".feed-line", has_text="list what is new")
    await lines.first.get_by_role("link", name=re.compile("^Timeline")).click()

    spans = window.page.locator(".span-name")
    await expect(spans.filter(has_text="list_files")).to_have_count(1)
    await expect(spans.filter(has_text="Step 2")).to_have_count(1)


async def test_activity_can_be_narrowed_down(window):
    await window.go("activity")
    await window.page.get_by_label("Show", exact=True).select_option("calls")
    await window.says("list_files came back")
    await expect(window.page.locator(".feed-words", has_text="Message")).to_have_count(0)


async def test_a_model_is_tested(window):
    await window.go("settings/models")
    await window.page.get_by_role("button", name=re.compile("^Test .*scripted")).first.click()
    await window.says("It answered in")


async def test_a_token_is_made_shown_once_rotated_and_revoked(window):
    page = window.page
    await window.go("settings/tokens")
    await window.button("Make a token").click()
    await page.get_by_label("Name").fill("phone")
    await window.button("Make it").click()
    secret = await page.get_by_role("dialog").locator("code").inner_text()
    async with httpx2.AsyncClient(base_url=window.address, trust_env=False) as client:
        headers = {"Authorization": f"Bearer {secret}"}
        assert (await client.get("/api/status", headers=headers)).status_code == 200
    await window.button("I have kept it").click()
    assert secret not in await page.content()

    await window.button("Rotate phone").click()
    await page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    await window.button("I have kept it").click()
    await window.button("Revoke phone").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("revoked", exact=True)).to_be_visible()


async def test_a_setting_is_changed_and_holds_after_a_restart(window):
    page = window.page
    await window.go("settings/config")
    await page.get_by_role("searchbox", name="Search settings").fill("max_loop")
    await window.button("Change agent.max_loop_iterations").click()
    await page.get_by_label("Value").fill("no number")
    await window.button("Write it").click()
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    await page.get_by_label("Value").fill("17")
    await window.button("Write it").click()
    await window.says("17 after a restart")
    # The browser tells of the refusal by itself.
    window.faults = [each for each in window.faults if "status of 4" not in each]


async def test_the_doctor_and_the_theme(window):
    await window.go("settings/doctor")
    await expect(window.page.locator(".doctor-check").first).to_be_visible()
    await window.page.get_by_role("tab", name="Doctor").press("ArrowRight")
    await window.page.get_by_role("radio", name=re.compile("^Dark")).check()
    assert await window.page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_what_the_agent_sees_is_reached_from_the_chat(window):
    page = window.page
    await window.go("chat/herons")
    await window.button("More about this session").click()
    await page.get_by_role("menuitem", name="What the agent sees").click()
    await window.says("tokens")
    await page.get_by_text("What every agent is told").click()
    await expect(page.locator(".context-text").first).to_be_visible()
    await page.get_by_label("If you said").fill("Which bird?")
    await window.button("Look").click()
    await expect(page.get_by_role("region", name="New message")).to_contain_text("Which bird?")


async def test_what_the_agent_sees_is_the_same_as_the_server_says(window):
    async with httpx2.AsyncClient(base_url=window.address, trust_env=False) as client:
        told = json.loads((await client.get("/api/sessions/herons/context")).text)
    await window.go("context/herons")
    await window.says(f"{told['total']:,}")
    await expect(window.page.locator(".context-tools > li")).to_have_count(len(told["tools"]))
