from decimal import Decimal

import pytest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from long_running_agents.models.factory import PriceList, weigh


def answer(model="gpt-5-mini", provider="openai", text="hi", **usage):
    return ModelResponse(
        parts=[TextPart(text)],
        usage=RequestUsage(**usage),
        model_name=model,
        provider_name=provider,
    )


def test_a_known_model_has_a_price():
    used = PriceList().usage_of(answer(input_tokens=1_000_000, output_tokens=100_000), [])

    assert (used.input_tokens, used.output_tokens, used.estimated) == (1_000_000, 100_000, False)
    assert Decimal("0.1") < used.cost < Decimal(10)


def test_what_came_from_the_cache_costs_less():
    prices = PriceList()

    fresh = prices.usage_of(answer(input_tokens=100_000), [])
    cached = prices.usage_of(answer(input_tokens=100_000, cache_read_tokens=90_000), [])

    assert cached.cost < fresh.cost
    assert cached.cache_read_tokens == 90_000


@pytest.mark.parametrize(
    ("model", "provider"), [("my-own", "custom"), ("my-own", "openai"), ("m", "lmstudio")]
)
def test_an_unknown_model_has_no_price(model, provider):
    assert PriceList().usage_of(answer(model, provider, input_tokens=5), []).cost is None


def test_an_unknown_model_is_looked_up_once():
    class Counting(ModelResponse):
        looked = 0

        def cost(self):
            Counting.looked += 1
            return super().cost()

    prices = PriceList()
    for _ in range(3):
        response = Counting(
            parts=[TextPart("hi")],
            usage=RequestUsage(input_tokens=5),
            model_name="my-own",
            provider_name="openai",
        )
        assert prices.usage_of(response, []).cost is None

    assert Counting.looked == 1


def test_a_server_that_says_nothing_is_estimated_and_marked_so():
    history = [ModelRequest(parts=[UserPromptPart("x" * 300)])]
    response = answer(text="y" * 30)

    used = PriceList().usage_of(response, history)

    assert used.estimated
    assert (used.input_tokens, used.output_tokens) == (121, 31)
    assert used.cost > 0
    assert response.usage.input_tokens == 121


def test_calls_results_and_lists_have_a_length_too():
    call = ModelResponse(parts=[ToolCallPart("look", '{"at": "x"}')])
    result = ModelRequest(parts=[ToolReturnPart("look", {"seen": 1}, tool_call_id="c")])

    assert weigh(call) > len('{"at": "x"}')
    assert weigh(result) > len(str({"seen": 1}))
    assert weigh(ModelRequest(parts=[UserPromptPart(["ab", "cd"])])) > 0


def test_the_least_a_request_costs_is_known_before_it_is_made():
    class Named:
        model_name, system = "gpt-5-mini", "openai"

    class Unheard:
        model_name, system = "my-own", "custom"

    prices = PriceList()
    asked = prices.of_request(Named(), 100_000)

    assert asked == prices.usage_of(answer(input_tokens=100_000), []).cost > 0
    assert prices.of_request(Unheard(), 100_000) is None
