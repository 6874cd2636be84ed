"""The window is served to anybody, and shows nobody's data."""

import gzip
import re
from importlib import resources

import pytest
from tests.integration.server.serving import served

pytestmark = pytest.mark.anyio

STATIC = resources.files("long_running_agents.web") / "static"
NEEDS_TOKEN = {"gateway__require_token": True}


async def test_the_page_and_everything_it_loads_are_there_without_a_token(tmp_path):
    async with served(tmp_path, **NEEDS_TOKEN) as (_, client):
        page = await client.get("/")
        loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        answers = [await client.get(path) for path in loaded]
        assert (await client.get("/api/status")).status_code == 401

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert len(loaded) >= 3
    assert [answer.status_code for answer in answers] == [200] * len(answers)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/assets/index.js", "text/javascript; charset=utf-8"),
        ("/assets/index.css", "text/css; charset=utf-8"),
        ("/favicon.svg", "image/svg+xml"),
        ("/favicon.ico", "image/svg+xml"),
    ],
)
async def test_each_part_says_what_it_is(tmp_path, path, kind):
    async with served(tmp_path) as (_, client):
        answer = await client.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_page_may_load_nothing_from_elsewhere_and_nothing_inline(tmp_path):
    async with served(tmp_path) as (_, client):
        page = await client.get("/")

    policy = page.headers.get_list("content-security-policy")
    assert len(policy) == 1
    assert "default-src 'none'" in policy[0]
    assert "unsafe" not in policy[0]
    assert "http" not in policy[0]
    assert not re.search(r"<style|<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=", page.text)


async def test_a_browser_that_has_it_is_told_so(tmp_path):
    async with served(tmp_path) as (_, client):
        first = await client.get("/assets/index.js")
        tag = first.headers["etag"]
        again = await client.get("/assets/index.js", headers={"if-none-match": f'"x", {tag}'})
        changed = await client.get("/assets/index.js", headers={"if-none-match": '"x"'})

    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert changed.status_code == 200


async def test_it_is_packed_for_whoever_can_unpack_it(tmp_path):
    content = (STATIC / "assets" / "index.js").read_bytes()
    async with served(tmp_path) as (_, client):
        plain = await client.get("/assets/index.js", headers={"accept-encoding": "identity"})
        packed = await client.get("/assets/index.js", headers={"accept-encoding": "gzip"})

    assert (plain.content, "content-encoding" in plain.headers) == (content, False)
    assert (packed.content, packed.headers["content-encoding"]) == (content, "gzip")
    assert int(packed.headers["content-length"]) < len(content) / 2


async def test_its_head_says_how_long_it_is(tmp_path):
    async with served(tmp_path) as (_, client):
        answer = await client.head("/favicon.svg", headers={"accept-encoding": "identity"})

    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == len((STATIC / "favicon.svg").read_bytes())


@pytest.mark.parametrize(
    "path",
    [
        "/assets/..%2f..%2f__init__.py",
        "/assets/%2e%2e/index.html",
        "/assets/%2e%2e",
        "/assets/.hidden",
        "/assets/none.js",
        "/assets/",
        "/assets/a%00.js",
        "/assets/sub/index.js",
        "/index.html",
    ],
)
async def test_nothing_but_the_program_is_found(tmp_path, path):
    async with served(tmp_path) as (_, client):
        answer = await client.get(path)

    assert answer.status_code == 404
    assert answer.json()["type"] == "error"


async def test_only_looking_is_free(tmp_path):
    async with served(tmp_path, **NEEDS_TOKEN) as (_, client):
        assert (await client.post("/", json={})).status_code == 401
        assert (await client.delete("/assets/index.js")).status_code == 401


async def test_other_names_and_other_sites_get_no_window(tmp_path):
    async with served(tmp_path) as (_, client):
        renamed = await client.get("/", headers={"host": "evil.example"})
        embedded = await client.get(
            "/assets/index.js",
            headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        )

    assert renamed.status_code == 421
    assert embedded.status_code == 403


async def test_a_stale_cookie_does_not_lock_anybody_out(tmp_path):
    async with served(tmp_path, **NEEDS_TOKEN) as (_, client):
        for _ in range(50):
            answer = await client.get("/", headers={"cookie": "lra_token=lra_stale"})
            assert answer.status_code == 200


def test_the_program_is_as_small_as_it_shall_be():
    files = [each for each in (STATIC / "assets").iterdir() if each.is_file()]
    sizes = {each.name: len(gzip.compress(each.read_bytes(), mtime=0)) for each in files}

    assert sum(sizes.values()) < 250_000
    first = loaded_with("index.js") | loaded_with("chat.js")
    styles = {script.replace(".js", ".css") for script in first} & sizes.keys()
    assert "markdown.js" in first
    assert sum(sizes[name] for name in first | styles) < 120_000


def loaded_with(script, known=()):
    """A script of the program, and all that it imports before it can begin."""
    found = {script}
    text = (STATIC / "assets" / script).read_text(encoding="utf-8")
    for other in re.findall(r'(?:from|import)\s*["\']\./([\w-]+\.js)["\']', text):
        if other not in {script, *known}:
            found |= loaded_with(other, {script, *known})
    return found
