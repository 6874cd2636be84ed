"""The web, as far as an agent may see it."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from email.message import Message

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, Unavailable, UsageError
from long_running_agents.web.browser import Browser
from long_running_agents.web.converting import Converter
from long_running_agents.web.fetching import Fetcher
from long_running_agents.web.page import Found, Page
from long_running_agents.web.searching import Searcher

PDF = "application/pdf"
_TEXTS = frozenset(
    {"application/json", "application/xml", "application/xhtml+xml", "application/javascript"}
    | {"application/yaml", "application/x-yaml", "application/toml", "application/rtf", PDF}
)
_KEPT = 8
_PLAIN_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}/[a-z0-9][a-z0-9.+-]{0,60}")


class Web:
    """Reads pages and searches. What comes back was written by strangers."""

    def __init__(
        self,
        fetcher: Fetcher,
        converter: Converter,
        searcher: Callable[[], Searcher],
        browser: Browser,
        clock: Clock,
        *,
        part: int = 40_000,
    ) -> None:
        """Put it together.

        Args:
            fetcher: Fetches what is asked for.
            converter: Turns it into text.
            searcher: Gives whoever searches, or says what is missing for that.
            browser: Shows pages that are nothing without their scripts.
            clock: The clock.
            part: How many characters of a page are shown at once.
        """
        self.part = part
        """Characters of a page that are shown at once."""
        self._fetcher = fetcher
        self._converter = converter
        self._searcher = searcher
        self._browser = browser
        self._clock = clock
        self._read: OrderedDict[tuple[str, str], Page] = OrderedDict()

    async def fetch(self, url: str, *, start: int = 0) -> Page:
        """Read a page by plain requests.

        Args:
            url: Its address.
            start: Where to read on; then a page that was read just now is not fetched again.
        """
        known = self._read.get(("", url)) if start else None
        return known or self._keep("", await self._fetched(url))

    async def render(self, url: str, *, stealth: bool = False, start: int = 0) -> Page:
        """Read a page as a browser shows it.

        Args:
            url: Its address.
            stealth: Whether the browser hides that nobody sits before it.
            start: As above.
        """
        kind = "stealth" if stealth else "js"
        known = self._read.get((kind, url)) if start else None
        return known or self._keep(kind, await self._rendered(url, stealth=stealth))

    async def search(self, query: str, most: int) -> list[Found]:
        """Find pages, the best first."""
        if not query.strip():
            raise UsageError("There is nothing to search for.", hint="Give a few words.")
        return await self._searcher().search(query, most)

    def _keep(self, kind: str, page: Page) -> Page:
        self._read[kind, page.url] = page
        self._read.move_to_end((kind, page.url))
        while len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return page

    async def _fetched(self, url: str) -> Page:
        fetched = await self._fetcher.fetch(url)
        answer = fetched.answer
        media_type, charset = kind_of(answer.headers.get("content-type", ""), answer.body)
        if answer.cut and media_type == PDF:
            raise LimitReached(
                f"{url} is a PDF of more than {self._fetcher.limits.size} bytes.",
                hint="Raise web.max_bytes to read it.",
            )
        converted = await self._converter.convert(
            answer.body, media_type=media_type, charset=charset, url=fetched.url
        )
        notes = list(converted["notes"])
        if answer.cut:
            notes.append(f"Only the first {self._fetcher.limits.size} bytes were taken.")
        if not converted["text"] and media_type == "text/html":
            notes.append("There is no text in it; web_fetch_js may show more.")
        return Page(
            url=url,
            final_url=fetched.url,
            status=answer.status,
            media_type=media_type,
            title=converted["title"],
            text=converted["text"],
            fetched_at=self._clock.now(),
            notes=tuple(notes),
        )

    async def _rendered(self, url: str, *, stealth: bool) -> Page:
        try:
            async with asyncio.timeout(self._fetcher.limits.total):
                await self._fetcher.look_ahead(url)
        except TimeoutError as error:
            raise Unavailable(f"{url} did not answer in time.") from error
        shown = await self._browser.render(url, stealth=stealth)
        converted = await self._converter.convert(
            shown.html.encode("utf-8", "replace"),
            media_type="text/html",
            charset="utf-8",
            url=shown.url,
        )
        return Page(
            url=url,
            final_url=shown.url,
            status=shown.status,
            media_type="text/html",
            title=converted["title"],
            text=converted["text"],
            fetched_at=self._clock.now(),
            notes=(*shown.notes, *converted["notes"]),
        )


def kind_of(content_type: str, body: bytes) -> tuple[str, str]:
    """The media type and the charset of a body.

    Raises:
        UsageError: It is nothing that can be read as text.
    """
    header = Message()
    header["content-type"] = content_type[:200]
    media_type = header.get_content_type() if content_type else ""
    if not _PLAIN_TYPE.fullmatch(media_type):
        # It is shown to the model: no place for sentences.
        media_type = ""
    if body.startswith(b"%PDF-"):
        return PDF, ""
    if media_type in ("", "application/octet-stream"):
        if b"\0" in body[:1000] and body[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            media_type = media_type or "application/octet-stream"
        else:
            beginning = body[:1000].lstrip().lower()
            html = beginning.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))
            media_type = "text/html" if html else "text/plain"
    readable = media_type.startswith("text/") or media_type.endswith(("+xml", "+json"))
    if not readable and media_type not in _TEXTS:
        raise UsageError(
            f"This is {media_type}, which cannot be read as text.", hint="Look for a page about it."
        )
    charset = header.get_param("charset", "")
    return media_type, charset if isinstance(charset, str) else ""
