"""What contenders for deep work have in common: a whole work, and going on with it after a death.

    python -m benchmarks.contenders.deep_NAME MODEL_URL FOLDER

It says `{"ready": true}`, then answers each line of JSON, `{"run": NAME, "goal": TEXT}` or
`{"run": NAME}` for a work that was under way when the process died, with what it claims of it.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TextIO, TypedDict

STATUS = "completed"
"""What a task that is done is called, in the lists of all."""


class Claim(TypedDict):
    """What a contender says of a work that it has left."""

    listed: bool
    """Whether what it keeps of tasks says that all are done."""
    answer: str
    """The last words of its model."""
    state: str
    """Where it stands, in its own words."""


class DeepContender(Protocol):
    """A product that works through a plan in a folder."""

    async def open(self, url: str, folder: Path) -> None:
        """Get ready to talk to the model at `url`; files go to `folder / "files"`."""
        ...

    async def work(self, run: str, goal: str) -> Claim:
        """Carry out a work until it needs somebody, or is done."""
        ...

    async def resume(self, run: str) -> Claim:
        """Go on with a work in a new process, as the product's documents say."""
        ...

    async def close(self) -> None:
        """Give everything back."""
        ...


def claim(statuses: Sequence[str], answer: str) -> Claim:
    """What a contender with a list claims that has no state of its own for a whole work."""
    done = sum(status == STATUS for status in statuses)
    listed = bool(statuses) and done == len(statuses)
    return Claim(listed=listed, answer=answer, state=f"{done} of {len(statuses)} listed as done")


async def answer_lines(contender: DeepContender, replies: TextIO) -> None:
    """Open the contender and answer until stdin closes."""

    def reply(message: object) -> None:
        print(json.dumps(message), file=replies, flush=True)

    url, folder = sys.argv[1:]
    (Path(folder) / "files").mkdir(parents=True, exist_ok=True)
    await contender.open(url, Path(folder))
    reply({"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        if "goal" in asked:
            reply(await contender.work(asked["run"], asked["goal"]))
        else:
            reply(await contender.resume(asked["run"]))
    await contender.close()


def serve(contender: DeepContender) -> None:
    """Keep stdout for the protocol: whatever a library prints goes to stderr."""
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        asyncio.run(answer_lines(contender, replies))
