"""A model with a small window works for a long time without one request that is too long."""

import io
import json
import sys

import pytest
from tests.integration.stories import SESSION, ended, hands

from long_running_agents.app import open_app
from long_running_agents.cli.main import run
from long_running_agents.config import load
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import ConfigError
from long_running_agents.store import messages
from long_running_agents.testing import (
    Quirk,
    ScriptedModel,
    ScriptedServer,
    ToolCall,
    call,
    calls,
    fail,
    make_app,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

WINDOW = 4096
ANSWER = 1024
STEPS = 200


class Player:
    """Plays replies in order, whatever the history looks like, as far as it was not cut."""

    def __init__(self, *replies, tokens=None, holds=None):
        self._replies = iter(replies)
        self._tokens = tokens
        self._holds = holds
        self.refused = 0

    def reply_for(self, seen, served=None):
        assert seen[0]["role"] == "system", "the server has cut the beginning off"
        length = len(json.dumps(seen, ensure_ascii=False))
        if self._holds is not None and length // 3 > self._holds:
            self.refused += 1
            return fail(400, message=f"maximum context length is {self._holds} tokens")
        reply = next(self._replies)
        if self._tokens is None:
            return reply
        counted = int(length * self._tokens)
        return say(reply.text, calls=reply.calls, input_tokens=counted, output_tokens=1)


async def look_up(number: int) -> str:
    """Look something up."""
    return f"Finding {number}: " + "word " * (number * 7 % 400)


def small(tmp_path, server, *functions, window=WINDOW, **settings):
    return make_app(
        tmp_path,
        toolsets=[hands(function, Effect.READ) for function in functions],
        agent__model__model_id="small",
        agent__model__base_url=server.url,
        agent__model__context_window=window,
        agent__max_loop_iterations=STEPS + 100,
        **settings,
    )


def length(body):
    return len(json.dumps(body, ensure_ascii=False))


def prompt(messages_sent):
    return " ".join(
        str(part.content) for m in messages_sent for part in m.parts if hasattr(part, "content")
    )


@pytest.mark.parametrize("quirk", [Quirk.SILENT_TRUNCATION, Quirk.NO_USAGE])
async def test_two_hundred_steps_without_one_overflow(tmp_path, quirk):
    player = Player(*(call("look_up", number=n) for n in range(STEPS)), say("42"))
    async with (
        ScriptedServer(player, quirks=[quirk, Quirk.UNANSWERED_CALL_REFUSED]) as server,
        small(tmp_path, server, look_up) as app,
    ):
        turn = await ended(app, "Look up everything, then tell me the answer.")
        sent = [length(body) for body in server.requests]
        log = await app.database.read(lambda tx: messages.of_turn(tx, turn.id))

    assert (turn.status, turn.answer) == (TurnStatus.DONE, "42")
    assert turn.spent.steps == len(sent) == STEPS + 1
    # As the server counts, with room for the answer; and even if it counted a third more.
    assert max(sent) / 4 <= WINDOW - ANSWER
    assert max(sent) / 3 <= WINDOW
    whole = sum(len(message.body) for message in log)
    assert whole > 50 * WINDOW
    assert not any("not shown" in message.body for message in log)


async def test_a_tokenizer_that_needs_twice_as_many_is_found_out(tmp_path):
    player = Player(*(call("look_up", number=n) for n in range(40)), say("42"), tokens=1 / 2)
    async with ScriptedServer(player) as server, small(tmp_path, server, look_up) as app:
        turn = await ended(app, "Look up everything.")
        sent = [len(json.dumps(body["messages"], ensure_ascii=False)) for body in server.requests]
    assert turn.answer == "42"
    assert max(sent) / 2 <= WINDOW


async def test_what_was_cut_can_be_read_on(tmp_path):
    async def report() -> str:
        return "x" * 5000 + "the end"

    model = ScriptedModel(
        [
            calls(ToolCall("report", {}, "c1")),
            call("read_result", call_id="c1", offset=4900),
            say("Read."),
        ]
    )
    async with make_app(
        tmp_path, model=model, toolsets=[hands(report)], agent__model__context_window=WINDOW
    ) as app:
        await ended(app, "Read the report.")
    assert "read_result(call_id='c1', offset=1600)" in prompt(model.requests[1])
    assert "the end" not in prompt(model.requests[1])
    assert "the end" in prompt(model.requests[2])


async def test_many_results_at_once_are_shown_shorter(tmp_path):
    async def report(number: int) -> str:
        return f"{number}" * 3000

    player = Player(calls(*(call("report", number=n) for n in range(8))), say("Read."))
    async with ScriptedServer(player) as server, small(tmp_path, server, report) as app:
        assert (await ended(app, "Read the reports.")).answer == "Read."
        assert length(server.requests[-1]) / 3 <= WINDOW


async def test_earlier_turns_make_room_and_the_message_stays(tmp_path):
    player = Player(*(say(f"Answer {n}. " + "word " * 100) for n in range(30)))
    async with ScriptedServer(player) as server, small(tmp_path, server) as app:
        for number in range(30):
            await ended(app, f"Question {number}? " + "word " * 50)
        sent = server.requests
    assert max(length(body) for body in sent) / 3 <= WINDOW
    last = sent[-1]["messages"]
    assert last[-1]["content"].startswith("Question 29?")
    assert "left out" in last[1]["content"]


async def test_few_tools_are_offered_and_others_are_found(tmp_path):
    asked = []

    def crowd(number):
        async def poke(detail: str) -> str:
            return detail

        poke.__doc__ = f"Poke the number {number} of the crowd. It does no harm."
        poke.__name__ = f"poke_{number}"
        return poke

    async def water_plants(room: str) -> str:
        """Water the plants. All of them."""
        asked.append(room)
        return "watered"

    player = Player(
        call("search_tools", query="water a plant"),
        call("water_plants", room="hall"),
        say("Done."),
    )
    async with (
        ScriptedServer(player) as server,
        small(tmp_path, server, *map(crowd, range(50)), water_plants) as app,
    ):
        turn = await ended(app, "Make a task for the crowd.")
        offered = [[tool["function"]["name"] for tool in body["tools"]] for body in server.requests]
        shares = [length(body["tools"]) / 3 / WINDOW for body in server.requests]
    assert turn.answer == "Done."
    assert asked == ["hall"]
    assert {"create_task", "search_tools"} <= set(offered[0])
    assert "water_plants" not in offered[0]
    assert len(offered[0]) < 15
    assert offered[1] == offered[2] == [*offered[0], "water_plants"]
    assert max(shares) < 0.4


async def test_a_refusal_teaches_the_window_once(tmp_path):
    player = Player(*(call("look_up", number=n) for n in range(40)), say("42"), holds=3000)
    async with (
        ScriptedServer(player) as server,
        small(tmp_path, server, look_up, window=None) as app,
    ):
        turn = await ended(app, "Look up everything.")
    assert (turn.status, turn.answer) == (TurnStatus.DONE, "42")
    assert player.refused == 1


async def test_a_turn_goes_on_after_a_restart(tmp_path):
    silent = [Quirk.NO_USAGE]
    first = Player(*(call("look_up", number=n) for n in range(30)), fail(401))
    async with (
        ScriptedServer(first, quirks=silent) as server,
        small(tmp_path, server, look_up) as app,
    ):
        assert (await ended(app, "Look up everything.")).status is TurnStatus.FAILED
        before = server.requests[-1]
    second = Player(say("42"))
    async with (
        ScriptedServer(second, quirks=silent) as server,
        small(tmp_path, server, look_up) as app,
    ):
        turn = await app.turns.retry(SESSION)
        assert (await app.turns.settled(turn.id)).answer == "42"
        [after] = server.requests
    assert after["messages"] == before["messages"]


@pytest.mark.parametrize(("first", "second"), [(20_000, 2500), (2500, 20_000)])
async def test_a_fallback_is_shown_what_its_own_window_holds(tmp_path, first, second):
    player = Player(*(say("ok") for _ in range(6)), fail(401), say("three"))
    async with ScriptedServer(player) as server:
        flags = {
            "agent.model.provider": "ollama",
            "agent.model.model_id": "asked-1b",
            "agent.model.base_url": server.url,
            "agent.model.fallback": ("ollama:fallback-1b",),
        }
        windows = {"ollama:asked-1b": first, "ollama:fallback-1b": second}
        loaded = load(home=tmp_path, environ={}, flags=flags)
        async with open_app(loaded, windows=windows.get) as app:
            for _ in range(6):
                await ended(app, "word " * 150)
            assert (await ended(app, "And now?")).answer == "three"
        shown = [len(body["messages"]) for body in server.requests[-2:]]
    assert [count == 14 for count in shown] == [first > second, second > first]
    assert all(
        length(body) / 3 < most
        for body, most in zip(server.requests[-2:], (first, second), strict=True)
    )


async def test_a_message_that_cannot_fit_fails_with_numbers(tmp_path):
    async with make_app(
        tmp_path, model=ScriptedModel([say("x")]), agent__model__context_window=WINDOW
    ) as app:
        turn = await ended(app, "word " * 5000)
    assert turn.status is TurnStatus.FAILED
    assert "4096" in turn.error
    assert "Shorten it" in turn.error


async def test_start_up_says_when_the_instructions_do_not_fit(tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "SOUL.md").write_text("Be thorough. " * 1000)
    with pytest.raises(ConfigError, match=r"window of 4096 tokens is too small.*take about 44\d\d"):
        async with make_app(tmp_path, model=ScriptedModel([]), agent__model__context_window=WINDOW):
            pass


def test_the_program_says_so_too(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setenv("LRA_HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_MODEL", "ollama:tiny")
    (tmp_path / "config.toml").write_text("[agent.model]\ncontext_window = 500\n")
    assert run(["ask", "hi"]) == 2
    said = capsys.readouterr().err
    assert "500 tokens is too small" in said
    assert "SOUL.md" in said


async def test_what_the_window_leaves_out_of_a_session_can_be_recalled_from_it(tmp_path):
    filler = [say("word " * 300) for _ in range(12)]
    player = Player(say("Noted."), *filler, say("4711"))
    async with ScriptedServer(player) as server, small(tmp_path, server) as app:
        await ended(app, "The gate of the kestrel house opens with 4711.")
        for number in range(12):
            await ended(app, f"Tell me story {number}.")
        await ended(app, "What opens the gate of the kestrel house?")
    asked = json.dumps(server.requests[-1]["messages"])
    assert "left out here" in asked
    assert "opens with 4711" in asked
