"""Budgets and what was spent of them."""

from dataclasses import asdict, dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one model request consumed."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: Decimal | None = None
    """US dollars, or None when nobody knows the price."""
    estimated: bool = False
    """Whether we counted the tokens ourselves because the server did not say."""

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a turn has used so far, over all its steps and restarts."""

    steps: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    seconds: float = 0.0

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def after_step(self, usage: Usage, *, tool_calls: int, seconds: float) -> "Spent":
        """Add one step."""
        return Spent(
            steps=self.steps + 1,
            tool_calls=self.tool_calls + tool_calls,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            cost=self.cost + (usage.cost or 0),
            seconds=self.seconds + seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn may use. None means no limit."""

    steps: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    tool_calls: int | None = None
    seconds: float | None = None

    def times(self, count: int) -> "TurnLimits":
        """The same limits, several times over."""
        limits = asdict(self).items()
        return TurnLimits(**{name: limit and limit * count for name, limit in limits})


@dataclass(frozen=True, slots=True)
class LimitHit:
    """The limit that was reached, in words and by name."""

    name: str
    sentence: str


def limit_before_request(
    spent: Spent, limits: TurnLimits, *, next_tokens: int, next_cost: Decimal = Decimal(0)
) -> LimitHit | None:
    """Decide whether a request that takes at least so many tokens and dollars may be made."""
    if limits.steps is not None and spent.steps >= limits.steps:
        return LimitHit("steps", f"all {limits.steps} steps of this turn are used")
    if limits.tokens is not None and spent.total_tokens + next_tokens > limits.tokens:
        return LimitHit(
            "tokens",
            f"the next request needs about {next_tokens} tokens and {spent.total_tokens} of"
            f" {limits.tokens} are used",
        )
    if limits.cost is not None and spent.cost + next_cost >= limits.cost:
        return LimitHit(
            "cost",
            f"the next request costs about ${next_cost:.4f} and ${spent.cost:.4f} of"
            f" ${limits.cost} are spent",
        )
    if limits.tool_calls is not None and spent.tool_calls >= limits.tool_calls:
        return LimitHit("tool_calls", f"all {limits.tool_calls} tool calls of this turn are used")
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return LimitHit("seconds", f"the turn has run for {limits.seconds:g} seconds")
    return None


def remaining_output(spent: Spent, limits: TurnLimits, *, next_tokens: int) -> int | None:
    """Tokens the next answer may have without passing the limit, or None for no bound."""
    if limits.tokens is None:
        return None
    return max(1, limits.tokens - spent.total_tokens - next_tokens)


def estimate_tokens(characters: int) -> int:
    """Guess tokens from characters; errs on the high side for prose."""
    return characters // 3 + 1
