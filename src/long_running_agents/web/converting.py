"""Turns foreign bytes into text, in a process of its own."""

import asyncio
import json
import sys

from pydantic import TypeAdapter, ValidationError

from long_running_agents.errors import Unavailable
from long_running_agents.web.inside.converting import Converted

_ANSWER: TypeAdapter[Converted] = TypeAdapter(Converted)
_MODULE = "long_running_agents.web.inside"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
_AT_ONCE = 2
_SHOWN = 300
"""Characters of a URL in a message."""
_LARGEST = 64 << 20
"""Bytes of an answer: more than any text that is kept, escaped in the worst way."""


class Converter:
    """Starts a process for each document; a hostile one ends with it."""

    def __init__(self, *, seconds: float = 15.0, most: int = 1_000_000) -> None:
        """Prepare it.

        Args:
            seconds: How long one document may take.
            most: How many characters of text are kept.
        """
        self._seconds = seconds
        self._most = most
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def convert(self, body: bytes, *, media_type: str, charset: str, url: str) -> Converted:
        """Turn a document into text.

        Raises:
            Unavailable: It cannot be read, or not in time.
        """
        shown = url[:_SHOWN]
        order = json.dumps(
            {
                "media_type": media_type,
                "charset": charset,
                "url": url,
                "most": self._most,
                "seconds": max(1, int(self._seconds)),
            }
        )
        async with self._turns:
            said = await self._run(order.encode() + b"\n" + body, shown)
        try:
            answer = _ANSWER.validate_json(said)
        except ValidationError as error:
            raise Unavailable(
                f"{shown} cannot be turned into text: it takes more time or memory than it may."
            ) from error
        if answer["error"]:
            raise Unavailable(f"{shown} cannot be turned into text: {answer['error']}.")
        return answer

    async def _run(self, given: bytes, url: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-m",
            _MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await _talk(process, given)
        except TimeoutError as error:
            raise Unavailable(
                f"{url} cannot be turned into text within {self._seconds:g} seconds."
            ) from error
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _talk(process: asyncio.subprocess.Process, given: bytes) -> bytes:
    assert process.stdin is not None  # noqa: S101 - asked for above
    assert process.stdout is not None  # noqa: S101 - as above
    feeding = asyncio.ensure_future(_feed(process.stdin, given))
    try:
        said = bytearray()
        while len(said) <= _LARGEST and (part := await process.stdout.read(1 << 16)):
            said += part
        return bytes(said)
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _feed(pipe: asyncio.StreamWriter, given: bytes) -> None:
    pipe.write(given)
    await pipe.drain()
    pipe.close()
