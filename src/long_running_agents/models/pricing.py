"""What a request used and cost."""

from decimal import Decimal

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from long_running_agents.domain.budget import Usage, estimate_tokens


class PriceList:
    """Knows what requests cost, from the price table that comes with the agent library."""

    def __init__(self) -> None:
        # Looking for a model that has no price goes through the whole table: do it once.
        self._unknown: set[tuple[str | None, str | None]] = set()

    def usage_of(self, response: ModelResponse, messages: list[ModelMessage]) -> Usage:
        """What a response used, estimated and marked so when the server did not say."""
        reported = response.usage
        estimated = not (reported.input_tokens or reported.output_tokens)
        if estimated:
            reported = response.usage = RequestUsage(
                input_tokens=estimate_tokens(sum(characters(message) for message in messages)),
                output_tokens=estimate_tokens(characters(response)),
            )
        return Usage(
            input_tokens=reported.input_tokens,
            output_tokens=reported.output_tokens,
            cache_read_tokens=reported.cache_read_tokens,
            cache_write_tokens=reported.cache_write_tokens,
            cost=self._price(response),
            estimated=estimated,
        )

    def of_request(self, model: Model, input_tokens: int) -> Decimal:
        """What a request of this length costs at least; nothing when nobody knows the price."""
        asked = ModelResponse(
            parts=[],
            usage=RequestUsage(input_tokens=input_tokens),
            model_name=model.model_name,
            provider_name=model.system,
        )
        return self._price(asked) or Decimal(0)

    def _price(self, response: ModelResponse) -> Decimal | None:
        key = (response.provider_name, response.model_name)
        if key in self._unknown:
            return None
        try:
            return response.cost().total_price
        except (LookupError, AssertionError, ValueError):
            self._unknown.add(key)
            return None


def characters(message: ModelMessage) -> int:
    """About how long a message is for a model."""
    total = 0
    for part in message.parts:
        content = getattr(part, "content", None)
        if content is None:
            content = getattr(part, "args", "")
        total += len(content) if isinstance(content, str) else len(str(content))
    return total
