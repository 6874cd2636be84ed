"""Turns samples into Markdown tables and bars."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.contenders import HISTORY, TOOLS

BARE = "pydantic-ai"
OURS = "lra"
HISTORIES = (0, 100, 10_000)
"""Messages that a session holds before an empty turn; 0 is a session of its own."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured turn."""

    round_number: int
    contender: str
    kind: str
    cpu_ms: float
    wall_ms: float
    requests: int
    streamed: int
    received: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The medians of one contender in one kind of turn."""

    turns: int
    cpu_ms: float
    cpu_low: float
    cpu_high: float
    wall_ms: float
    received: float


@dataclass(frozen=True, slots=True)
class Bar:
    """What we promise to reach; `value` is None when it was not measured."""

    name: str
    value: float | None
    limit: float
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Say met, MISSED or not measured."""
        if self.value is None:
            return "not measured"
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if met else "MISSED"

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        value = "" if self.value is None else f" ({self.value:.2f}x)"
        return f"- {self.verdict}: {self.name} {sign} {self.limit:.1f}x{value}"


def history_kind(messages: int) -> str:
    """Name the empty turn in a session that holds so many messages."""
    return f"{HISTORY}{messages}"


def figures(samples: list[Sample], contender: str, kind: str) -> Figures | None:
    """Return the medians and the middle half, or None when there is nothing to count."""
    chosen = [s for s in samples if (s.contender, s.kind) == (contender, kind)]
    if not chosen:
        return None
    cpu = sorted(sample.cpu_ms for sample in chosen)
    return Figures(
        turns=len(chosen),
        cpu_ms=median(cpu),
        cpu_low=cpu[len(cpu) // 4],
        cpu_high=cpu[len(cpu) * 3 // 4],
        wall_ms=median(sample.wall_ms for sample in chosen),
        received=median(sample.received for sample in chosen),
    )


def ratio(
    samples: list[Sample],
    part: tuple[str, str],
    whole: tuple[str, str],
    *,
    wall: bool = False,
) -> float | None:
    """Divide turn by turn inside each round, so that a slow minute cancels out; the median."""

    def by_round(entry: tuple[str, str]) -> dict[int, float]:
        return {
            sample.round_number: sample.wall_ms if wall else sample.cpu_ms
            for sample in samples
            if (sample.contender, sample.kind) == entry
        }

    parts, wholes = by_round(part), by_round(whole)
    ratios = [parts[number] / wholes[number] for number in parts.keys() & wholes.keys()]
    return median(ratios) if ratios else None


def times(value: float | None) -> str:
    """Write a ratio, or a dash."""
    return "-" if value is None else f"{value:.2f}x"


def tools_table(samples: list[Sample], contenders: list[str]) -> Iterator[str]:
    """Yield the lines of the ten-tool table."""
    yield "| contender | CPU ms (middle half) | to bare | wall ms | to bare | sent kB | turns |"
    yield "|---|---|---|---|---|---|---|"
    for name in contenders:
        own = figures(samples, name, TOOLS)
        if own is None:
            continue
        cpu = ratio(samples, (name, TOOLS), (BARE, TOOLS))
        wall = ratio(samples, (name, TOOLS), (BARE, TOOLS), wall=True)
        yield (
            f"| {name} | {own.cpu_ms:.0f} ({own.cpu_low:.0f}-{own.cpu_high:.0f})"
            f" | {times(cpu)} | {own.wall_ms:.0f} | {times(wall)}"
            f" | {own.received / 1000:.1f} | {own.turns} |"
        )


def history_table(samples: list[Sample], contenders: list[str]) -> Iterator[str]:
    """Yield the lines of the long-session table."""
    none, few, many = HISTORIES
    yield (
        f"| contender | CPU ms at {none} | to bare | at {few:,} | at {many:,} | {many:,} to {few:,}"
        f" | to bare at {many:,} | sent kB at {few:,} / {many:,} | turns |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in contenders:
        alone, short, long = (figures(samples, name, history_kind(each)) for each in HISTORIES)
        if alone is None or short is None or long is None:
            continue
        growth = ratio(samples, (name, history_kind(many)), (name, history_kind(few)))
        to_bare = ratio(samples, (name, history_kind(many)), (BARE, history_kind(many)))
        yield (
            f"| {name} | {alone.cpu_ms:.1f} | {times(empty_to_bare(samples, name))}"
            f" | {short.cpu_ms:.1f} | {long.cpu_ms:.1f} | {times(growth)} | {times(to_bare)}"
            f" | {short.received / 1000:.1f} / {long.received / 1000:.1f} | {long.turns} |"
        )


def empty_to_bare(samples: list[Sample], contender: str) -> float | None:
    """What an empty turn in a new session costs, against the library with nothing stored."""
    kind = history_kind(0)
    return ratio(samples, (contender, kind), (BARE, kind))


def bars(samples: list[Sample]) -> list[Bar]:
    """Hold our figures against what we promise."""
    ours = (OURS, TOOLS)
    _, few, many = ((OURS, history_kind(count)) for count in HISTORIES)
    beaten = [
        Bar(
            f"CPU of {peer} to ours, ten tools",
            ratio(samples, (peer, TOOLS), ours),
            1.5,
            at_least=True,
        )
        for peer in ("langgraph", "agno")
    ]
    return [
        Bar(f"CPU of ours to {BARE}, ten tools", ratio(samples, ours, (BARE, TOOLS)), 0.7),
        Bar(f"CPU of ours to {BARE}, an empty turn", empty_to_bare(samples, OURS), 2.0),
        *beaten,
        Bar("CPU of ours at 10,000 to 100 stored messages", ratio(samples, many, few), 1.5),
    ]


def as_json(samples: list[Sample]) -> dict[str, object]:
    """Return every sample and bar, for other programs."""
    return {
        "samples": [asdict(sample) for sample in samples],
        "bars": [asdict(bar) | {"verdict": bar.verdict} for bar in bars(samples)],
    }
