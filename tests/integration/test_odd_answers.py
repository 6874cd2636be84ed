"""Answers that cannot be stored as they are do not break the turn."""

import json

import pytest
from tests.contract.raw_server import END, calls, event, raw_server

from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import make_app

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

NEGATIVE = {"prompt_tokens": -5, "completion_tokens": -(10**30)}


async def test_half_letters_and_figures_that_cannot_be_leave_the_turn_whole(tmp_path):
    first = event({"content": "Wait\ud83d, "}) + event(
        calls("write_file", arguments=json.dumps({"path": "a.txt", "content": "half \udc00"}))
    )
    usage = b"data: " + json.dumps({"choices": [], "usage": NEGATIVE}).encode() + b"\n\n"
    last = event({"content": "done \ud800."})
    answers = iter([[first, usage, END], [last, usage, END]])
    async with raw_server(lambda: next(answers)) as (url, asked):
        settings = {"agent__model__base_url": url, "agent__model__model_id": "m"}
        async with make_app(tmp_path, **settings) as app:
            turn = await app.turns.start("s", "Go")
            turn = await app.turns.settled(turn.id)

    assert (turn.status, turn.answer) == (TurnStatus.DONE, "done \ufffd.")
    assert len(asked) == 2
