"""Documents that are made to hurt whoever reads them: each is read in bounds, or given up."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from long_running_agents.errors import Unavailable
from long_running_agents.web.convert import Converter

pytestmark = pytest.mark.anyio

MANY = 100_000
HOSTILE = {
    "nested": "<div>" * MANY + "text" + "</div>" * MANY,
    "bold": "<b>" * MANY + "text",
    "lists": "<ul><li>" * 20_000 + "text",
    "quotes": "<blockquote>" * 20_000 + "text",
    "tables": "<table><tr><td>" * 20_000 + "text",
    "one long attribute": f'<p a="{"x" * 4_000_000}">text</p>',
    "many attributes": f"<p {' '.join(f'a{number}=1' for number in range(200_000))}>text</p>",
    "only beginnings": "<" * 2_000_000,
    "unclosed": '<a href="' * 200_000,
    "comments": "<!--" * 500_000,
    "misnested": "".join(f"<b id={number}><p>" for number in range(5000)),
    "spaces": f"<p>{' ' * 2_000_000}text",
    "style sheets": f"<style>{'.a{display:none}' * 50_000}</style><p>text" * 3,
    "unclosed style sheets": "<style>" * 300_000,
    "rules without end": f"<style>{'a{' * 100_000}</style>text",
    "images": "![" * 500_000,
    "images in images": f"<p>{'![a](' * 200_000}",
    "lines": "<br>" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_document_takes_more_than_its_time(name):
    began = time.monotonic()

    try:
        page = await Converter(seconds=10.0).convert(
            HOSTILE[name].encode(), media_type="text/html", charset="", url="https://site.test/"
        )
    except Unavailable as error:
        assert "cannot be turned into text" in error.message  # noqa: PT017 - either will do
    else:
        assert len(page["text"]) <= 1_000_000
    assert time.monotonic() - began < 15


def environment_of(words):
    """What a process whose command has these words sees of its environment."""
    for folder in list(Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(OSError):
            if words in (folder / "cmdline").read_bytes():
                return (folder / "environ").read_bytes()
    return None


async def test_a_reader_sees_nothing_of_our_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k3y")
    reading = asyncio.ensure_future(
        Converter().convert(
            HOSTILE["lines"].encode(), media_type="text/html", charset="", url="https://site.test/"
        )
    )
    seen = None
    while seen is None:
        assert not reading.done()
        await asyncio.sleep(0)
        seen = environment_of(b"long_running_agents.web.inside")

    assert seen == b""
    await reading


async def test_a_document_that_takes_too_long_is_given_up():
    with pytest.raises(Unavailable, match=r"took longer than 0\.0001 seconds"):
        await Converter(seconds=0.0001).convert(
            b"<p>text", media_type="text/html", charset="", url="https://site.test/"
        )
