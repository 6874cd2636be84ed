"""What a model can really do is found out by asking it, at servers of every kind."""

from datetime import UTC, datetime

import httpx2
import pytest

from long_running_agents.errors import ModelUnavailable
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.examination import examine
from long_running_agents.models.retry import FallbackChoice
from long_running_agents.testing import FrozenClock, Quirk, Rule, Script, ScriptedServer, call, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

CALL = call("report", word="kestrel")
COUNT = Rule("Count", (say("one two three"),))
ABLE = Script((Rule("Report", (CALL,)), COUNT, Rule("", (say("Hi"),))))
TEXT = '```json\n{"name": "report", "arguments": {"word": "kestrel"}}\n```'
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


async def card(script, *quirks, window=None, url=None):
    async with (
        ScriptedServer(script, quirks=quirks) as server,
        httpx2.AsyncClient(trust_env=False, timeout=300) as client,
    ):
        model = ChatCompletionsModel("m", base_url=url or server.url, client=client)

        async def says():
            assert server.requests, "the model is asked first, since that loads it"
            return window

        made = await examine(
            FallbackChoice("custom:m", model, "Mend it."), FrozenClock(NOW), window=says
        )
        assert made.endpoint == server.url
        return made, server.requests


async def test_an_able_model_gets_a_good_card():
    made, requests = await card(ABLE, window=8192)

    assert (made.model, made.checked_at, made.context_window) == ("m", NOW, 8192)
    assert made.native_tools
    assert made.streaming
    assert made.streamed_calls
    assert made.usage
    assert not made.text_tools
    assert not made.cuts_silently
    assert requests[0]["max_tokens"] == 1
    assert requests[1]["tool_choice"] == "required"
    assert max(len(str(request)) for request in requests) < 1000


async def test_calls_that_only_come_in_words_are_noted():
    script = Script((Rule("Report", (say(TEXT),)), COUNT, Rule("", (say("Hi"),))))
    made, _ = await card(script, Quirk.TOOLS_REFUSED, window=1)

    assert not made.native_tools
    assert made.text_tools


async def test_a_model_that_cannot_call_at_all_is_known_for_it():
    made, _ = await card(Script((COUNT, Rule("", (say("What is a word?"),)))), window=1)

    assert not made.native_tools
    assert not made.text_tools
    assert dict(made.lines())["tools"] == "none"


async def test_a_server_that_refuses_to_force_a_call_may_still_make_one():
    made, _ = await card(ABLE, Quirk.REQUIRED_CHOICE_REFUSED, window=1)

    assert made.native_tools


async def test_calls_that_get_lost_in_a_stream_are_noted():
    made, _ = await card(ABLE, Quirk.NO_STREAMED_CALLS, window=1)

    assert made.native_tools
    assert not made.streamed_calls


async def test_a_prompt_that_is_cut_without_a_word_shows_the_real_window():
    script = Script((Rule("^one one", (say("x", input_tokens=4096),)), *ABLE.rules))
    made, _ = await card(script)

    assert (made.context_window, made.cuts_silently) == (4096, True)
    assert "lose their beginning" in dict(made.lines())["context window"]


async def test_a_prompt_that_is_read_whole_leaves_the_window_unknown():
    made, _ = await card(ABLE)

    assert (made.context_window, made.cuts_silently) == (None, False)


async def test_without_usage_nothing_is_measured():
    made, requests = await card(ABLE, Quirk.NO_USAGE)

    assert not made.usage
    assert made.context_window is None
    assert max(len(str(request)) for request in requests) < 1000


async def test_a_silent_server_is_unavailable_and_the_advice_is_passed_on():
    with pytest.raises(ModelUnavailable, match=r"custom:m does not answer: .* Mend it."):
        await card(ABLE, url="http://127.0.0.1:9/v1")
