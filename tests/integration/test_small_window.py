"""A model with a small window works for a long time without one request that is too long."""

import json

import pytest
from tests.integration.stories import ended, hands

from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import (
    ScriptedServer,
    call,
    make_app,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

WINDOW = 4096


class InOrder:
    """Plays replies in order, whatever the history looks like."""

    def __init__(self, *replies):
        self._replies = iter(replies)

    def reply_for(self, messages, served=None):
        return next(self._replies)


async def look_up(number: int) -> str:
    """Look something up."""
    return f"Finding {number}: " + "word " * (number * 7 % 400)


async def test_two_hundred_steps(tmp_path):
    script = InOrder(*(call("look_up", number=n) for n in range(200)), say("42"))
    async with (
        ScriptedServer(script) as server,
        make_app(
            tmp_path,
            toolsets=[hands(look_up, Effect.READ)],
            agent__model__model_id="small",
            agent__model__base_url=server.url,
            agent__model__context_window=WINDOW,
            agent__max_loop_iterations=300,
        ) as app,
    ):
        turn = await ended(app, "Look up everything, then tell me the answer.")
        bodies = server.requests
    print(turn)
    ls = [len(json.dumps(b)) for b in bodies]
    print(ls)
    def flat(b): return json.dumps(b.get("tools")) + "".join(json.dumps(m) for m in b["messages"])
    sh=[]
    for a, b in zip(bodies, bodies[1:]):
        x, y = flat(a), flat(b)
        n = next((i for i, (p, q) in enumerate(zip(x, y)) if p != q), min(len(x), len(y)))
        sh.append((n, len(y)))
    print([round(n/m,2) for n,m in sh], sum(n for n,_ in sh)/sum(m for _,m in sh))
    print(bodies[-1])
    assert 0
