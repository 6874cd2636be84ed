"""The web, as far as an agent may see it."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message

import httpx2

from long_running_agents.config.settings import WebSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached, NotConfigured, Unavailable, UsageError
from long_running_agents.web.browser import Browser, Chromium
from long_running_agents.web.convert import Converter
from long_running_agents.web.fetch import (
    Fetcher,
    Manners,
    PageLimits,
    TransportRequest,
    TransportResponse,
)
from long_running_agents.web.page import Reading, SearchResult, WebPage
from long_running_agents.web.search import (
    BRAVE,
    BRAVE_KEY,
    DUCKDUCKGO,
    Brave,
    DuckDuckGo,
    Searcher,
    Searxng,
)

PDF = "application/pdf"
_TEXTS = frozenset(
    {"application/json", "application/xml", "application/xhtml+xml", "application/javascript"}
    | {"application/yaml", "application/x-yaml", "application/toml", "application/rtf", PDF}
)
_KEPT = 8
_PLAIN_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}/[a-z0-9][a-z0-9.+-]{0,60}")


@dataclass(eq=False, repr=False)
class Web:
    """Reads pages and searches. What comes back was written by strangers."""

    fetcher: Fetcher
    converter: Converter
    searcher: Callable[[], Searcher]
    """Gives whoever searches, or says what is missing for that."""
    browser: Browser
    clock: Clock
    part: int = 40_000
    """Characters of a page that are shown at once."""
    _read: OrderedDict[tuple[str, str], WebPage] = field(
        default_factory=OrderedDict[tuple[str, str], WebPage], init=False
    )

    async def fetch(self, url: str, *, start: int = 0, reading: Reading = "plain") -> WebPage:
        """Read a page; to read on from a start, one that was read just now is not fetched again."""
        if start and (known := self._read.get((reading, url))):
            return known
        page = await (self._fetched(url) if reading == "plain" else self._rendered(url, reading))
        self._read[reading, url] = page
        self._read.move_to_end((reading, url))
        while len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return page

    async def search(self, query: str, most: int) -> list[SearchResult]:
        """Find pages, the best first."""
        if not query.strip():
            raise UsageError("There is nothing to search for.", hint="Give a few words.")
        return await self.searcher().search(query, most)

    async def _fetched(self, url: str) -> WebPage:
        fetched = await self.fetcher.fetch(url)
        answer = fetched.answer
        media_type, charset = kind_of(answer.headers.get("content-type", ""), answer.body)
        if answer.cut and media_type == PDF:
            raise LimitReached(
                f"{url} is a PDF of more than {self.fetcher.limits.size} bytes.",
                hint="Raise web.max_bytes to read it.",
            )
        page = await self._page(url, fetched.url, answer.status, answer.body, media_type, charset)
        notes = list(page.notes)
        if answer.cut:
            notes.append(f"Only the first {self.fetcher.limits.size} bytes were taken.")
        if not page.text and media_type == "text/html":
            notes.append("There is no text in it; web_fetch_js may show more.")
        return replace(page, notes=tuple(notes))

    async def _rendered(self, url: str, reading: Reading) -> WebPage:
        try:
            async with asyncio.timeout(self.fetcher.limits.total):
                await self.fetcher.look_ahead(url)
        except TimeoutError as error:
            raise Unavailable(f"{url} did not answer in time.") from error
        shown = await self.browser.render(url, stealth=reading == "stealth")
        body = shown.html.encode("utf-8", "replace")
        page = await self._page(url, shown.url, shown.status, body, "text/html", "utf-8")
        return replace(page, notes=(*shown.notes, *page.notes))

    async def _page(
        self, url: str, led_to: str, status: int, body: bytes, media_type: str, charset: str
    ) -> WebPage:
        converted = await self.converter.convert(
            body, media_type=media_type, charset=charset, url=led_to
        )
        return WebPage(
            url=url,
            final_url=led_to,
            status=status,
            media_type=media_type,
            title=converted["title"],
            text=converted["text"],
            fetched_at=self.clock.now(),
            notes=tuple(converted["notes"]),
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


_FRAME = 2000
"""Characters that the frame around a page may take."""
_LEAST = 500
_MOST = 40_000


class _AtFirstUse:
    """Brings curl when the first page is asked for: most turns need none, and it takes a while."""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Ask, and follow no redirect."""
        from long_running_agents.web.curl import CurlTransport  # noqa: PLC0415 - see above

        return await CurlTransport().send(request)


def web_of(
    settings: WebSettings,
    variables: Mapping[str, str],
    client: httpx2.AsyncClient,
    clock: Clock,
    *,
    result_limit: int = 50_000,
) -> Web:
    """The web of these settings; the client is for servers that a person has set up."""
    limits = PageLimits(
        timeout=settings.timeout, total=settings.total_timeout, size=settings.max_bytes
    )
    fetcher = Fetcher(
        _AtFirstUse(),
        clock,
        limits=limits,
        manners=Manners(
            user_agent=settings.user_agent,
            robots=settings.robots,
            allow=settings.allow_hosts,
            deny=settings.deny_hosts,
        ),
    )
    converter = Converter(most=limits.text, clock=clock)
    return Web(
        fetcher,
        converter,
        lambda: searcher_of(settings, variables, client, fetcher, converter),
        Chromium(fetcher, program=settings.browser),
        clock,
        part=max(_LEAST, min(_MOST, result_limit - _FRAME)),
    )


def searcher_of(
    settings: WebSettings,
    variables: Mapping[str, str],
    client: httpx2.AsyncClient,
    fetcher: Fetcher,
    converter: Converter,
) -> Searcher:
    """Whoever searches by these settings.

    Raises:
        NotConfigured: An address or a key is missing.
    """
    match settings.search_provider:
        case "duckduckgo":
            return DuckDuckGo(fetcher, converter, settings.search_url or DUCKDUCKGO)
        case "searxng":
            if not settings.search_url:
                hint = "Set web.search_url to its address."
                raise NotConfigured("There is no SearXNG server to ask.", hint=hint)
            return Searxng(client, settings.search_url, settings.timeout)
        case "brave":
            if not (key := variables.get(BRAVE_KEY, "")):
                raise NotConfigured("Brave's search wants a key.", hint=f"Set {BRAVE_KEY}.")
            return Brave(client, key, settings.timeout, settings.search_url or BRAVE)
