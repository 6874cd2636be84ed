"""The beginning of the prompt stays the same from step to step, so a provider's cache hits."""

import json
import re
from functools import cache
from itertools import pairwise, takewhile

import pytest
from tests.integration.stories import ended, hands

from long_running_agents.domain.tool import Effect
from long_running_agents.testing import ScriptedServer, call, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

STEPS = 60


class Player:
    """Plays replies in order, whatever the history looks like."""

    def __init__(self, *replies):
        self._replies = iter(replies)

    def reply_for(self, seen, served=None):
        return next(self._replies)


async def look_up(number: int) -> dict[str, str]:
    """Look something up."""
    return {"number": str(number), "found": "a sentence of some ten words or so, " * 3}


async def bodies(tmp_path, window, turns=1):
    """The requests of a run, for each turn one list."""
    steps = [call("look_up", number=n) for n in range(STEPS)]
    player = Player(*[reply for n in range(turns) for reply in (*steps, say(f"Answer {n}."))])
    async with (
        ScriptedServer(player) as server,
        make_app(
            tmp_path,
            toolsets=[hands(look_up, Effect.READ)],
            agent__model__model_id="any",
            agent__model__base_url=server.url,
            agent__model__context_window=window,
            agent__max_loop_iterations=STEPS + 1,
        ) as app,
    ):
        for number in range(turns):
            assert (await ended(app, f"Find out, {number}.")).answer == f"Answer {number}."
        return server.requests


def pieces(body):
    """The prompt in the order in which servers lay it out: tools, then the conversation."""
    return [json.dumps(piece) for piece in (body["tools"], *body["messages"])]


@cache
def tokens(piece):
    """Each piece is in all later prompts, too, so it is cut into tokens once."""
    return re.findall(r"\w+|\W", piece)


def length(prompt):
    return sum(len(tokens(piece)) for piece in prompt)


def common(first, second):
    same = list(takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    other = map(tokens, first[len(same) :][:1]), map(tokens, second[len(same) :][:1])
    begun = [pair for pairs in zip(*other, strict=False) for pair in zip(*pairs, strict=False)]
    more = takewhile(lambda pair: pair[0] == pair[1], begun)
    return length(piece for piece, _ in same) + sum(1 for _ in more)


def share(requests):
    """How much of all prompts but the first was at the beginning of the one before."""
    prompts = [pieces(body) for body in requests]
    hits = sum(common(first, second) for first, second in pairwise(prompts))
    return hits / sum(map(length, prompts[1:]))


@pytest.mark.parametrize("window", [None, 128_000])
async def test_each_step_begins_with_all_of_the_step_before(tmp_path, window):
    requests = await bodies(tmp_path, window)
    for first, second in pairwise(requests):
        assert second["tools"] == first["tools"]
        assert second["messages"][: len(first["messages"])] == first["messages"]
    assert share(requests) >= 0.95


@pytest.mark.parametrize("window", [None, 128_000])
async def test_so_does_the_next_turn(tmp_path, window):
    requests = await bodies(tmp_path, window, turns=3)
    last, following = requests[STEPS], requests[STEPS + 1]
    assert following["messages"][: len(last["messages"])] == last["messages"]
    assert share(requests) >= 0.95


@pytest.mark.parametrize(("window", "least"), [(4096, 0.85), (8192, 0.9), (16_384, 0.95)])
async def test_a_small_window_moves_by_leaps(tmp_path, window, least):
    requests = await bodies(tmp_path, window)
    moves = sum(
        second["messages"][: len(first["messages"])] != first["messages"]
        for first, second in pairwise(requests)
    )
    assert moves <= STEPS / 5
    assert share(requests) >= least
