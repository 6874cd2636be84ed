"""What was spent: over some days, by model, by day and by session."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal

from long_running_agents.domain import days
from long_running_agents.domain.days import Range
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.store import sessions, usage
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.tables import moment
from long_running_agents.store.usage import Share, Total

_NOTHING = Total(requests=0, input_tokens=0, output_tokens=0, cost=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent over some days."""

    since: datetime | None
    until: datetime
    total: Total
    models: Mapping[str, Total]
    days: Mapping[date, Total]
    """The latest first; days on which nothing was spent are not among them."""
    sessions: Mapping[SessionId, Total]
    titles: Mapping[SessionId, str]
    """Of the sessions that are still there."""


class UsageService:
    """Reads the books of one owner."""

    def __init__(self, database: Database, clock: Clock, owner: str = MINE) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    async def spent(self, wanted: Range, zone: tzinfo | None = None) -> Spending:
        """What was spent in a range of days, as they are counted in a time zone.

        Args:
            wanted: The days.
            zone: Where they begin and end; this machine's unless given.
        """
        now = self._clock.now()
        since = days.beginning(wanted, now, zone)

        def work(tx: Transaction) -> Spending:
            models = usage.shares(tx, self._owner, since, by="model")
            by_session = usage.shares(tx, self._owner, since, by="session")
            by_time = usage.shares(tx, self._owner, since, by="time")
            keys = [SessionId(share.key) for share in by_session]
            return Spending(
                since=since,
                until=now,
                total=together(share.total for share in models),
                models={share.key: share.total for share in models},
                days=_by_day(by_time, zone),
                sessions={SessionId(share.key): share.total for share in by_session},
                titles=sessions.titles(tx, keys, owner=self._owner),
            )

        return await self._database.read(work)


def _by_day(shares: Sequence[Share], zone: tzinfo | None) -> dict[date, Total]:
    found: dict[date, list[Total]] = {}
    for share in shares:
        found.setdefault(days.day_of(moment(int(share.key)), zone), []).append(share.total)
    return {day: together(found[day]) for day in sorted(found, reverse=True)}


def together(totals: Iterable[Total]) -> Total:
    """The sum; its cost is that of the requests whose price is known."""
    every = [_NOTHING, *totals]
    costs = [total.cost for total in every if total.cost is not None]
    return Total(
        requests=sum(total.requests for total in every),
        input_tokens=sum(total.input_tokens for total in every),
        output_tokens=sum(total.output_tokens for total in every),
        cost=sum(costs, Decimal(0)) if costs else None,
    )
