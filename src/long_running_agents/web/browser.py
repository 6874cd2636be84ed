"""Pages with all their scripts: the port of a browser, and Chromium behind it."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from long_running_agents.errors import AddressRefused, LraError, NotConfigured, Unavailable
from long_running_agents.net.proxy import REFUSED, Proxy
from long_running_agents.web.fetch import Fetcher

if TYPE_CHECKING:
    from patchright.async_api import BrowserContext, Dialog, Page, Response, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a page became."""

    url: str
    """Where it led."""
    status: int
    """The status of HTTP; 0 when there was none."""
    html: str
    """What is shown, without what is hidden."""
    notes: tuple[str, ...] = ()


class Browser(Protocol):
    """Shows a page and says what is on it."""

    async def render(self, url: str, *, stealth: bool) -> Rendered:
        """Show a page that was checked; stealth hides that nobody sits before the browser.

        Raises:
            NotConfigured: There is no browser.
            AddressRefused: The page leads where we may not go.
            Unavailable: It did not come to rest in time.
        """
        ...


_HEAVY = frozenset({"image", "media", "font", "beacon", "ping", "texttrack", "manifest"})
"""What brings nothing to read."""
_MOST_MOVES = 12
"""How often a page may go elsewhere by itself."""
_SETTLING = 4_000
"""Milliseconds to wait for a page to have nothing more to load."""
_RIDDLE = 20_000
"""Milliseconds to wait until a site is convinced."""
_TRIES = 3

# Runs beside the page's own scripts, which can change neither it nor what it sees.
_SHOWN = """most => {
    const hidden = [];
    for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility({visibilityProperty: true})) hidden.push(element);
    }
    hidden.forEach(element => element.remove());
    const html = document.documentElement.outerHTML;
    return [html.slice(0, most), html.length > most];
}"""
_CONVINCED = """() => !/^(just a moment|checking your browser|attention required)/i
    .test(document.title)"""


@dataclass(eq=False)
class PageVisit:
    """Goes to a page, waits for it to settle, and tells what is shown."""

    context: "BrowserContext"
    fetcher: Fetcher
    proxy: Proxy
    url: str
    hosts: set[str] = field(default_factory=set[str])
    """Where the page itself wanted to be; browsers also have errands of their own."""
    moves: int = 0
    dialogs: int = 0
    refused: str = ""

    async def made(self, *, patient: bool) -> Rendered:
        """Visit the page; the patient wait for sites that look at their visitors first."""
        [page, *_] = self.context.pages or [await self.context.new_page()]
        await page.route("**/*", lambda route: self._decide(page, route))
        self.context.on("page", lambda other: asyncio.ensure_future(other.close()))
        page.on("dialog", self._dismiss)
        response = await self._gone_to(page)
        await self._settled(page, patient=patient)
        html, cut = await self._written_down(page)
        # It may have led elsewhere since.
        self.fetcher.check(page.url)
        return Rendered(
            url=page.url,
            status=0 if response is None else response.status,
            html=html,
            notes=tuple(self._notes(cut=cut)),
        )

    async def _gone_to(self, page: "Page") -> "Response | None":
        from patchright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            limit = self.fetcher.limits.timeout * 1000
            response = await page.goto(self.url, wait_until="commit", timeout=limit)
        except Error as error:
            if refused := self._refusal():
                raise AddressRefused(refused) from error
            raise Unavailable(
                f"The browser cannot show {self.url}: {error.message.partition(chr(10))[0]}."
            ) from error
        if response is not None and REFUSED in response.headers:
            raise AddressRefused(self._refusal() or f"{self.url} may not be visited.")
        return response

    async def _settled(self, page: "Page", *, patient: bool) -> None:
        from patchright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            await page.wait_for_load_state("domcontentloaded", timeout=_SETTLING)
            await page.wait_for_load_state("networkidle", timeout=_SETTLING)
            if patient:
                await page.wait_for_function(_CONVINCED, timeout=_RIDDLE)
        except Error:
            # Some pages never have enough, or are elsewhere already; what there is will do.
            return

    async def _written_down(self, page: "Page") -> tuple[str, bool]:
        from patchright.async_api import Error  # noqa: PLC0415 - an extra

        for _ in range(_TRIES):
            try:
                async with asyncio.timeout(self.fetcher.limits.timeout):
                    html, cut = await page.evaluate(_SHOWN, self.fetcher.limits.size)
                return str(html), bool(cut)
            except TimeoutError as error:
                raise Unavailable(
                    f"{self.url} is too busy with itself to be read.",
                    hint="Its scripts may never end; try web_fetch.",
                ) from error
            except Error:
                # It went elsewhere just then.
                await self._settled(page, patient=False)
        raise Unavailable(f"{self.url} does not stay what it is for long enough to be read.")

    async def _decide(self, page: "Page", route: "Route") -> None:
        request = route.request
        if request.resource_type in _HEAVY:
            await route.abort("blockedbyclient")
            return
        if request.is_navigation_request() and request.frame == page.main_frame:
            self.moves += 1
            if self.moves > _MOST_MOVES or not await self._may_go(request.url):
                # No content: the browser stays where it is.
                await route.fulfill(status=204)
                return
        await route.continue_()

    async def _may_go(self, url: str) -> bool:
        self.hosts.add(urlsplit(url).hostname or "")
        if self.moves == 1:
            # That was looked at before a browser was started.
            return True
        try:
            await self.fetcher.look_ahead(url)
        except LraError as error:
            self.refused = error.message
            return False
        return True

    async def _dismiss(self, dialog: "Dialog") -> None:
        self.dialogs += 1
        await dialog.dismiss()

    def _refusal(self) -> str:
        passages = (there for there in self.proxy.passages if there.host in self.hosts)
        return next((there.refused for there in passages if there.refused), "")

    def _notes(self, *, cut: bool) -> list[str]:
        most, refused = _MOST_MOVES, self.refused
        notes = {
            f"The page went elsewhere more than {most} times and was stopped.": self.moves > most,
            f"The page wanted to go on, which was refused: {refused}": refused,
            f"{self.dialogs} dialogs of the page were dismissed.": self.dialogs,
            "The page loaded more than it may; the rest is missing.": self.proxy.exhausted,
            f"Only the first {self.fetcher.limits.size} characters were taken.": cut,
        }
        return [note for note, holds in notes.items() if holds]


_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_USER = 61183
"""Whom the superuser's browser runs as: nobody in particular."""
_MOST = 64 << 20
"""Bytes that all requests of one page may bring."""
_ENDING = 5.0
_LAUNCHING = 30.0
_FLAGS = (
    # No way around the proxy: neither other protocols nor names looked up by the browser itself.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Nothing that speaks to anybody by itself.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-client-side-phishing-detection",
    "--safebrowsing-disable-auto-update",
    "--metrics-recording-only",
    "--gaia-url=http://127.0.0.1:9",
    "--google-base-url=http://127.0.0.1:9",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-crash-reporter",
    "--disable-breakpad",
    "--no-pings",
    "--mute-audio",
    "--js-flags=--max-old-space-size=512",
)
_WISHES = {
    "net": {"network_prediction_options": 2},
    "search": {"suggest_enabled": False},
    "signin": {"allowed": False},
    "safebrowsing": {"enabled": False},
    "webrtc": {"ip_handling_policy": "disable_non_proxied_udp"},
}
"""Settings of its profile, to the same end."""
_MISSING = "Install it with: pip install 'long-running-agents[browser]'"
_NO_PROGRAM = "Install it (sudo apt install chromium), or set web.browser to its path."


@dataclass(eq=False)
class Chromium:
    """Chromium, or whatever is like it, driven by patchright."""

    fetcher: Fetcher
    """Whose guard, limits and manners hold for the browser, too."""
    program: str = ""
    """The browser; otherwise one is looked for."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """A browser takes hundreds of megabytes."""

    async def render(self, url: str, *, stealth: bool) -> Rendered:
        """Show a page."""
        program = find(self.program)
        async with self._turn:
            with _folder() as folder:
                proxy = Proxy(
                    self.fetcher.admit,
                    resolve=self.fetcher.network.resolve,
                    public=self.fetcher.network.public,
                    most=_MOST,
                )
                await proxy.listen()
                try:
                    return await self._shown(url, folder, proxy, program, stealth=stealth)
                finally:
                    await proxy.close()

    async def _shown(
        self, url: str, folder: Path, proxy: Proxy, program: str, *, stealth: bool
    ) -> Rendered:
        limits = self.fetcher.limits
        async with self._launched(folder, proxy, program, stealth=stealth) as context:
            visit = PageVisit(context, self.fetcher, proxy, url)
            try:
                async with asyncio.timeout(limits.total):
                    return await visit.made(patient=stealth)
            except TimeoutError as error:
                raise Unavailable(
                    f"{url} did not come to rest within {limits.total:g} seconds.",
                    hint="Its scripts may never end; try web_fetch.",
                ) from error

    @asynccontextmanager
    async def _launched(
        self, folder: Path, proxy: Proxy, program: str, *, stealth: bool
    ) -> AsyncGenerator["BrowserContext"]:
        from patchright.async_api import (  # noqa: PLC0415 - an extra
            Error,
            ProxySettings,
            ViewportSize,
            async_playwright,
        )

        agent = self.fetcher.manners.user_agent
        if stealth and not agent:
            agent = await _usual_agent(program)
        driver = await async_playwright().start()
        try:
            try:
                yield await driver.chromium.launch_persistent_context(
                    folder / "profile",
                    executable_path=_launcher(folder, program, self.fetcher.limits.total),
                    headless=True,
                    chromium_sandbox=True,
                    timeout=_LAUNCHING * 1000,
                    proxy=ProxySettings(server=f"http://127.0.0.1:{proxy.port}"),
                    args=list(_FLAGS),
                    user_agent=agent or None,
                    locale="en-US",
                    viewport=ViewportSize(width=1920, height=1080),
                    accept_downloads=False,
                    service_workers="block",
                )
            except Error as error:
                if "launch" not in str(error) and "closed" not in str(error):
                    raise
                raise Unavailable(
                    f"The browser {program} cannot be started here.",
                    hint="See whether it starts as a plain user, with its sandbox.",
                ) from error
        finally:
            _end(folder)
            # What drove it is of no use without it, and may wait for it in vain.
            with contextlib.suppress(TimeoutError, Error):
                async with asyncio.timeout(_ENDING):
                    await driver.stop()


def find(program: str = "", *, driver: str = "patchright") -> str:
    """The browser to use, by its path or found; the driver is the module that drives it.

    Raises:
        NotConfigured: There is none, or nothing to drive it with.
    """
    if find_spec(driver) is None:
        raise NotConfigured("The extra that drives browsers is missing.", hint=_MISSING)
    if program:
        if not os.access(program, os.X_OK):
            raise NotConfigured(f"There is no browser at {program}.", hint=_NO_PROGRAM)
        return program
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise NotConfigured("There is no Chromium on this machine.", hint=_NO_PROGRAM)
    return found


@contextlib.contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="lra-browser-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        profile = folder / "profile"
        profile.mkdir(mode=0o700)
        wishes = profile / "Default"
        wishes.mkdir(mode=0o700)
        (wishes / "Preferences").write_text(json.dumps(_WISHES), encoding="utf-8")
        if os.geteuid() == 0:
            for path in (profile, wishes, wishes / "Preferences"):
                os.chown(path, _USER, _USER)
        yield folder


def _launcher(folder: Path, program: str, seconds: float) -> Path:
    """A program for the driver to start, since it can start nothing with arguments of ours."""
    path = folder / "launch"
    user = _USER if os.geteuid() == 0 else -1
    words = [sys.executable, "-I", "-m", "long_running_agents.web.inside.launch"]
    words += [str(folder), str(user), str(int(seconds * 2) + 30), program]
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(quote, words))} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def _end(folder: Path) -> None:
    """End the browser and all of its processes, whatever they are busy with."""
    with contextlib.suppress(OSError, ValueError):
        os.killpg(int((folder / "pid").read_text(encoding="ascii")), signal.SIGKILL)


async def _usual_agent(program: str) -> str | None:
    """What this very browser says who it is when somebody sits before it."""
    process = await asyncio.create_subprocess_exec(
        program,
        "--version",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    said, _ = await process.communicate()
    version = next((word for word in said.decode().split() if word[:1].isdigit()), None)
    if version is None:
        return None
    mac = sys.platform == "darwin"
    system = "Macintosh; Intel Mac OS X 10_15_7" if mac else "X11; Linux x86_64"
    return (
        f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko)"
        f" Chrome/{version.partition('.')[0]}.0.0.0 Safari/537.36"
    )
