"""A server that reads only the end of what it is sent: how an answer tells of it.

The answer carries the news in its details, since whoever reads the answer knows the session that it
belongs to, and the model, which serves many, does not.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic_ai.messages import ModelResponse

_DETAIL = "truncated"


@dataclass(frozen=True, slots=True)
class Truncation:
    """How much of a request was read."""

    sent: int
    """Tokens that were sent, about."""
    read: int
    """Tokens that the server says it has read: all that it has room for."""

    def details(self) -> dict[str, Any]:
        """The news as an answer carries it."""
        return {_DETAIL: {"sent": self.sent, "read": self.read}}


def taken(response: ModelResponse) -> tuple[ModelResponse, Truncation | None]:
    """The answer without the news, and the news."""
    details = response.provider_details or {}
    if _DETAIL not in details:
        return response, None
    told = cast("dict[str, int]", details[_DETAIL])
    rest = {key: value for key, value in details.items() if key != _DETAIL}
    return replace(response, provider_details=rest or None), Truncation(told["sent"], told["read"])
