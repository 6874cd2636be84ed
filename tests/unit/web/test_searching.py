import json

import httpx2
import pytest

from long_running_agents.config.settings import WebSettings
from long_running_agents.errors import NotConfigured, Unavailable
from long_running_agents.testing import FrozenClock
from long_running_agents.web.convert import Converter
from long_running_agents.web.fetch import Fetcher, Network, TransportResponse
from long_running_agents.web.page import SearchResult
from long_running_agents.web.web import searcher_of

pytestmark = pytest.mark.anyio

PAGE = """<div class="results">
<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Ad</a>
<a class="result__snippet" href="https://duckduckgo.com/y.js?ad=1">Buy!</a></div>
<div class="result"><h2><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa%3Fb%3D1&amp;rut=x">
One &amp; only</a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fone.example%2Fa">The
 <b>first</b> one.</a></div>
<div class="result"><a class="result__a" href="https://two.example/">Two</a></div>
<div class="result"><a class="result__a" href="javascript:alert(1)">Three</a></div></div>"""
RESULTS = [
    SearchResult(title="One & only", url="https://one.example/a?b=1", snippet="The first one."),
    SearchResult(title="Two", url="https://two.example/", snippet=""),
]


class Search:
    """A provider that answers as it is told, and keeps what it was asked."""

    def __init__(self, status=200, body=b""):
        self.status = status
        self.body = body
        self.asked = []

    async def send(self, request):
        self.asked.append(request.url)
        return TransportResponse(status=self.status, headers={}, body=self.body)

    def handle(self, request):
        self.asked.append((str(request.url), dict(request.headers)))
        return httpx2.Response(self.status, content=self.body)


def searcher(search, variables=None, **settings):
    async def resolve(host, port):
        return ["93.184.215.14"]

    return searcher_of(
        WebSettings(**settings),
        variables or {},
        httpx2.AsyncClient(transport=httpx2.MockTransport(search.handle)),
        Fetcher(search, FrozenClock(), network=Network(resolve=resolve)),
        Converter(),
    )


async def test_duckduckgo_is_asked_by_default_and_advertisements_are_left_out():
    search = Search(body=PAGE.encode())

    assert await searcher(search).search("a b&c", 10) == RESULTS
    assert await searcher(search).search("a", 1) == RESULTS[:1]
    assert search.asked[0] == "https://html.duckduckgo.com:443/html/?q=a+b%26c"


@pytest.mark.parametrize(("status", "body"), [(202, PAGE.encode()), (200, b"<p>Are you human?")])
async def test_duckduckgo_that_wants_to_see_a_person_is_not_an_empty_search(status, body):
    with pytest.raises(Unavailable, match=r"web\.search_provider"):
        await searcher(Search(status, body)).search("a", 5)


async def test_duckduckgo_that_finds_nothing_says_so():
    assert await searcher(Search(body=b"<p>No results.</p>")).search("a", 5) == []


SEARXNG = {
    "results": [
        {"title": "One & only", "url": "https://one.example/a?b=1", "content": "The first\n one."},
        {"title": "Two", "url": "https://two.example/"},
        {"title": "Three", "url": "javascript:alert(1)"},
        "nonsense",
    ]
}


async def test_a_searxng_server_of_ones_own_may_be_on_this_machine():
    search = Search(body=json.dumps(SEARXNG).encode())
    found = searcher(search, search_provider="searxng", search_url="http://localhost:8888/")

    assert await found.search("a b", 10) == RESULTS
    assert search.asked[0][0] == "http://localhost:8888/search?q=a+b&format=json"


async def test_brave_gets_its_key_and_nobody_else_does():
    said = {"web": {"results": [{**SEARXNG["results"][0], "description": "The first one."}]}}
    search = Search(body=json.dumps(said).encode())
    found = searcher(search, {"BRAVE_API_KEY": "k3y"}, search_provider="brave")

    assert await found.search("a", 5) == RESULTS[:1]
    url, headers = search.asked[0]
    assert url == "https://api.search.brave.com/res/v1/web/search?q=a&count=5"
    assert headers["x-subscription-token"] == "k3y"


@pytest.mark.parametrize(
    ("provider", "words"), [("searxng", "search_url"), ("brave", "BRAVE_API_KEY")]
)
async def test_what_is_missing_is_named(provider, words):
    with pytest.raises(NotConfigured, match=words):
        searcher(Search(), search_provider=provider)


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"{}"), (302, b""), (200, b"<html>"), (200, b"[]"), (200, b"[" * 3_000_000)],
)
async def test_an_answer_that_is_none_is_not_an_empty_search(status, body):
    found = searcher(
        Search(status, body), search_provider="searxng", search_url="http://localhost:8888"
    )
    with pytest.raises(Unavailable, match="search at localhost:8888"):
        await found.search("a", 5)
