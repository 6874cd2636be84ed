"""Budgets around requests: what one may take is reserved before it is made, and then settled."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from long_running_agents.api import TurnApi
from long_running_agents.config import Settings
from long_running_agents.domain import ids
from long_running_agents.domain.budget import (
    BudgetLine,
    BudgetNode,
    BudgetScope,
    Hold,
    LimitHit,
    Limits,
    RequestSize,
    Reservation,
    Usage,
    limit_before_request,
    reserve,
)
from long_running_agents.domain.ids import SessionId, TurnId, WorkId, new_id, shown
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Busy, LimitReached, UsageError
from long_running_agents.store import budgets, delegations, events, sessions, turns, usage, works
from long_running_agents.store.database import Database, Transaction

_SHARED_ANSWER = 8_192
"""Tokens that are held for an answer where others draw on the same budget, unless it is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimits:
    """What the turns of a day and of a session may use together."""

    day: Limits = field(default_factory=Limits)
    session: Limits = field(default_factory=Limits)
    allow_unpriced: bool = False
    """Whether models may be asked whose price nobody knows, although money is limited."""
    warn: float = 0.8
    """The share of tokens or money from which on person and model are told."""

    @property
    def present(self) -> bool:
        """Whether there are any."""
        return any(each != Limits() for each in (self.day, self.session))


def shared_limits(settings: Settings) -> SharedLimits:
    """What a home allows for a day and for a session."""
    budget = settings.budget
    return SharedLimits(
        day=Limits(**dict(budget.day)),
        session=Limits(**dict(budget.session)),
        allow_unpriced=budget.allow_unpriced,
        warn=settings.agent.deep_work.warning_threshold,
    )


@dataclass
class BudgetBook:
    """Knows the budgets of all owners, and lets each request take its part of them."""

    database: Database
    clock: Clock
    limits: SharedLimits = field(default_factory=SharedLimits)
    _given_back: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def nodes(
        self,
        tx: Transaction,
        owner: str,
        session_id: SessionId,
        now: datetime,
        work_id: WorkId | None = None,
        above: Sequence[tuple[Turn, Limits]] = (),
    ) -> list[BudgetNode]:
        """The budgets of a work, of a session and of an owner's day, as far as they have limits.

        Those of the turns above a delegate's come first, and its session is that of the topmost.
        """
        day, today = ids.day_of(now, None), ids.beginning(ids.DayRange.TODAY, now, None)
        found = [_parent_node(tx, turn, limits) for turn, limits in above]
        for turn, _ in above:
            session_id, work_id = turn.session_id, turn.work_id
        found += [] if work_id is None else [work_node(tx, owner, work_id)]
        for scope, key, limits in (
            (BudgetScope.SESSION, session_id, self.limits.session),
            (BudgetScope.DAY, str(day), self.limits.day),
        ):
            if limits != Limits() and key:
                mine = [session_id, *delegations.sessions_below(tx, session_id)]
                within = mine if scope is BudgetScope.SESSION else today
                spent, held = budgets.spent(tx, owner, within)
                raised = limits.plus(budgets.raised(tx, owner, scope, key))
                node = BudgetNode(scope=scope, key=key, limits=raised, spent=spent, held=held)
                found.append(node)
        return found

    async def lines(self, owner: str, session_id: SessionId | None) -> Sequence[BudgetLine]:
        """The limits of an owner's day, and of a session, with what is used of them."""
        key, now = session_id or SessionId(""), self.clock.now()

        def work(tx: Transaction) -> list[BudgetNode]:
            if session_id is not None:
                sessions.get(tx, session_id, owner=owner)
            return self.nodes(tx, owner, key, now)

        lines = [line for node in await self.database.read(work) for line in node.lines()]
        return [replace(line, key=shown(SessionId(line.key))) for line in lines]

    async def take(self, account: "RequestAccount", size: RequestSize) -> Reservation | LimitHit:
        """Reserve what a request may take on its whole path; what is held for now is waited for."""
        while True:
            # Taken before it is looked: what is given back from now on is heard.
            given_back = self._given_back
            found = await self.database.write(lambda tx: self._take(tx, account, size))
            if not isinstance(found, LimitHit) or not found.passing:
                return found
            await given_back.wait()

    def _take(
        self, tx: Transaction, account: "RequestAccount", size: RequestSize
    ) -> Reservation | LimitHit:
        now, limits = self.clock.now(), self.limits
        shared = self.nodes(
            tx, account.owner, account.session_id, now, account.work_id, account.above
        )
        nodes = [account.own(), *shared]
        found = reserve(nodes, size, warn=limits.warn, unpriced=limits.allow_unpriced)
        if isinstance(found, Reservation):
            answer = found.output_tokens or 0
            held = Hold(
                id=account.id,
                owner=account.owner,
                session_id=account.session_id,
                model=size.model,
                input_tokens=size.input_tokens,
                output_tokens=answer,
                input_cost=size.input_cost,
                output_cost=size.token_cost * answer,
                at=now,
            )
            budgets.hold(tx, held)
        return found

    async def spend(self, owner: str, model: str, tokens: int) -> None:
        """Count what is paid whatever comes of it, such as vectors.

        Raises:
            LimitReached: The owner's day does not cover it.
        """
        now, session_id = self.clock.now(), SessionId("")
        size = RequestSize(model=model, input_tokens=tokens, output_tokens=0, input_cost=None)

        def work(tx: Transaction) -> None:
            nodes, unpriced = self.nodes(tx, owner, session_id, now), self.limits.allow_unpriced
            if isinstance(found := reserve(nodes, size, unpriced=unpriced), LimitHit):
                raise LimitReached(found.sentence)
            used, chore = Usage(input_tokens=tokens, estimated=True), TurnId(new_id("chore", now))
            usage.record(tx, session_id, chore, 1, model, used, now, owner=owner)

        await self.database.write(work)

    def given_back(self) -> None:
        """Let those go on who wait for what another request held."""
        self._given_back.set()
        self._given_back = asyncio.Event()


def work_node(tx: Transaction, owner: str, work_id: WorkId) -> BudgetNode:
    """The budget of a work."""
    spent, held = delegations.spent_by_work(tx, work_id)
    raised = budgets.raised(tx, owner, BudgetScope.WORK, work_id)
    return BudgetNode(
        scope=BudgetScope.WORK,
        key=work_id,
        limits=works.get(tx, work_id).limits.plus(raised),
        spent=spent,
        held=held,
    )


def _parent_node(tx: Transaction, turn: Turn, limits: Limits) -> BudgetNode:
    """The budget of a turn that others work for, with what they have used of it."""
    spent, held = delegations.spent_by_turn(tx, turn.id)
    return BudgetNode(scope=BudgetScope.PARENT, key=turn.id, limits=limits, spent=spent, held=held)


@dataclass(kw_only=True)
class RequestAccount:
    """Pays for the requests of one turn, or for one beside turns."""

    book: BudgetBook
    id: str
    """What its hold is called: the turn, or the request."""
    owner: str
    session_id: SessionId
    own: Callable[[], BudgetNode]
    """Its own budget at this moment."""
    work_id: WorkId | None = None
    """The work that it is for."""
    above: Sequence[tuple[Turn, Limits]] = ()
    """The turns with delegates on its path, the nearest first, and what each may use with them."""
    tell: Callable[[Reservation], None] = lambda _: None
    """Hears what is tight."""
    lose: Callable[[Usage], None] = lambda _: None
    """Hears what a request took of which nothing came."""
    hit: LimitHit | None = None
    held: bool = False
    """Whether something is reserved; whoever writes the answer down releases it."""

    def check(self) -> None:
        """Refuse any request, however short, that its own budget does not cover.

        Raises:
            LimitReached: A limit is reached.
        """
        least = RequestSize(model="", output_tokens=0)
        self.hit = limit_before_request(self.own(), least, unpriced=True)
        if self.hit is not None:
            raise LimitReached(self.hit.sentence)

    async def reserve(self, size: Callable[[int | None], RequestSize]) -> Reservation:
        """Reserve what a request may take, whose size is known for an answer of so many tokens.

        Raises:
            LimitReached: A budget does not cover it.
        """
        if self.held:
            # An answer came that nobody could use.
            await self.give_back(None)
        # What is held is lost with whoever dies: of a work's budget, that must not be all the rest.
        shared = self.book.limits.present or self.work_id is not None or bool(self.above)
        if not shared and not self.own().limits.takes_holds:
            return Reservation(output_tokens=None)
        # Before it is: who is cancelled meanwhile does not hear that it was written.
        self.held = True
        found = await self.book.take(self, size(_SHARED_ANSWER if shared else None))
        if isinstance(found, LimitHit):
            self.held, self.hit = False, found
            raise LimitReached(found.sentence)
        if found.tight is not None:
            self.tell(found)
        return found

    async def give_back(self, answered: int | None) -> None:
        """Settle a request of which nothing came: it took so much of an answer, or all it had."""
        book, now = self.book, self.book.clock.now()
        used = await book.database.write(lambda tx: budgets.settle(tx, self.id, answered, now))
        self.settled()
        if used is not None:
            self.lose(used)

    def settled(self) -> None:
        """What was held is written down as used, or given back."""
        self.held = False
        self.book.given_back()


@dataclass(frozen=True, slots=True)
class BudgetService:
    """Looks after an owner's budgets, for a person: nothing that a model may call is here."""

    book: BudgetBook
    turns: TurnApi
    owner: str

    async def lines(self, session_id: SessionId | None = None) -> Sequence[BudgetLine]:
        """The limits of the owner's day, and of a session, with what is used of them."""
        return await self.book.lines(self.owner, session_id)

    async def more(
        self,
        session_id: SessionId | None = None,
        *,
        tokens: int | None = None,
        cost: Decimal | None = None,
        steps: int | None = None,
        seconds: float | None = None,
    ) -> Sequence[Turn]:
        """Raise the limits of a session, or of the day; turns that they stopped go on.

        By so much; by what the settings say once more where nothing is said.

        Raises:
            UsageError: Nothing is limited there.
        """
        scope = BudgetScope.DAY if session_id is None else BudgetScope.SESSION
        limits = self.book.limits.day if session_id is None else self.book.limits.session
        given = Limits(tokens=tokens, cost=cost, steps=steps, seconds=seconds)
        more = limits if given == Limits() else given
        if limits.plus(more) == limits:
            raise UsageError(
                f"This raises no limit of a {scope}.",
                hint=f"'lra budget' shows the limits; budget.{scope} in the settings sets them.",
            )

        def work(tx: Transaction) -> list[Turn]:
            if session_id is not None:
                sessions.get(tx, session_id, owner=self.owner)
            key = session_id or str(ids.day_of(self.book.clock.now(), None))
            budgets.add(tx, self.owner, scope, key, more)
            return [
                turn
                for turn in turns.limited(tx, self.owner, session_id)
                if events.stopped_by(tx, turn.id) is scope
            ]

        stopped = await self.book.database.write(work)
        going_on: list[Turn] = []
        for turn in stopped:
            # One that was retried or followed meanwhile keeps no other from going on.
            with suppress(Busy):
                going_on.append(await self.turns.retry(turn.session_id))
        return going_on
