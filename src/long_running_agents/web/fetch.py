"""From a URL to an answer: limits, robots.txt, redirects checked hop by hop, transports."""

import asyncio
import re
import string
from collections import OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import AddressRefused, Denied, Unavailable
from long_running_agents.net.addresses import (
    WEB_PORTS,
    IsPublic,
    Resolver,
    Target,
    allows,
    check_url,
    checked,
    is_public,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """Bounds of one page. Every hop of it is within them."""

    timeout: float = 20.0
    """Seconds one request may take, from its first byte to its last."""
    total: float = 60.0
    """Seconds until all of it is here: robots.txt, redirects, and whatever a browser waits for."""
    size: int = 5_000_000
    """Bytes of a body, counted when they are unpacked."""
    redirects: int = 10
    text: int = 1_000_000
    """Characters of text that are kept of a page."""


SIZE = 500_000
"""Bytes that are read of a robots.txt."""
_MOST_RULES = 5000
_LONGEST = 2000
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_ASCII = "".join(map(chr, range(128)))
_UNRESERVED = frozenset(f"{string.ascii_letters}{string.digits}-._~")


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """One line: allow or disallow what begins like this."""

    allow: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether it speaks of a path. `*` is anything, and `$` at the end is the end."""
        ends = self.pattern.endswith("$")
        first, *rest = self.pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        place = len(first)
        # The earliest place for each part is never worse than a later one: nothing is tried twice.
        for number, part in enumerate(rest):
            last = ends and number == len(rest) - 1
            found = len(path) - len(part) if last else path.find(part, place)
            if found < place or not path.startswith(part, found):
                return False
            place = found + len(part)
        return not ends or place == len(path)


@dataclass(frozen=True, slots=True)
class RobotsTxt:
    """The rules that hold for us."""

    rules: tuple[RobotsRule, ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a path may be fetched: the longest rule decides, and a tie is a yes."""
        path = _plain(path)
        told = [rule for rule in self.rules if rule.matches(path)]
        best = max(told, key=lambda rule: (len(rule.pattern), rule.allow), default=None)
        return best is None or best.allow


EVERYTHING = RobotsTxt()
"""A site that asks for nothing."""


def read(text: str, agent: str) -> RobotsTxt:
    """The rules for an agent: those of its own groups, or of the groups for all."""
    groups: dict[str, list[RobotsRule]] = {}
    named: list[str] = []
    naming = False
    count = 0
    for line in text.splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            named = [*named, _token(value)] if naming else [_token(value)]
            naming = True
            groups.setdefault(named[-1], [])
        elif key in ("allow", "disallow"):
            naming = False
            count += 1
            if value and len(value) <= _LONGEST and count <= _MOST_RULES:
                rule = RobotsRule(key == "allow", _plain(value))
                for name in named:
                    groups[name].append(rule)
    # A group of our own counts even when it is empty: then everything is allowed.
    return RobotsTxt(tuple(groups.get(_token(agent), groups.get("*", ()))))


def _token(name: str) -> str:
    return name.partition("/")[0].strip().lower()


def _plain(path: str) -> str:
    """One way to write each path: no needless escapes, and the others in capitals."""

    def unescaped(found: re.Match[str]) -> str:
        sign = chr(int(found[1], 16))
        return sign if sign in _UNRESERVED else found[0].upper()

    return _ESCAPE.sub(unescaped, quote(path, safe=_ASCII, errors="replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportRequest:
    """What to ask, and whom."""

    target: Target
    address: str
    """Where to connect to, whatever the name means by then."""
    path: str
    """Path and query, in ASCII, beginning with a slash."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    size: int
    """Bytes of the body to take, once they are unpacked."""

    @property
    def url(self) -> str:
        """The URL in its plain form: nothing in it can be read in two ways."""
        return f"{origin_url(self.target)}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportResponse:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By their names in small letters; of two with one name, the first."""
    body: bytes
    """Unpacked."""
    cut: bool = False
    """Whether there was more."""


class Transport(Protocol):
    """Carries a request out."""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Ask, and follow no redirect.

        Raises:
            Unavailable: There was no answer, or none that can be read.
        """
        ...


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
    answer: TransportResponse


@dataclass(eq=False)
class Fetcher:
    """Fetches, hop by hop."""

    transport: Transport
    clock: Clock
    limits: PageLimits = PageLimits()
    manners: Manners = Manners()
    network: Network = Network()
    _rules: OrderedDict[str, tuple[float, RobotsTxt]] = field(
        default_factory=OrderedDict[str, tuple[float, RobotsTxt]], init=False
    )

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
        """Fetch a page, wherever it leads; robots.txt counts if we are to be polite.

        Raises:
            AddressRefused: A hop leads where we may not go.
            Denied: The site asks robots to leave this alone.
            Unavailable: There is no answer in time, or no end of redirects.
        """
        polite = polite and self.manners.robots
        try:
            async with asyncio.timeout(self.limits.total):
                return await self._follow(url, polite=polite, size=self.limits.size)
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

    async def _hop(self, target: Target, path: str, size: int) -> TransportResponse:
        address = await self._address(target)
        agent = self.manners.user_agent
        headers = {"User-Agent": agent} if agent else {}
        request = TransportRequest(
            target=target, address=address, path=path, headers=headers, size=size
        )
        return await self._in_time(target, self.transport.send(request))

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

    async def _rules_of(self, target: Target) -> RobotsTxt:
        origin = origin_url(target)
        now = self.clock.monotonic()
        known = self._rules.get(origin)
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        rules = await self._read_rules(f"{origin}/robots.txt")
        self._rules[origin] = (now, rules)
        self._rules.move_to_end(origin)
        while len(self._rules) > _KEPT:
            self._rules.popitem(last=False)
        return rules

    async def _read_rules(self, url: str) -> RobotsTxt:
        answer = (await self._follow(url, polite=False, size=SIZE)).answer
        if answer.status >= _BROKEN:
            # As the standard wants it: who cannot say what is forbidden may have forbidden all.
            raise Unavailable(f"{url} cannot be read now (status {answer.status}).")
        if answer.status >= _MISSING:
            return EVERYTHING
        # Half a rule would be another rule.
        body = answer.body.rpartition(b"\n")[0] if answer.cut else answer.body
        return read(body.decode("utf-8", "replace"), AGENT)


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
