"""Searching the web, by whoever is set to do it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast
from urllib.parse import parse_qs, quote_plus, urlsplit

import httpx2

from long_running_agents.errors import Unavailable
from long_running_agents.web.convert import Converter
from long_running_agents.web.fetch import Fetcher
from long_running_agents.web.inside.convert import PageLink
from long_running_agents.web.page import SearchResult

DUCKDUCKGO = "https://html.duckduckgo.com/html/"
BRAVE = "https://api.search.brave.com/res/v1/web/search"
BRAVE_KEY = "BRAVE_API_KEY"
"""The variable with the key for it."""

_FINE = 200
_LARGEST = 2_000_000
_LONGEST = 500


class Searcher(Protocol):
    """Whoever finds pages."""

    async def search(self, query: str, most: int) -> list[SearchResult]:
        """Find pages, the best first.

        Raises:
            Unavailable: There is no answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class DuckDuckGo:
    """Their page for browsers without scripts; it needs no key."""

    fetcher: Fetcher
    converter: Converter
    url: str = DUCKDUCKGO

    async def search(self, query: str, most: int) -> list[SearchResult]:
        """Find pages, the best first."""
        fetched = await self.fetcher.fetch(f"{self.url}?q={quote_plus(query)}", polite=False)
        answer = fetched.answer
        page = await self.converter.convert(
            answer.body, media_type="text/html", charset="utf-8", url=fetched.url
        )
        results = in_links(page["links"])
        # Whom they take for a robot they answer with 202 and a riddle instead of results.
        if answer.status != _FINE or (not results and "result" not in page["text"].lower()):
            raise Unavailable(
                f"DuckDuckGo gave no results (status {answer.status}).",
                hint="Wait a while, or set web.search_provider to searxng or brave.",
            )
        return results[:most]


def in_links(links: Sequence[PageLink]) -> list[SearchResult]:
    """The results among the links of a page of results: a title, then what is said about it."""
    results: list[SearchResult] = []
    for link in links:
        kinds = link["kind"].split()
        if "result__a" in kinds and (url := _led_to(link["url"])):
            results.append(SearchResult(title=_line(link["text"]), url=url, snippet=""))
        elif "result__snippet" in kinds and results and not results[-1].snippet:
            results[-1] = replace(results[-1], snippet=_line(link["text"]))
    return results


def _line(text: str) -> str:
    """A text on one line, without the marks for what was bold in it."""
    return " ".join(text.replace("**", "").split())[:_LONGEST]


def _led_to(url: str) -> str:
    """Where a link of theirs leads; empty for advertisements."""
    parts = urlsplit(url)
    if parts.path == "/y.js":
        return ""
    inner = parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else url
    return inner if urlsplit(inner).scheme in ("http", "https") else ""


@dataclass(frozen=True, slots=True)
class Searxng:
    """A SearXNG server of one's own, which has to offer JSON."""

    client: httpx2.AsyncClient
    url: str
    timeout: float

    async def search(self, query: str, most: int) -> list[SearchResult]:
        """Find pages, the best first."""
        url, params = f"{self.url.rstrip('/')}/search", {"q": query, "format": "json"}
        said = await _asked(self.client, url, params, {}, self.timeout)
        return _results(said.get("results"), "content")[:most]


@dataclass(frozen=True, slots=True)
class Brave:
    """Brave's search, with a key."""

    client: httpx2.AsyncClient
    key: str = field(repr=False)
    timeout: float
    url: str = BRAVE

    async def search(self, query: str, most: int) -> list[SearchResult]:
        """Find pages, the best first."""
        params, headers = {"q": query, "count": str(most)}, {"X-Subscription-Token": self.key}
        said = await _asked(self.client, self.url, params, headers, self.timeout)
        web = said.get("web")
        results = cast("dict[str, object]", web).get("results") if isinstance(web, dict) else None
        return _results(results, "description")[:most]


async def _asked(
    client: httpx2.AsyncClient,
    url: str,
    params: dict[str, str],
    headers: dict[str, str],
    timeout: float,  # noqa: ASYNC109 - the client keeps it
) -> dict[str, Any]:
    """Ask a server that answers with JSON. The person who set it up vouches for its address."""
    search = f"The search at {urlsplit(url).netloc}"
    try:
        async with client.stream(
            "GET",
            url,
            params=params,
            headers={"Accept": "application/json", **headers},
            timeout=timeout,
            follow_redirects=False,
        ) as answer:
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise Unavailable(f"{search} answers with too much.")
            if answer.status_code != _FINE:
                raise Unavailable(f"{search} failed (status {answer.status_code}).")
            found: object = httpx2.Response(_FINE, content=bytes(body)).json()
    except (httpx2.HTTPError, ValueError) as error:
        raise Unavailable(f"{search} gave no answer that can be read.") from error
    if not isinstance(found, dict):
        raise Unavailable(f"{search} gave no answer that can be read.")
    return cast("dict[str, Any]", found)


def _results(found: object, snippet: str) -> list[SearchResult]:
    listed = cast("list[object]", found) if isinstance(found, list) else []
    items = [cast("dict[str, object]", item) for item in listed if isinstance(item, dict)]
    return [
        SearchResult(
            title=_line(str(item.get("title") or "")),
            url=str(item["url"]),
            snippet=_line(str(item.get(snippet) or "")),
        )
        for item in items
        if urlsplit(str(item.get("url") or "")).scheme in ("http", "https")
    ]
