"""What the agent sees: reached from the chat, and the same as the server says."""

from patchright.sync_api import expect
from tests.e2e.window.windows import button, says


def test_what_the_agent_sees_is_reached_from_the_chat(windows):
    windows.chat("herons", "hello")
    page = windows.open(f"chat/{windows.named('herons')}")
    button(page, "More about this session").click()
    page.get_by_role("menuitem", name="What the agent sees").click()
    says(page, "tokens")
    page.get_by_text("Base instructions").click()
    expect(page.locator(".context-text").first).to_be_visible()
    page.get_by_label("Message to try").fill("Which bird?")
    button(page, "Show").click()

    expect(page.get_by_role("region", name="New message")).to_contain_text("Which bird?")


def test_what_the_agent_sees_is_the_same_as_the_server_says(windows):
    windows.chat("herons", "hello")
    told = windows.ask("GET", f"/api/sessions/{windows.named('herons')}/context")
    page = windows.open(f"context/{windows.named('herons')}")

    says(page, f"{told['total']:,}")
    expect(page.locator(".context-tools > li")).to_have_count(len(told["tools"]))
