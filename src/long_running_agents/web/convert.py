"""Turns foreign bytes into text, in a process of its own."""

import asyncio
import json
import tempfile

from pydantic import TypeAdapter, ValidationError

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.sandbox import subprocess
from long_running_agents.web.inside.convert import Converted

_ANSWER: TypeAdapter[Converted] = TypeAdapter(Converted)
_MODULE = "long_running_agents.web.inside.convert"
_AT_ONCE = 2
_MEMORY = 1 << 30
_SHOWN = 300
"""Characters of a URL in a message."""
_LARGEST = 64 << 20
"""Bytes of an answer: more than any text that is kept, escaped in the worst way."""


class Converter:
    """Starts a process for each document; a hostile one ends with it."""

    def __init__(
        self, *, seconds: float = 15.0, most: int = 1_000_000, clock: Clock | None = None
    ) -> None:
        """Give one document so many seconds, and keep so many characters of its text."""
        self._bounds = subprocess.ProcessBounds(seconds=seconds, memory=_MEMORY, told=_LARGEST)
        self._most = most
        self._clock = clock or SystemClock()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def convert(self, body: bytes, *, media_type: str, charset: str, url: str) -> Converted:
        """Turn a document into text.

        Raises:
            Unavailable: It cannot be read, or not in time.
        """
        failed = f"{url[:_SHOWN]} cannot be turned into text"
        about = {"media_type": media_type, "charset": charset, "url": url, "most": self._most}
        async with self._turns:
            with tempfile.TemporaryFile(buffering=0) as file:
                file.write(body)
                request = {**about, "file": file.fileno()}
                report = await subprocess.run(
                    _MODULE, request, self._bounds, self._clock, file=file.fileno()
                )
        if not report.lines:
            raise Unavailable(f"{failed}: {report.cut_short or 'nothing came back'}.")
        try:
            # By way of JSON, which has no half characters.
            answer = _ANSWER.validate_json(json.dumps(report.lines[-1]))
        except ValidationError as error:
            raise Unavailable(f"{failed}: its text is broken.") from error
        if answer["error"]:
            raise Unavailable(f"{failed}: {answer['error']}.")
        return answer
