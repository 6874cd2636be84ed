import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from long_running_agents.agent.fitting import FittedModel, Fitter, check_window
from long_running_agents.agent.gauges import Gauge, Gauges
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.models.listening import Choice
from long_running_agents.testing import ScriptedModel, fail, say

pytestmark = pytest.mark.anyio

NOTHING = ModelRequestParameters()
TOO_LONG = fail(400, message="This model's maximum context length is 2000 tokens.")


def asked(words):
    return ModelRequest(parts=[UserPromptPart("word " * words)])


def talk(turns, words=300):
    said = ModelResponse(parts=[TextPart("Yes.")])
    return [message for _ in range(turns) for message in (asked(words), said)] + [asked(1)]


def fitter(window, ratio=1.0):
    return Fitter(Gauge(window, ratio), lambda _: True)


def test_what_fits_is_sent_as_it_is():
    messages = talk(3)
    fitted = fitter(100_000).fit(100_000, messages, NOTHING, None)
    assert all(one is other for one, other in zip(fitted.messages, messages, strict=True))


def test_a_longer_way_of_counting_leaves_less():
    few = fitter(4096, 3.0).fit(4096, talk(10), NOTHING, None)
    many = fitter(4096, 1.0).fit(4096, talk(10), NOTHING, None)
    assert len(few.messages) < len(many.messages) < 21


def test_a_history_that_was_replaced_is_looked_at_anew():
    one = fitter(4096)
    one.fit(4096, talk(10), NOTHING, None)
    assert len(one.fit(4096, talk(1), NOTHING, None).messages) == 3


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_request_refused_for_its_length_is_sent_once_more(streamed):
    model = ScriptedModel([TOO_LONG, say("Yes.", input_tokens=900)])
    one = fitter(None)
    fitted = FittedModel(model, one, fitted=True)
    if streamed:
        async with fitted.request_stream(talk(10), None, NOTHING) as stream:
            async for _ in stream:
                pass
    else:
        await fitted.request(talk(10), None, NOTHING)
    long, short = model.requests
    assert len(short) < len(long)
    assert one.gauge.holds == 2000
    assert one.gauge.ratio != 1.0


async def test_help_with_what_is_left_out_is_offered_only_where_something_may_be():
    names = ("create_task", "read_result", "search_tools")
    tools = ModelRequestParameters(function_tools=[ToolDefinition(name=name) for name in names])
    model = ScriptedModel([say("1"), TOO_LONG, say("2"), say("3")])
    fitted = FittedModel(model, fitter(None), fitted=False)
    for _ in range(3):
        await fitted.request(talk(10), None, tools)

    # The window is learned with the second request, which is made anew.
    assert [list(offered) for offered in model.tools_offered] == [
        ["create_task"],
        ["create_task"],
        ["create_task", "read_result"],
        ["create_task", "read_result"],
    ]


async def test_other_refusals_are_none_of_its_business():
    fitted = FittedModel(ScriptedModel([fail(400)]), fitter(None), fitted=True)
    with pytest.raises(ModelHTTPError):
        await fitted.request(talk(1), None, NOTHING)


async def test_what_cannot_be_shortened_stays_refused():
    fitted = FittedModel(ScriptedModel([TOO_LONG]), fitter(None), fitted=True)
    with pytest.raises(ModelHTTPError, match="2000"):
        await fitted.request([asked(5000)], None, NOTHING)


async def test_a_fallback_that_is_too_small_makes_way():
    model = ScriptedModel([])
    fitted = FittedModel(model, fitter(2000), fitted=False)
    with pytest.raises(ModelHTTPError, match="413"):
        await fitted.request([asked(5000)], None, NOTHING)
    assert model.requests == []


def test_what_a_model_taught_is_kept_until_its_window_changes():
    windows = {"a": 4096}
    gauges, choice = Gauges(windows.get), Choice("a", ScriptedModel([]))
    gauge = gauges.of(choice)
    gauge.ratio, gauge.refused = 1.3, 3000
    assert (gauges.of(choice).ratio, gauges.of(choice).holds) == (1.3, 3000)
    windows["a"] = 8192
    assert gauges.of(choice).holds == 8192
    windows.clear()
    assert gauges.of(choice).holds is None


def test_instructions_and_needed_tools_have_to_fit():
    check_window(4096, "Be brief.", None)
    with pytest.raises(ConfigError, match=r"800 tokens .* 200 are kept for the answer"):
        check_window(800, "Be brief.", None)


def test_a_message_that_is_too_long_is_the_senders_to_shorten():
    with pytest.raises(UsageError, match="leaves"):
        fitter(4096).fit(4096, [asked(5000)], NOTHING, None)
