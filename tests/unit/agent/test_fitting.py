import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from long_running_agents.agent.context_window import (
    ContextWindow,
    ContextWindowFitter,
    ContextWindowModel,
    TokenEstimate,
    TokenEstimates,
    check_window,
    small,
)
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.models.retry import FallbackChoice
from long_running_agents.testing import ScriptedModel, fail, say

pytestmark = pytest.mark.anyio

NOTHING = ModelRequestParameters()
MOST = 100_000
TOO_LONG = fail(400, message="This model's maximum context length is 2000 tokens.")


def asked(words):
    return ModelRequest(parts=[UserPromptPart("word " * words)])


def talk(turns, words=300):
    said = ModelResponse(parts=[TextPart("Yes.")])
    return [message for _ in range(turns) for message in (asked(words), said)] + [asked(1)]


def fitter(window, ratio=1.0):
    return ContextWindowFitter(TokenEstimate(window, MOST, ratio), lambda _: True)


async def nothing(before, room):
    return ""


async def ask(model, one, messages, parameters=NOTHING, *, first=False):
    """Ask a model whose requests fit, as the first one or as a fallback."""
    window = ContextWindow(
        list, TokenEstimates({}.get, MOST), lambda _: True, 1, earlier=False, block=nothing
    )
    window.take(messages, parameters)
    fitted = ContextWindowModel(model, one, window, fitted=first)
    async with fitted.request_stream(messages if first else [], None, parameters) as stream:
        async for _ in stream:
            pass


def test_what_fits_is_sent_as_it_is():
    messages = talk(3)
    fitted = fitter(100_000).fit(messages, NOTHING, None)
    assert all(one is other for one, other in zip(fitted.messages, messages, strict=True))


TOOLS = ModelRequestParameters(
    function_tools=[ToolDefinition(name=name) for name in ("write_memory", "read_file", "shell")]
)


@pytest.mark.parametrize("window", [None, 8192])
def test_a_small_model_is_offered_few_tools_and_the_same_at_every_step(window):
    one = ContextWindowFitter(TokenEstimate(window, MOST, small=True), lambda _: True)
    said = "Read notes.txt.\n\n[From your memory: run a shell command; remember it.]"
    messages = [ModelRequest(parts=[UserPromptPart(said)])]
    call = ModelResponse(parts=[ToolCallPart("shell", {}, tool_call_id="c1")])
    result = ModelRequest(parts=[ToolReturnPart("shell", "done", tool_call_id="c1")])

    def names(*messages):
        fitted = one.fit([*messages], TOOLS, None)
        return [tool.name for tool in fitted.parameters.function_tools]

    assert names(*messages) == names(*messages, call, result) == ["read_file"]
    assert names(*messages, call, result, asked(1)) == ["shell"]


@pytest.mark.parametrize(
    ("name", "is_small"),
    [
        ("local:qwen2.5-coder-0.5b", True), ("local:smollm2-135m", True), ("llama3.2:3b", True),
        ("ollama:qwen2.5:7b", False), ("openai:gpt-5", False), ("mixtral-8x7b", False),
        ("http://127.0.0.1:1234/v1#qwen3-30b-a3b", False), ("local:qwen2.5-coder-1.5b", True),
    ],
)  # fmt: skip
def test_a_name_tells_a_small_model(name, is_small):
    assert small(name) is is_small


def test_a_longer_way_of_counting_leaves_less():
    few = fitter(4096, 3.0).fit(talk(10, 200), NOTHING, None)
    many = fitter(4096, 1.0).fit(talk(10, 200), NOTHING, None)
    assert len(few.messages) < len(many.messages) < 21


def test_a_history_that_was_replaced_is_looked_at_anew():
    one = fitter(4096)
    one.fit(talk(10), NOTHING, None)
    assert len(one.fit(talk(1), NOTHING, None).messages) == 3


async def test_a_request_refused_for_its_length_is_sent_once_more():
    model = ScriptedModel([TOO_LONG, say("Yes.", input_tokens=900)])
    one = fitter(None)
    await ask(model, one, talk(10), first=True)
    long, short = model.requests
    assert len(short) < len(long)
    assert one.estimate.holds == 2000
    assert one.estimate.ratio != 1.0


async def test_a_fallback_is_fitted_from_all_that_was_said():
    model = ScriptedModel([say("Yes.")])
    await ask(model, fitter(100_000), talk(10))
    assert len(model.requests[0]) == 21


async def test_help_with_what_is_left_out_is_offered_only_where_something_may_be():
    names = ("create_task", "read_result", "search_tools")
    tools = ModelRequestParameters(function_tools=[ToolDefinition(name=name) for name in names])
    model = ScriptedModel([say("1"), TOO_LONG, say("2"), say("3")])
    one = fitter(None)
    for _ in range(3):
        await ask(model, one, talk(10), tools)

    # The window is learned with the second request, which is made anew.
    assert [list(offered) for offered in model.tools_offered] == [
        ["create_task"],
        ["create_task"],
        ["create_task", "read_result"],
        ["create_task", "read_result"],
    ]


async def test_other_refusals_are_none_of_its_business():
    with pytest.raises(ModelHTTPError):
        await ask(ScriptedModel([fail(400)]), fitter(None), talk(1), first=True)


async def test_what_cannot_be_shortened_stays_refused():
    with pytest.raises(ModelHTTPError, match="2000"):
        await ask(ScriptedModel([TOO_LONG]), fitter(None), [asked(5000)], first=True)


async def test_a_fallback_that_is_too_small_makes_way():
    model = ScriptedModel([])
    with pytest.raises(ModelHTTPError, match="413"):
        await ask(model, fitter(2000), [asked(5000)])
    assert model.requests == []


def test_what_a_model_taught_is_kept_until_its_window_changes():
    windows = {"a": 4096}
    estimates, choice = TokenEstimates(windows.get, MOST), FallbackChoice("a", ScriptedModel([]))
    estimate = estimates.of(choice)
    estimate.ratio, estimate.refused = 1.3, 3000
    assert (estimates.of(choice).ratio, estimates.of(choice).holds) == (1.3, 3000)
    windows["a"] = 8192
    assert estimates.of(choice).holds == 8192
    windows.clear()
    assert estimates.of(choice).holds is None


def test_instructions_and_needed_tools_have_to_fit():
    check_window(4096, "Be brief.", None)
    with pytest.raises(ConfigError, match=r"800 tokens .* 200 are kept for the answer"):
        check_window(800, "Be brief.", None)


def test_a_message_that_is_too_long_is_the_senders_to_shorten():
    with pytest.raises(UsageError, match="leaves"):
        fitter(4096).fit([asked(5000)], NOTHING, None)
