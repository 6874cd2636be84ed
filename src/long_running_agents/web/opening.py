"""From settings to the web."""

from collections.abc import Mapping

import httpx2

from long_running_agents.config.settings import WebSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.web.chromium import Chromium
from long_running_agents.web.converting import Converter
from long_running_agents.web.fetching import Fetcher, Manners, Network
from long_running_agents.web.limits import Limits
from long_running_agents.web.searching import (
    BRAVE,
    BRAVE_KEY,
    DUCKDUCKGO,
    Brave,
    DuckDuckGo,
    Searcher,
    Searxng,
)
from long_running_agents.web.transport import Answer, Request
from long_running_agents.web.web import Web

_FRAME = 2000
"""Characters that the frame around a page may take."""
_LEAST = 500
_MOST = 40_000


class _AtFirstUse:
    """Brings curl when the first page is asked for: most turns need none, and it takes a while."""

    async def send(self, request: Request) -> Answer:
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
    network: Network | None = None,
) -> Web:
    """The web of these settings.

    Args:
        settings: The settings.
        variables: Where keys are found.
        client: For servers that a person has set up.
        clock: The clock.
        result_limit: The longest result that a tool may give.
        network: The world outside, if it is another one than usual.
    """
    limits = Limits(timeout=settings.timeout, total=settings.total_timeout, size=settings.max_bytes)
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
        network=network,
    )
    converter = Converter(most=limits.text)
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
            return Searxng(client, settings.search_url, settings.timeout)
        case "brave":
            key = variables.get(BRAVE_KEY, "")
            return Brave(client, key, settings.timeout, settings.search_url or BRAVE)
