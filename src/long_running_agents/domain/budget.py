"""Budgets: a tree of limits, what is spent and held of them, and what a request may take."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from long_running_agents.domain.ids import SessionId


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
    seconds: float = 0.0
    """How long the step took that it was made for."""

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was used so far: by a turn, over all its steps and restarts, or by many."""

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

    def after_step(self, usage: Usage, *, tool_calls: int = 0, seconds: float = 0.0) -> "Spent":
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
class Limits:
    """What may be used. None means no limit, and 0 means nothing."""

    steps: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    tool_calls: int | None = None
    seconds: float | None = None

    def times(self, count: int) -> "Limits":
        """The same limits, several times over."""
        limits = asdict(self).items()
        return Limits(**{name: limit and limit * count for name, limit in limits})

    def plus(self, more: "Limits") -> "Limits":
        """Raised by others; what has no limit gets none."""
        added = asdict(more)
        limits = asdict(self).items()
        return Limits(
            **{name: None if old is None else old + (added[name] or 0) for name, old in limits}
        )

    @property
    def takes_holds(self) -> bool:
        """Whether something is limited that a request takes an unknown part of."""
        return self.tokens is not None or self.cost is not None


class BudgetScope(StrEnum):
    """What a budget is for; each is a part of the next one's."""

    TURN = "turn"
    PARENT = "parent"
    """A turn that another one works for, with all that do."""
    WORK = "work"
    SESSION = "session"
    DAY = "day"
    """All that an owner uses in one day."""


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """One limit of a budget, and how much of it is used."""

    scope: BudgetScope
    key: str
    """The turn, the session, or the day."""
    resource: str
    """tokens, cost (US dollars), steps, tool_calls or seconds."""
    limit: float
    spent: float
    held: float
    """What requests under way may take at most."""

    def __str__(self) -> str:
        """How much of it is used, in words."""
        return f"{_amount(self.spent)} of {_amount(self.limit)} {self.resource}"

    @property
    def share(self) -> float:
        """How much of it is spent, from 0 to 1 and beyond."""
        return self.spent / self.limit if self.limit else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetNode:
    """The budget of a turn, a session or a day."""

    scope: BudgetScope
    key: str
    limits: Limits
    spent: Spent
    held: Spent = field(default_factory=Spent)
    """What requests under way may take at most."""

    def lines(self) -> Iterator[BudgetLine]:
        """Its limits, one by one."""
        for resource, limit in asdict(self.limits).items():
            name = "total_tokens" if resource == "tokens" else resource
            spent, held = (float(getattr(each, name)) for each in (self.spent, self.held))
            if limit is not None:
                yield BudgetLine(
                    scope=self.scope,
                    key=self.key,
                    resource=resource,
                    limit=float(limit),
                    spent=spent,
                    held=held,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSize:
    """What a request takes."""

    model: str
    input_tokens: int = 0
    output_tokens: int | None = None
    """Most tokens of the answer, if whoever asks says so."""
    input_cost: Decimal | None = Decimal(0)
    """US dollars, or None when nobody knows the price."""
    token_cost: Decimal = Decimal(0)
    """US dollars for each token of the answer."""

    @property
    def least_answer(self) -> int:
        """Tokens of the shortest answer that it is made for."""
        most = self.output_tokens
        return LEAST_ANSWER if most is None else min(LEAST_ANSWER, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What was reserved for a request under way."""

    id: str
    """The turn that asks, or a request beside turns."""
    owner: str
    session_id: SessionId
    model: str
    input_tokens: int
    output_tokens: int
    input_cost: Decimal | None
    """US dollars, or None when nobody knows the price."""
    output_cost: Decimal
    at: datetime

    def usage(self, answered: int | None = None) -> Usage:
        """What it took: an answer of so many tokens, or all that was reserved."""
        output = self.output_tokens if answered is None else min(answered, self.output_tokens)
        answer_cost = self.output_cost * output / max(1, self.output_tokens)
        cost = None if self.input_cost is None else self.input_cost + answer_cost
        tokens = self.input_tokens
        return Usage(input_tokens=tokens, output_tokens=output, cost=cost, estimated=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a request may take."""

    output_tokens: int | None
    """Most tokens of its answer; None for no bound."""
    tight: BudgetLine | None = None
    """The limit that is used most, if much of it is."""
    wrap_up: bool = False
    """Whether only the part is left that is kept for a last answer."""


@dataclass(frozen=True, slots=True)
class LimitHit:
    """The limit that was reached, in words and by name."""

    name: str
    sentence: str
    passing: bool = False
    """Whether it is reached only while other requests are under way."""


def scope_of(limit: str) -> BudgetScope:
    """Whose limit it is, by its name."""
    shared = (BudgetScope.PARENT, BudgetScope.WORK, BudgetScope.SESSION, BudgetScope.DAY)
    return next((scope for scope in shared if limit.startswith(f"{scope}_")), BudgetScope.TURN)


LEAST_ANSWER = 64
"""Tokens: a request that leaves fewer for its answer is not made."""
WRAP_UP = Decimal("0.95")
"""The share of tokens and money from which on a turn only ends."""
_WHERE = {
    BudgetScope.TURN: "",
    BudgetScope.PARENT: " in the turn that it works for",
    BudgetScope.WORK: " in this work",
    BudgetScope.SESSION: " in this session",
    BudgetScope.DAY: " today",
}


def reserve(
    nodes: Sequence[BudgetNode], size: RequestSize, *, warn: float = 0.8, unpriced: bool = False
) -> Reservation | LimitHit:
    """Decide whether a request may be made, and how long its answer may be.

    Whatever it takes, spent and held together stay within every limit of every node.
    """
    for node in nodes:
        if (hit := limit_before_request(node, size, unpriced=unpriced)) is not None:
            return hit
    tight = [
        line
        for node in nodes
        for line in node.lines()
        if line.resource in ("tokens", "cost") and line.share >= warn
    ]
    kept = _answer(nodes, size, WRAP_UP)
    wrap_up = kept is not None and kept < size.least_answer
    return Reservation(
        output_tokens=_answer(nodes, size, Decimal(1)) if wrap_up else kept,
        tight=max(tight, key=lambda line: line.share, default=None),
        wrap_up=wrap_up,
    )


def _answer(nodes: Sequence[BudgetNode], size: RequestSize, share: Decimal) -> int | None:
    """The longest answer that keeps within a share of all limits."""
    bounds = [] if size.output_tokens is None else [size.output_tokens]
    for node in nodes:
        limits, used, held = node.limits, node.spent, node.held
        if limits.tokens is not None:
            left = int(limits.tokens * share) - used.total_tokens - held.total_tokens
            bounds.append(left - size.input_tokens)
        if limits.cost is not None and size.token_cost:
            money = limits.cost * share - used.cost - held.cost - (size.input_cost or 0)
            bounds.append(int(money / size.token_cost))
    return min(bounds, default=None)


def limit_before_request(
    node: BudgetNode, size: RequestSize, *, unpriced: bool = False
) -> LimitHit | None:
    """Decide whether a request would go beyond a limit, whatever is answered."""
    hit = next(_limits_hit(node, size, unpriced=unpriced), None)
    if hit is None or node.held == Spent():
        return hit
    alone = next(_limits_hit(replace(node, held=Spent()), size, unpriced=unpriced), None)
    return replace(hit, passing=alone is None)


def _limits_hit(node: BudgetNode, size: RequestSize, *, unpriced: bool) -> Iterator[LimitHit]:
    limits, spent, held, scope = node.limits, node.spent, node.held, node.scope
    where, prefix = _WHERE[scope], "" if scope is BudgetScope.TURN else f"{scope}_"
    if limits.steps is not None and spent.steps + held.steps >= limits.steps:
        yield LimitHit(f"{prefix}steps", f"all {limits.steps} steps of this {scope} are used")
    taken, needed = spent.total_tokens + held.total_tokens, size.input_tokens + size.least_answer
    if limits.tokens is not None and taken + needed > limits.tokens:
        told = f"needs about {needed} tokens and {taken} of {limits.tokens} are used{where}"
        yield LimitHit(f"{prefix}tokens", f"the next request {told}")
    if limits.cost is not None and size.input_cost is None and not unpriced:
        told = f"nobody knows what {size.model} costs, and money is limited{where}"
        yield LimitHit(f"{prefix}cost", f"{told} (budget.allow_unpriced lets it be asked)")
    price = (size.input_cost or 0) + size.token_cost * size.least_answer
    money = spent.cost + held.cost
    if limits.cost is not None and (not limits.cost or money + price > limits.cost):
        told = f"costs about ${price:.4f} and ${money:.4f} of ${limits.cost} are spent{where}"
        yield LimitHit(f"{prefix}cost", f"the next request {told}")
    if limits.tool_calls is not None and spent.tool_calls >= limits.tool_calls:
        told = f"all {limits.tool_calls} tool calls of this {scope} are used"
        yield LimitHit(f"{prefix}tool_calls", told)
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        yield LimitHit(f"{prefix}seconds", f"the {scope} has run for {limits.seconds:g} seconds")


def estimate_tokens(characters: int) -> int:
    """Guess tokens from characters; errs on the high side for prose."""
    return characters // 3 + 1
