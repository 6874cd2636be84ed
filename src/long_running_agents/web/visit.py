"""A browser's visit to one page, from going there to writing down what is shown."""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from long_running_agents.errors import AddressRefused, LraError, Unavailable
from long_running_agents.proxy import REFUSED, Proxy
from long_running_agents.web.browser import Rendered
from long_running_agents.web.fetching import Fetcher

if TYPE_CHECKING:
    from patchright.async_api import BrowserContext, Dialog, Page, Response, Route

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


class Visit:
    """Goes to a page, waits for it to settle, and tells what is shown."""

    def __init__(self, context: "BrowserContext", fetcher: Fetcher, proxy: Proxy, url: str) -> None:
        self._context = context
        self._fetcher = fetcher
        self._proxy = proxy
        self._url = url
        self._hosts: set[str] = set()
        """Where the page itself wanted to be; browsers also have errands of their own."""
        self._moves = 0
        self._dialogs = 0
        self._refused = ""

    async def made(self, *, patient: bool) -> Rendered:
        """Visit the page.

        Args:
            patient: Whether to wait for sites that look at their visitors first.
        """
        [page, *_] = self._context.pages or [await self._context.new_page()]
        await page.route("**/*", lambda route: self._decide(page, route))
        self._context.on("page", lambda other: asyncio.ensure_future(other.close()))
        page.on("dialog", self._dismiss)
        response = await self._gone_to(page)
        await self._settled(page, patient=patient)
        html, cut = await self._written_down(page)
        # It may have led elsewhere since.
        self._fetcher.check(page.url)
        return Rendered(
            url=page.url,
            status=0 if response is None else response.status,
            html=html,
            notes=tuple(self._notes(cut=cut)),
        )

    async def _gone_to(self, page: "Page") -> "Response | None":
        from patchright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            response = await page.goto(
                self._url,
                wait_until="commit",
                timeout=self._fetcher.limits.timeout * 1000,
            )
        except Error as error:
            refused = self._refusal()
            if refused:
                raise AddressRefused(refused) from error
            raise Unavailable(
                f"The browser cannot show {self._url}: {error.message.partition(chr(10))[0]}."
            ) from error
        if response is not None and REFUSED in response.headers:
            raise AddressRefused(self._refusal() or f"{self._url} may not be visited.")
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
                async with asyncio.timeout(self._fetcher.limits.timeout):
                    html, cut = await page.evaluate(_SHOWN, self._fetcher.limits.size)
                return str(html), bool(cut)
            except TimeoutError as error:
                raise Unavailable(
                    f"{self._url} is too busy with itself to be read.",
                    hint="Its scripts may never end; try web_fetch.",
                ) from error
            except Error:
                # It went elsewhere just then.
                await self._settled(page, patient=False)
        raise Unavailable(f"{self._url} does not stay what it is for long enough to be read.")

    async def _decide(self, page: "Page", route: "Route") -> None:
        request = route.request
        if request.resource_type in _HEAVY:
            await route.abort("blockedbyclient")
            return
        if request.is_navigation_request() and request.frame == page.main_frame:
            self._moves += 1
            if self._moves > _MOST_MOVES or not await self._may_go(request.url):
                # No content: the browser stays where it is.
                await route.fulfill(status=204)
                return
        await route.continue_()

    async def _may_go(self, url: str) -> bool:
        self._hosts.add(urlsplit(url).hostname or "")
        if self._moves == 1:
            # That was looked at before a browser was started.
            return True
        try:
            await self._fetcher.look_ahead(url)
        except LraError as error:
            self._refused = error.message
            return False
        return True

    async def _dismiss(self, dialog: "Dialog") -> None:
        self._dialogs += 1
        await dialog.dismiss()

    def _refusal(self) -> str:
        passages = (there for there in self._proxy.passages if there.host in self._hosts)
        return next((there.refused for there in passages if there.refused), "")

    def _notes(self, *, cut: bool) -> list[str]:
        notes: list[str] = []
        if self._moves > _MOST_MOVES:
            notes.append(f"The page went elsewhere more than {_MOST_MOVES} times and was stopped.")
        if self._refused:
            notes.append(f"The page wanted to go on, which was refused: {self._refused}")
        if self._dialogs:
            notes.append(f"{self._dialogs} dialogs of the page were dismissed.")
        if self._proxy.exhausted:
            notes.append("The page loaded more than it may; the rest is missing.")
        if cut:
            notes.append(f"Only the first {self._fetcher.limits.size} characters were taken.")
        return notes
