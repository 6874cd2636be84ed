"""Fetching from a hostile site: nothing gets out of bounds, and nothing goes where it must not."""

import asyncio
import ssl
import time

import pytest
import trustme
from tests.contract.hostile_web import (
    HTML,
    answer,
    bombs,
    endless,
    hostile_web,
    pdf,
    pdf_bomb,
    redirect,
    silent,
    talkative,
)

from long_running_agents.errors import AddressRefused, Denied, LimitReached, Unavailable, UsageError
from long_running_agents.testing import FrozenClock
from long_running_agents.web.convert import Converter
from long_running_agents.web.curl import CurlTransport
from long_running_agents.web.fetch import Fetcher, Manners, Network, PageLimits
from long_running_agents.web.web import Web

pytestmark = pytest.mark.anyio

HERE = "127.0.0.1"
SITE = "site.test"
PRIVATE = "private.test"


class Names:
    """Looks names up: one is private, others are here; it keeps what it was asked."""

    def __init__(self, *answers):
        self.asked = []
        self._answers = list(answers)

    async def __call__(self, host, port):
        self.asked.append(host)
        if self._answers:
            return [self._answers.pop(0)]
        return ["127.0.0.9" if host == PRIVATE else HERE]


class Visitor:
    """Somebody for whom this machine's loopback is the open internet."""

    def __init__(
        self, site, *, names=None, transport=None, robots=False, public=HERE.__eq__, **manners
    ):
        self._public = public
        self.site = site
        self.names = names or Names()
        self._transport = transport or CurlTransport()
        self._manners = Manners(robots=robots, **manners)
        self.clock = FrozenClock()

    def web(self, **limits):
        network = Network(
            resolve=self.names,
            public=self._public,
            ports=frozenset({self.site.port}),
        )
        fetcher = Fetcher(
            self._transport, self.clock, manners=self._manners, network=network,
            limits=PageLimits(**{"timeout": 10.0, "total": 30.0, **limits}),
        )  # fmt: skip
        return Web(fetcher, Converter(seconds=20.0), lambda: None, None, self.clock)

    async def read(self, path, *, host=SITE, scheme="http", **limits):
        return await self.web(**limits).fetch(self.url(path, host, scheme))

    def url(self, path, host=SITE, scheme="http"):
        return f"{scheme}://{host}:{self.site.port}{path}"


@pytest.fixture
async def site():
    async with hostile_web() as web:
        yield web


@pytest.fixture
def visitor(site):
    return Visitor(site)


async def test_a_page_is_read_as_markdown(site, visitor):
    site.pages["/a"] = answer(
        b"<title>A page</title><h1>Head</h1><p>Some <b>text</b>, <a href='/b'>on</a>."
    )

    page = await visitor.read("/a?q=1#part")

    assert (page.status, page.media_type, page.title) == (200, "text/html", "A page")
    assert page.text == f"# Head\n\nSome **text**, [on]({visitor.url('/b')})."
    assert site.asked == [(SITE, "/a?q=1")]
    assert (page.fetched_at, page.notes) == (visitor.clock.now(), ())


async def test_it_asks_as_a_browser_does_or_as_it_is_told(site, visitor):
    site.pages["/a"] = answer(b"x")
    await visitor.read("/a")
    await Visitor(site, user_agent="me/1.0").read("/a")

    as_browser, as_told = site.heads
    assert "Chrome/" in as_browser
    assert "Accept-Encoding: gzip, deflate, br, zstd" in as_browser
    assert "User-Agent: me/1.0" in as_told
    assert "Chrome/" not in as_told.partition("User-Agent: ")[2].partition("\r\n")[0]


async def test_a_page_that_is_missing_says_so(visitor):
    page = await visitor.read("/nothing")

    assert (page.status, page.text) == (404, "missing")


async def test_redirects_are_followed_hop_by_hop(site, visitor):
    site.pages["/a"] = redirect("/b?x=ä b")
    site.pages["/b"] = redirect(visitor.url("/c", "other.test"), "308 Permanent Redirect")
    site.pages["/c"] = answer(b"there")

    page = await visitor.read("/a")

    assert (page.text, page.final_url) == ("there", visitor.url("/c", "other.test"))
    assert site.asked == [(SITE, "/a"), (SITE, "/b?x=%C3%A4%20b"), ("other.test", "/c")]
    assert visitor.names.asked == [SITE, SITE, "other.test"]


async def test_redirects_without_end_are_ended(site, visitor):
    site.pages["/a"] = redirect("/a")

    with pytest.raises(Unavailable, match="more than 10 times"):
        await visitor.read("/a")
    assert len(site.asked) == 11


@pytest.mark.parametrize(
    "where",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.9/",
        "http://[::1]/",
        "//localhost/",
        "file:///etc/passwd",
        "gopher://site.test/",
        "http://site.test:22/",
        "http://user:word@site.test/",
    ],
)
async def test_a_redirect_to_inside_is_refused(site, visitor, where):
    site.pages["/a"] = redirect(where)

    with pytest.raises(AddressRefused):
        await visitor.read("/a")
    assert len(site.asked) == 1


async def test_a_redirect_to_a_name_that_is_inside_is_refused(site, visitor):
    site.pages["/a"] = redirect(visitor.url("/secret", PRIVATE))

    with pytest.raises(AddressRefused, match=PRIVATE):
        await visitor.read("/a")
    assert len(site.asked) == 1


async def test_a_name_that_changes_its_mind_changes_nothing(site):
    """The second look-up would give a private address; there is none within a hop."""
    visitor = Visitor(site, names=Names(HERE, "127.0.0.9"))
    site.pages["/a"] = answer(b"public")
    assert (await visitor.read("/a")).text == "public"
    assert visitor.names.asked == [SITE]

    visitor = Visitor(site, names=Names(HERE, "127.0.0.9"))
    site.pages["/a"] = redirect("/a")
    with pytest.raises(AddressRefused):
        await visitor.read("/a")
    assert len(site.asked) == 2


async def test_a_page_at_a_bare_address_is_read(site):
    visitor = Visitor(site, names=Names(HERE))
    site.pages["/a"] = answer(b"bare")

    assert (await visitor.read("/a", host=HERE)).text == "bare"


@pytest.mark.parametrize("host", ["[::1]", SITE])
async def test_a_page_is_read_by_the_new_protocol_too(host):
    async with hostile_web(host="::1") as site:
        site.pages["/a"] = answer(b"six")
        visitor = Visitor(site, names=Names("0:0:0:0:0:0:0:1"), public=lambda _: True)

        assert (await visitor.read("/a", host=host)).text == "six"


async def test_no_proxy_of_the_environment_is_used(site, visitor, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.pages["/a"] = answer(b"direct")

    assert (await visitor.read("/a")).text == "direct"


@pytest.mark.parametrize("path", ["/gzip", "/twice"])
async def test_a_bomb_is_defused_where_it_is_unpacked(site, visitor, path):
    site.pages = bombs()

    page = await visitor.read(path, size=100_000)

    assert page.notes[0] == "Only the first 100000 bytes were taken."


async def test_a_body_without_end_is_cut(site, visitor):
    site.pages["/a"] = endless

    page = await visitor.read("/a", size=50_000)

    assert len(page.text) in (49_999, 50_000)
    assert page.notes == ("Only the first 50000 bytes were taken.",)


@pytest.mark.parametrize(
    ("page", "words"), [(silent, "did not finish within"), (talkative, "did not answer")]
)
async def test_a_site_that_does_not_come_to_an_end_is_given_up(site, visitor, page, words):
    site.pages["/a"] = page
    began = time.monotonic()

    with pytest.raises(Unavailable, match=words):
        await visitor.read("/a", timeout=0.5)
    assert time.monotonic() - began < 10


async def test_many_slow_hops_are_given_up_together(site, visitor):
    async def slow(reader, writer):
        await asyncio.sleep(0.2)
        writer.write(redirect("/a"))

    site.pages["/a"] = slow

    with pytest.raises(Unavailable, match=r"took longer than 0\.5 seconds"):
        await visitor.read("/a", timeout=5.0, total=0.5)


@pytest.mark.parametrize(
    ("body", "head", "text"),
    [
        ("Grüße".encode(), "text/plain; charset=utf-8", "Grüße"),
        ("Grüße".encode("cp1252"), "text/plain; charset=iso-8859-1", "Grüße"),
        ("Grüße".encode("cp1252"), "text/plain", "Grüße"),
        ("\ufeffGrüße".encode("utf-16-le"), "text/plain; charset=utf-8", "Grüße"),
        ("привет".encode("koi8-r"), "text/plain; charset=KOI8-R", "привет"),
        ("こんにちは".encode("cp932"), "text/html; charset=Shift_JIS", "こんにちは"),
        ('<meta charset="gb2312"><p>你好'.encode("gb18030"), "text/html", "你好"),
        ("Grüße".encode(), "text/plain; charset=rot13", "Grüße"),
        ("Grüße".encode(), "text/plain; charset=zlib", "Grüße"),
        ("Grüße".encode(), "text/plain; charset=no-such-thing", "Grüße"),
        (b"\xff\xffabc", "text/plain; charset=utf-8", "\ufffd\ufffdabc"),
    ],
)
async def test_charsets_are_read_as_browsers_read_them(site, visitor, body, head, text):
    site.pages["/a"] = answer(body, b"Content-Type: %s\r\n" % head.encode())

    assert text in (await visitor.read("/a")).text


async def test_a_pdf_is_read(site, visitor):
    site.pages["/a.pdf"] = answer(pdf(), b"Content-Type: application/octet-stream\r\n")

    page = await visitor.read("/a.pdf")

    assert (page.media_type, page.text) == ("application/pdf", "Hello from a PDF")


@pytest.mark.parametrize("make", [lambda: b"%PDF-1.7\nnothing more", pdf_bomb])
async def test_a_pdf_that_is_broken_or_a_bomb_is_refused(site, visitor, make):
    site.pages["/a.pdf"] = answer(make(), b"Content-Type: application/pdf\r\n")

    with pytest.raises(Unavailable, match="cannot be turned into text"):
        await visitor.read("/a.pdf")


async def test_a_pdf_that_is_too_long_is_not_read_in_part(site, visitor):
    site.pages["/a.pdf"] = answer(pdf(), b"Content-Type: application/pdf\r\n")

    with pytest.raises(LimitReached, match="more than 100 bytes"):
        await visitor.read("/a.pdf", size=100)


async def test_what_is_no_text_is_refused(site, visitor):
    site.pages["/a"] = answer(b"\x89PNG", b"Content-Type: image/png\r\n")

    with pytest.raises(UsageError, match="image/png"):
        await visitor.read("/a")


async def test_a_body_that_lies_about_how_it_is_packed_is_refused(site, visitor):
    site.pages["/a"] = answer(b"not packed", HTML + b"Content-Encoding: gzip\r\n")

    with pytest.raises(Unavailable, match="did not answer"):
        await visitor.read("/a")


ROBOTS = b"User-agent: *\nDisallow: /secret\nUser-agent: long-running-agents\nDisallow: /ours"


async def test_robots_are_respected_and_asked_once(site):
    site.pages["/robots.txt"] = answer(ROBOTS, b"Content-Type: text/plain\r\n")
    site.pages["/secret"] = answer(b"for others only")
    web = Visitor(site, robots=True).web()

    url = f"http://{SITE}:{site.port}"
    assert (await web.fetch(f"{url}/secret")).text == "for others only"
    with pytest.raises(Denied, match="asks to leave /ours/x alone"):
        await web.fetch(f"{url}/ours/x")
    assert site.asked == [(SITE, "/robots.txt"), (SITE, "/secret")]


async def test_robots_count_where_a_redirect_leads(site):
    visitor = Visitor(site, robots=True)
    site.pages["/robots.txt"] = answer(ROBOTS)
    site.pages["/a"] = redirect("/ours")

    with pytest.raises(Denied):
        await visitor.read("/a")


async def test_a_site_whose_robots_cannot_be_read_is_left_alone(site):
    site.pages["/robots.txt"] = answer(b"", status="503 Service Unavailable")

    with pytest.raises(Unavailable, match=r"robots\.txt cannot be read"):
        await Visitor(site, robots=True).read("/a")


async def test_robots_that_are_a_redirect_to_inside_are_refused(site):
    site.pages["/robots.txt"] = redirect("http://169.254.169.254/")

    with pytest.raises(AddressRefused):
        await Visitor(site, robots=True).read("/a")


@pytest.mark.parametrize(
    ("manners", "allowed"),
    [
        ({"allow": ["site.test"]}, True),
        ({"allow": ["*.site.test"]}, False),
        ({"deny": ["site.test"]}, False),
        ({"deny": ["other.test"]}, True),
    ],
)
async def test_hosts_can_be_allowed_and_denied(site, manners, allowed):
    site.pages["/a"] = answer(b"x")
    visitor = Visitor(site, **manners)

    if allowed:
        assert (await visitor.read("/a")).text == "x"
    else:
        with pytest.raises(AddressRefused, match="hosts"):
            await visitor.read("/a")
        assert site.asked == []


async def test_a_long_page_is_read_on_without_fetching_it_again(site, visitor):
    site.pages["/a"] = answer(b"a" * 100, b"Content-Type: text/plain\r\n")
    web = visitor.web()

    first = await web.fetch(visitor.url("/a"))
    again = await web.fetch(visitor.url("/a"), start=50)
    assert again is first
    assert len(site.asked) == 1
    await web.fetch(visitor.url("/a"))
    assert len(site.asked) == 2


@pytest.fixture
def authority(tmp_path):
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made, tmp_path / "ca.pem"


async def test_https_shows_the_name_and_checks_it(authority):
    authority, path = authority
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(SITE).configure_cert(context)
    names = []
    context.sni_callback = lambda _, name, __: names.append(name)
    async with hostile_web(context) as site:
        site.pages["/a"] = answer(b"safe")
        visitor = Visitor(site, transport=CurlTransport(authorities=path))

        assert (await visitor.read("/a", scheme="https")).text == "safe"
        assert names == [SITE]
        with pytest.raises(Unavailable, match="SSL"):
            await visitor.read("/a", host="other.test", scheme="https")
        with pytest.raises(Unavailable, match="SSL"):
            await Visitor(site).read("/a", scheme="https")
        assert site.asked == [(SITE, "/a")]


async def test_the_handshake_is_that_of_a_browser():
    hellos = asyncio.Queue()

    async def greeted(reader, writer):
        head = await reader.readexactly(5)
        await hellos.put(await reader.readexactly(int.from_bytes(head[3:5])))
        writer.close()

    server = await asyncio.start_server(greeted, HERE, 0)
    async with server:

        class Site:
            port = server.sockets[0].getsockname()[1]

        with pytest.raises(Unavailable):
            await Visitor(Site).read("/", scheme="https")
        hello = await hellos.get()

    # Chrome begins its list of ciphers with a number that means nothing, to keep servers honest.
    ciphers = hello[4 + 2 + 32 + 1 + hello[38] + 2 :]
    assert ciphers[0] == ciphers[1]
    assert ciphers[0] & 0x0F == 0x0A
