"""Functions that are called in a sandbox: what they are given, and who answers for them."""

import json

import pytest
from tests.contract.sandboxes import BACKENDS, opened

from long_running_agents.sandbox.base import MEGABYTE, FailureName, SandboxLimits, SandboxSpec

pytestmark = pytest.mark.anyio

SHAPES = '''
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0
    colour: Colour = Colour.BLUE


class Line(TypedDict):
    ends: list[Point]


def moved(line: Line, by: tuple[int, int], but: set[str], last: Point | None = None) -> list[Point]:
    """Points in other places."""
    ends = [*line["ends"], *([last] if last else [])]
    kept = [end for end in ends if end.colour.name not in but | {"GREEN"}]
    return [Point(end.x + by[0], end.y + by[1], end.colour) for end in kept]
'''


@pytest.fixture(params=BACKENDS)
async def sandbox(request):
    limits = SandboxLimits(timeout=20, memory=512 * MEGABYTE)
    async with opened(request.param, SandboxSpec(limits=limits)) as sandbox:
        yield sandbox


async def test_a_function_gets_and_returns_what_its_hints_name(sandbox):
    arguments = {
        "line": {"ends": [{"x": 1, "colour": "red"}, {"x": 2}]},
        "by": [10, 20],
        "but": ["RED"],
        "last": {"x": 3, "y": 4},
    }
    result = await sandbox.call(SHAPES, "moved", arguments)

    assert result.error is None
    assert result.value == [
        {"x": 12, "y": 20, "colour": "blue"},
        {"x": 13, "y": 24, "colour": "blue"},
    ]


async def test_a_function_whose_hints_mean_nothing_gets_its_arguments_as_they_are(sandbox):
    result = await sandbox.call(
        "def f(x: Unknown, y: 'no[type'): return [x, y]", "f", {"x": 1, "y": {}}
    )

    assert result.value == [1, {}]


@pytest.mark.parametrize("then", ["return 2", "raise KeyError(2)", "while True: pass"])
@pytest.mark.parametrize("closing", [True, False])
async def test_nobody_answers_in_place_of_a_function(sandbox, then, closing):
    frame = json.dumps({"value": 7})
    source = f"""
def f():
    for descriptor in range(3, 64):
        try:
            with open(descriptor, "wb", buffering=0, closefd={closing}) as pipe:
                pipe.write(({len(frame)}).to_bytes(4, "big") + {frame.encode()!r})
        except OSError:
            pass
    {then}
"""
    result = await sandbox.call(source, "f", {}, 1)

    assert result.error.name in (FailureName.PROTOCOL, FailureName.TIMEOUT)
    assert sandbox.alive
    assert (await sandbox.call("def f(): return 1", "f", {})).value == 1


async def test_an_answer_without_end_is_cut_short_and_the_state_is_kept(sandbox):
    await sandbox.execute("x = 1")
    result = await sandbox.call("def f(): return 'x' * 70_000_000", "f", {})

    assert result.error.name in (FailureName.OUTPUT, FailureName.MEMORY, "MemoryError")
    assert (await sandbox.execute("x")).display[0]["text/plain"] == "1"


async def test_memory_that_is_taken_bit_by_bit_is_called_by_its_name(sandbox):
    source = "def f():\n    kept = []\n    while True: kept.append([0] * 10_000)"
    result = await sandbox.call(source, "f", {}, memory=64 * MEGABYTE)

    assert result.error.name in (FailureName.MEMORY, "MemoryError")
    assert "memory" in result.error.message
