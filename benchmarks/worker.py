"""One contender in a process of its own.

    python -m benchmarks.worker NAME MODEL_URL FOLDER

It says `{"ready": true}` or `{"left_out": WHY}`, then answers each line `turn KIND` with
`{"cpu_ms": …, "wall_ms": …}`, or with `{"left_out": WHY}` when it cannot run that kind.
It ends when stdin closes.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TextIO

from benchmarks.contenders import CONTENDERS, Contender, LeftOutError

AFTERMATH_SECONDS = 0.05
"""CPU is counted this long after the answer: work put off is still work of the turn."""


async def measure(contender: Contender, kind: str) -> dict[str, float]:
    """Run one turn; its CPU is that of every thread of this process."""
    await contender.prepare(kind)
    cpu = time.process_time()
    wall = time.perf_counter()
    await contender.turn(kind)
    wall = time.perf_counter() - wall
    await asyncio.sleep(AFTERMATH_SECONDS)
    cpu = time.process_time() - cpu
    return {"cpu_ms": cpu * 1000, "wall_ms": wall * 1000}


async def serve(name: str, url: str, folder: Path, replies: TextIO) -> None:
    """Open the contender and answer until stdin closes."""

    def reply(**message: object) -> None:
        print(json.dumps(message), file=replies, flush=True)

    try:
        contender = CONTENDERS[name]()
        await contender.open(url, folder)
    except LeftOutError as error:
        reply(left_out=str(error))
        return
    reply(ready=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        _, kind = line.split()
        try:
            reply(**await measure(contender, kind))
        except LeftOutError as error:
            reply(left_out=str(error))
    await contender.close()


def main() -> None:
    """Keep stdout for the protocol: whatever a library prints goes to stderr."""
    name, url, folder = sys.argv[1:]
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        asyncio.run(serve(name, url, Path(folder), replies))


if __name__ == "__main__":
    main()
