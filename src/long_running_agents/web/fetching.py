"""From a URL to an answer: every hop is checked anew, and everything is bounded."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urljoin, urlsplit

from long_running_agents.addresses import (
    WEB_PORTS,
    IsPublic,
    Resolver,
    Target,
    allows,
    check_url,
    checked,
    is_public,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import AddressRefused, Denied, Unavailable
from long_running_agents.web import robots
from long_running_agents.web.limits import Limits
from long_running_agents.web.transport import Answer, Request, Transport

T = TypeVar("T")

AGENT = "long-running-agents"
"""What a robots.txt calls us."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEPT = 200
"""Sites whose rules are remembered."""
_FRESH = 3600.0
"""Seconds for which they are."""
_MISSING = 400
_BROKEN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The world outside: who looks names up, and what counts as public there."""

    resolve: Resolver | None = None
    public: IsPublic = is_public
    ports: frozenset[int] = WEB_PORTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How we behave towards sites, and which of them we visit."""

    user_agent: str = ""
    """What to say who asks; nothing means what a browser says."""
    robots: bool = True
    """Whether to leave alone what robots.txt asks to."""
    allow: Sequence[str] = ()
    """The only hosts to visit; none means all."""
    deny: Sequence[str] = ()
    """Hosts not to visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer, and where it came from."""

    url: str
    answer: Answer


class Fetcher:
    """Fetches, hop by hop."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        limits: Limits | None = None,
        manners: Manners | None = None,
        network: Network | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.manners = manners or Manners()
        self.network = network or Network()
        self._transport = transport
        self._clock = clock
        self._rules: OrderedDict[str, tuple[float, robots.Robots]] = OrderedDict()

    def check(self, url: str) -> Target:
        """Read a URL that we may visit.

        Raises:
            AddressRefused: We may not.
        """
        target = check_url(url, ports=self.network.ports, public=self.network.public)
        self.admit(target.host, target.port)
        return target

    def admit(self, host: str, port: int) -> None:
        """Check a host against the lists and the port against those of the web.

        Raises:
            AddressRefused: It is not to be visited.
        """
        if port not in self.network.ports:
            raise AddressRefused(f"Port {port} is not one of the web.")
        if _listed(self.manners.deny, host):
            raise AddressRefused(f"{host} is in web.deny_hosts.")
        if self.manners.allow and not _listed(self.manners.allow, host):
            raise AddressRefused(f"{host} is not in web.allow_hosts.")

    async def fetch(self, url: str, *, polite: bool = True) -> Fetched:
        """Fetch a page, wherever it leads.

        Args:
            url: What to fetch.
            polite: Whether robots.txt counts, if it counts at all.

        Raises:
            AddressRefused: A hop leads where we may not go.
            Denied: The site asks robots to leave this alone.
            Unavailable: There is no answer in time, or no end of redirects.
        """
        try:
            async with asyncio.timeout(self.limits.total):
                return await self._follow(
                    url, polite=polite and self.manners.robots, size=self.limits.size
                )
        except TimeoutError as error:
            raise Unavailable(
                f"{url} took longer than {self.limits.total:g} seconds.",
                hint="Try again, or another page.",
            ) from error

    async def look_ahead(self, url: str) -> None:
        """See whether a URL may be visited by somebody else: a browser, which goes there itself.

        Raises:
            AddressRefused: It leads where we may not go.
            Denied: The site asks robots to leave it alone.
        """
        target = self.check(url)
        await self._address(target)
        if self.manners.robots:
            await self._ask(target, origin_form(url))

    async def _follow(self, url: str, *, polite: bool, size: int) -> Fetched:
        for _ in range(self.limits.redirects + 1):
            target = self.check(url)
            if polite:
                await self._ask(target, origin_form(url))
            answer = await self._hop(target, origin_form(url), size)
            where = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not where:
                return Fetched(url=url, answer=answer)
            url = urljoin(url, where.replace(" ", "%20"))
        raise Unavailable(f"The page leads on more than {self.limits.redirects} times.")

    async def _hop(self, target: Target, path: str, size: int) -> Answer:
        address = await self._address(target)
        agent = self.manners.user_agent
        request = Request(
            target=target,
            address=address,
            path=path,
            headers={"User-Agent": agent} if agent else {},
            size=size,
        )
        return await self._in_time(target, self._transport.send(request))

    async def _address(self, target: Target) -> str:
        network = self.network
        found = checked(target.host, target.port, resolve=network.resolve, public=network.public)
        return await self._in_time(target, found)

    async def _in_time(self, target: Target, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await work
        except TimeoutError as error:
            raise Unavailable(
                f"{target.host} did not finish within {self.limits.timeout:g} seconds."
            ) from error

    async def _ask(self, target: Target, path: str) -> None:
        rules = await self._rules_of(target)
        if not rules.allows(path):
            raise Denied(
                f"The robots.txt of {target.host} asks to leave {path[:200]} alone.",
                hint="Look elsewhere; web.robots = false ignores such wishes.",
            )

    async def _rules_of(self, target: Target) -> robots.Robots:
        origin = origin_url(target)
        now = self._clock.monotonic()
        known = self._rules.get(origin)
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        rules = await self._read_rules(f"{origin}/robots.txt")
        self._rules[origin] = (now, rules)
        self._rules.move_to_end(origin)
        while len(self._rules) > _KEPT:
            self._rules.popitem(last=False)
        return rules

    async def _read_rules(self, url: str) -> robots.Robots:
        answer = (await self._follow(url, polite=False, size=robots.SIZE)).answer
        if answer.status >= _BROKEN:
            # As the standard wants it: who cannot say what is forbidden may have forbidden all.
            raise Unavailable(f"{url} cannot be read now (status {answer.status}).")
        if answer.status >= _MISSING:
            return robots.EVERYTHING
        # Half a rule would be another rule.
        body = answer.body.rpartition(b"\n")[0] if answer.cut else answer.body
        return robots.read(body.decode("utf-8", "replace"), AGENT)


def _listed(entries: Sequence[str], host: str) -> bool:
    return any(allows([entry], host, port) for entry in entries for port in WEB_PORTS)


def origin_url(target: Target) -> str:
    """The beginning of all URLs of a site."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{target.scheme}://{host}:{target.port}"


def origin_form(url: str) -> str:
    """Path and query, in ASCII."""
    parts = urlsplit(url)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]|")
    path = path if path.startswith("/") else f"/{path}"
    return f"{path}?{query}" if query else path
