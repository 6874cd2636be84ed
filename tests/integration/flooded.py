"""A turn with a model server that sends too much, in a process whose memory can be measured.

Prints how the turn ended, what it said, and by how many megabytes the process grew at most.
"""

import asyncio
import itertools
import sys
from pathlib import Path

from tests.contract.raw_server import END, calls, event, raw_server

from long_running_agents.testing import make_app

MEGABYTES_OF_ARGUMENTS = 60


IN_ONE_LINE = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": '
    b'{"name": "write_file", "arguments": "'
)
MORE = event({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 65536}}]})
LONGEST = '{"path": "a.txt", "content": "' + "x" * 1_900_000 + '"}'
SENT = {
    "nothing": lambda: [event({"content": "Hi"}), END],
    "a text without an end": lambda: itertools.repeat(event({"content": "word " * 200})),
    "a line without an end": lambda: itertools.chain([b"data: "], itertools.repeat(b"x" * 65536)),
    "arguments in one line": lambda: itertools.chain(
        [IN_ONE_LINE],
        itertools.repeat(b"x" * 65536, MEGABYTES_OF_ARGUMENTS * 16),
        [b'"}}]}}]}\n\n', END],
    ),
    "arguments in pieces": lambda: itertools.chain(
        [event(calls("write_file", arguments="{"))],
        itertools.repeat(MORE, MEGABYTES_OF_ARGUMENTS * 16),
        [END],
    ),
    "the longest arguments that are taken": lambda: [
        event(calls("write_file", arguments=LONGEST)),
        END,
    ],
    "calls": lambda: [event(calls(*["list_files"] * 2000)), END],
}
"""What the server sends, piece by piece."""


def most():
    """The most memory this process has used, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


async def main(home, flood):
    now = ["nothing"]

    def sent():
        return SENT[now[0]]()

    async with raw_server(sent) as (url, asked):
        settings = {
            "agent__model__base_url": url,
            "agent__model__model_id": "m",
            "agent__max_loop_iterations": 1,
        }
        async with make_app(Path(home), **settings) as app:
            before = await turn(app)
            assert before.answer == "Hi"
            now[0], used, heard = flood, most(), len(asked)
            flooded = await turn(app)
            grown = most() - used
            print(flooded.status, round(grown), len(asked) - heard, flooded.error, sep="\n")  # noqa: T201 - whoever measures reads it


async def turn(app):
    begun = await app.turns.start("s", "Go")
    return await app.turns.settled(begun.id)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
