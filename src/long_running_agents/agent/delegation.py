"""Delegation: a turn in a session of its own that works for another, which waits as a row."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from long_running_agents.agent import approvals, transcript
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.registry import AgentService
from long_running_agents.domain.agent import DEEPEST, AgentSpec
from long_running_agents.domain.chain import (
    Delegation,
    Receipt,
    chain_answer,
    delegate_id,
    fill,
    names_sources,
    next_links,
    receipt_text,
)
from long_running_agents.domain.compaction import clip
from long_running_agents.domain.events import (
    DelegateEnded,
    DelegateStarted,
    Event,
    EventEnvelope,
    MessageAccepted,
    ToolReturned,
    TurnDone,
)
from long_running_agents.domain.ids import SessionId, TurnId, shown
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Session, SessionOrigin, title_from
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.domain.work import file_change
from long_running_agents.errors import LraError, UsageError
from long_running_agents.skills.trial import complaints
from long_running_agents.store import (
    agents,
    delegations,
    events,
    ledger,
    messages,
    sessions,
    taints,
    turns,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.tools.deps import DelegateRequest

MOST_AT_ONCE = 16
"""Delegates of one owner that are at work at the same time; the others wait."""
_LINK = "link-"
_PREVIEW = 500
_MOST_TASKS = 50


@dataclass
class Delegations:
    """Begins delegates for turns, and knows what becomes of them."""

    database: Database
    hub: Hub
    clock: Clock
    registry: AgentService
    submit: Callable[[Turn], Awaitable[None]]
    """Lets a turn be driven."""

    async def start(self, turn: Turn, call_id: str, wanted: DelegateRequest) -> str | None:
        """Begin delegates for a call, each once, however often it is asked.

        Returns:
            That they have begun, if nobody waits for them; else None: the end of the last one
            writes the outcome of the call, also when it came before this was asked again.

        Raises:
            UsageError: There is no such agent, its input is wrong, or it is too deep.
        """
        await self.registry.of(turn.owner).prepare()
        now = self.clock.now()

        def work(tx: Transaction) -> tuple[list[EventEnvelope], list[Delegation], list[Turn]]:
            known, news = delegations.below(tx, turn.id, call_id), list[EventEnvelope]()
            if not known:
                news = _begin(tx, turns.get(tx, turn.id), call_id, wanted, now)
                known = delegations.below(tx, turn.id, call_id)
            return news, known, delegations.startable(tx, turn.owner, MOST_AT_ONCE)

        news, begun, next_up = await self.database.write(work)
        self.hub.publish(news)
        for each in next_up:
            await self.submit(each)
        if not wanted.background:
            return None
        handles = ", ".join(each.turn_id for each in begun)
        return f"Begun in the background ({handles}). The receipt comes as a message."

    async def advance(self, turn: Turn, agent: AgentSpec) -> str | None:
        """Begin the next links of a chain, as the receipts of those before say.

        Returns:
            What the chain answers, once it is over.

        Raises:
            LraError: A link failed, or cannot begin.
        """
        chain = agent.chain
        assert chain is not None, "only chains are advanced"  # noqa: S101 - for the type checker
        begun = await self.database.read(lambda tx: delegations.below(tx, turn.id))
        numbered = {int(each.call_id.removeprefix(_LINK)): each for each in begun}
        receipts = {number: each.receipt for number, each in numbered.items() if each.receipt}
        move = next_links(chain, turn.prompt, receipts, list(numbered))
        if move.failed:
            raise LraError(move.failed, hint="Each link's session shows what it did.")
        if move.over:
            return await self._chained(turn, agent, chain_answer(receipts, chain.strategy))
        for number in move.start:
            link = chain.links[number - 1]
            task = fill(link.input, turn.prompt, receipts)
            wanted = DelegateRequest(agent=link.agent, tasks=[task], max_parallel=len(chain.links))
            await self.start(turn, f"{_LINK}{number}", wanted)
        return None

    async def _chained(self, turn: Turn, agent: AgentSpec, answer: str) -> str:
        """Write a chain's answer into the log of its session, where later turns find it."""
        if wrong := complaints(_schema(agent.output_schema), _parsed(answer)):
            raise LraError(f"The answer does not fit the schema of {agent.name}: {wrong}.")
        said = transcript.closing(replace(turn, answer=answer), [], [])
        stored, now = [transcript.stored(each, 1) for each in said], self.clock.now()
        await self.database.write(
            lambda tx: messages.append(tx, turn.session_id, turn.id, stored, now)
        )
        return answer


def _begin(
    tx: Transaction, parent: Turn, call_id: str, wanted: DelegateRequest, now: datetime
) -> list[EventEnvelope]:
    """Write a session and a turn for each task of a call."""
    spec = agents.find(tx, parent.owner, wanted.agent)
    if spec is None:
        known = ", ".join(each.name for each in agents.published(tx, parent.owner)[:20])
        raise UsageError(f"There is no agent {wanted.agent!r}.", hint=f"There are: {known}.")
    left = depth_left(tx, parent)
    if left < 1:
        path = " > ".join(approvals.path_of(tx, parent))
        raise UsageError(
            f"{path} may not hand work on any further (max_chain_depth).",
            hint="Do it with your own tools.",
        )
    if not 0 < len(wanted.tasks) <= _MOST_TASKS:
        raise UsageError(f"Give 1 to {_MOST_TASKS} tasks at once.", hint="Split the work.")
    given = wanted.input
    if given is None and spec.input_schema is not None:
        given = _parsed(wanted.tasks[0])
    if wrong := complaints(_schema(spec.input_schema), given):
        raise UsageError(
            f"The input of {spec.name} does not fit its schema: {wrong}.",
            hint=f"The schema: {json.dumps(_schema(spec.input_schema))[:_PREVIEW]}",
        )
    depth = min(left - 1, spec.max_chain_depth)
    told: list[Event] = []
    news: list[EventEnvelope] = []
    for place, task in enumerate(wanted.tasks):
        begun = Delegation(
            turn_id=TurnId(delegate_id("turn", parent.id, call_id, place)),
            parent_id=parent.id,
            call_id=call_id,
            place=place,
            depth=depth,
            parallel=max(1, wanted.max_parallel),
            background=wanted.background,
            created_at=now,
        )
        turn, accepted = _child(tx, parent, spec, begun, _prompt(task, wanted.input))
        news += accepted
        told.append(
            DelegateStarted(
                agent=spec.label,
                task=clip(task, _PREVIEW),
                tool_call_id=call_id,
                delegate_session=shown(turn.session_id),
                delegate_id=turn.id,
                background=begun.background,
            )
        )
    return [*news, *events.append(tx, parent.session_id, parent.id, told, now)]


def _child(
    tx: Transaction, parent: Turn, spec: AgentSpec, begun: Delegation, prompt: str
) -> tuple[Turn, list[EventEnvelope]]:
    """The session and the turn of one delegate; what its parent has read goes with it."""
    now, above = begun.created_at, sessions.get(tx, parent.session_id)
    name = delegate_id("delegate", parent.id, begun.call_id, begun.place)
    session = Session(
        id=SessionId(above.id.removesuffix(shown(above.id)) + name),
        title=title_from(tx.redact(f"{spec.name}: {prompt}")),
        model=None if spec.model else parent.model or above.model,
        created_at=now,
        updated_at=now,
        owner=parent.owner,
        origin=SessionOrigin.DELEGATE,
        agent=spec.name,
    )
    sessions.create(tx, session)
    turn = turns.accept(
        tx,
        Turn(
            id=begun.turn_id,
            session_id=session.id,
            number=turns.next_number(tx, session.id),
            prompt=prompt,
            origin=TurnOrigin.DELEGATE,
            attended=parent.attended,
            status=TurnStatus.QUEUED,
            created_at=now,
            owner=parent.owner,
            agent=spec.label,
        ),
    )
    delegations.add(tx, begun)
    for source in taints.sources(tx, parent.session_id):
        taints.add(tx, session.id, turn.id, source, now)
    accepted = MessageAccepted(content=turn.prompt, origin=turn.origin)
    return turn, events.append(tx, session.id, turn.id, [accepted], now)


def _prompt(task: str, given: Any) -> str:
    return task if given is None else f"{task}\n\nInput:\n{json.dumps(given, ensure_ascii=False)}"


def _parsed(text: str) -> Any:
    """A text as data, if it is JSON; else as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _schema(known: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if known is None else dict(known)


def depth_left(tx: Transaction, turn: Turn) -> int:
    """How far a turn may hand work on: what its parent left it, and never more than its agent."""
    own = agents.find(tx, turn.owner, turn.agent) if turn.agent else None
    given = delegations.find(tx, turn.id) if turn.origin is TurnOrigin.DELEGATE else None
    most = DEEPEST if own is None else own.max_chain_depth
    return most if given is None else min(given.depth, most)


def after(tx: Transaction, turn: Turn, now: datetime) -> list[EventEnvelope]:
    """Tell those above a delegate that came to rest: its receipt if it ended, or that it asks."""
    if turn.origin is not TurnOrigin.DELEGATE:
        return []
    begun = delegations.find(tx, turn.id)
    if begun is None or begun.receipt is not None:
        # A message that brought a receipt, or a delegate that was let go on after it had ended.
        return []
    news: list[EventEnvelope] = []
    parent = turns.get(tx, begun.parent_id)
    if turn.status.ended:
        receipt = receipt_of(tx, turn)
        delegations.settle(tx, turn.id, receipt, now)
        news = _deliver(tx, parent, replace(begun, receipt=receipt), now)
    approvals.follow(tx, turn, now)
    return news


def receipt_of(tx: Transaction, turn: Turn) -> Receipt:
    """What a delegate did, by the ledger."""
    calls = ledger.of_turn(tx, turn.id)
    counted: dict[str, int] = {}
    for call in calls:
        counted[call.tool] = counted.get(call.tool, 0) + 1
    changes = [change for call in calls if (change := file_change(call, turn.number)) is not None]
    told = [each.event for each in events.of_turn(tx, turn.id)]
    done = [event for event in told if isinstance(event, TurnDone)]
    given = taints.sources(tx, delegation_session(tx, turn))
    below = delegations.below(tx, turn.id)
    return Receipt(
        agent=turn.agent,
        session_id=shown(turn.session_id),
        turn_id=turn.id,
        status=turn.status,
        answer=turn.answer,
        output=_output(tx, turn),
        error=turn.error,
        tool_calls=counted,
        wrote=tuple(dict.fromkeys(f"{each.path} ({each.key})" for each in changes if each.path)),
        uncertain=tuple(call.tool for call in calls if call.state is CallState.UNCERTAIN),
        tokens=turn.spent.total_tokens,
        cost=turn.spent.cost,
        seconds=turn.spent.seconds,
        foreign=tuple(each for each in taints.sources(tx, turn.session_id) if each not in given),
        not_seen=tuple(done[-1].not_seen) if done else (),
        no_work_seen=not calls and not below and names_sources(turn.prompt),
        trace=tuple(each.turn_id for each in below),
    )


def delegation_session(tx: Transaction, turn: Turn) -> SessionId:
    """The session that a delegate works for."""
    [parent, *_] = delegations.above(tx, turn)
    return parent.session_id


def _output(tx: Transaction, turn: Turn) -> Any:
    spec = agents.find(tx, turn.owner, turn.agent)
    if spec is None or spec.output_schema is None or turn.status is not TurnStatus.DONE:
        return None
    return _parsed(turn.answer)


def result_of(begun: Sequence[Delegation]) -> str | None:
    """What the model of a parent is told of one call; None while a delegate is at work."""
    receipts = [each.receipt for each in begun if each.receipt is not None]
    if len(receipts) < len(begun):
        return None
    most = 20_000 // max(1, len(receipts))
    return "\n\n".join(receipt_text(each, most) for each in receipts)


def _deliver(
    tx: Transaction, parent: Turn, ended: Delegation, now: datetime
) -> list[EventEnvelope]:
    """Give a receipt to whoever it is for: with the last one of a call, that has its result."""
    receipt = ended.receipt
    assert receipt is not None, "it has just been written"  # noqa: S101 - for the type checker
    for source in receipt.foreign:
        taints.add(tx, parent.session_id, parent.id, source, now, call_id=ended.call_id)
    told: list[Event] = [
        DelegateEnded(
            agent=receipt.agent,
            tool_call_id=ended.call_id,
            delegate_session=shown(receipt.session_id),
            delegate_id=receipt.turn_id,
            status=receipt.status,
            tokens=receipt.tokens,
            cost=receipt.cost,
            seconds=receipt.seconds,
            no_work_seen=receipt.no_work_seen,
        )
    ]
    if ended.background:
        news = events.append(tx, parent.session_id, parent.id, told, now)
        return [*news, *_message(tx, parent, ended, receipt, now)]
    siblings = delegations.below(tx, parent.id, ended.call_id)
    text = result_of(siblings)
    open_calls = {each.call_id: each for each in ledger.unresolved(tx, parent.id)}
    if text is not None and (call := open_calls.get(ended.call_id)) is not None:
        worked = any(each.receipt is not None and each.receipt.done for each in siblings)
        state = CallState.DONE if worked else CallState.FAILED
        ledger.resolve(tx, parent.id, call.call_id, state, json.dumps(text), now)
        told.append(
            ToolReturned(
                tool=call.tool,
                tool_call_id=call.call_id,
                result_preview=tx.redact(text)[:_PREVIEW],
                duration_ms=round((now - ended.created_at).total_seconds() * 1000),
                success=worked,
                outcome=state,
            )
        )
    return events.append(tx, parent.session_id, parent.id, told, now)


def _message(
    tx: Transaction, parent: Turn, ended: Delegation, receipt: Receipt, now: datetime
) -> list[EventEnvelope]:
    """The receipt of a delegate nobody waited for, as a turn of its own at the end of the line."""
    turn = turns.accept(
        tx,
        Turn(
            # A function of the delegate: it is delivered once.
            id=TurnId(f"{ended.turn_id}_receipt"),
            session_id=parent.session_id,
            number=turns.next_number(tx, parent.session_id),
            prompt=f"A delegate that you began has ended.\n\n{receipt_text(receipt)}",
            origin=TurnOrigin.DELEGATE,
            attended=parent.attended,
            status=TurnStatus.QUEUED,
            created_at=now,
            owner=parent.owner,
            mode=parent.mode,
            agent=parent.agent,
        ),
    )
    told = MessageAccepted(content=turn.prompt, origin=turn.origin)
    return events.append(tx, parent.session_id, turn.id, [told], now)


def next_up(tx: Transaction, turn: Turn) -> list[Turn]:
    """The turns that may go on now that another came to rest: in its session, above, and beside."""
    places = [turn.session_id]
    if turn.origin is TurnOrigin.DELEGATE:
        places += [each.session_id for each in delegations.above(tx, turn)[:1]]
    found = [turns.current(tx, session_id) for session_id in places]
    ready = [each for each in found if each is not None and each.status is TurnStatus.QUEUED]
    if turn.origin is TurnOrigin.DELEGATE:
        ready += delegations.startable(tx, turn.owner, MOST_AT_ONCE)
    return ready


def to_go_on(tx: Transaction) -> list[Turn]:
    """The turns that go on when a home is opened; of delegates only as many as may be at work."""
    found = turns.unfinished(tx)
    owners = {turn.owner for turn in found if turn.origin is TurnOrigin.DELEGATE}
    ready = {turn.id for owner in owners for turn in delegations.startable(tx, owner, MOST_AT_ONCE)}
    return [turn for turn in found if not _held(tx, turn) or turn.id in ready]


def _held(tx: Transaction, turn: Turn) -> bool:
    """Whether a turn may have to wait for others of its kind before it begins."""
    begun = turn.origin is TurnOrigin.DELEGATE and turn.status is TurnStatus.QUEUED
    return begun and delegations.find(tx, turn.id) is not None


def lineage(tx: Transaction, turn: Turn) -> list[tuple[Turn, AgentSpec | None]]:
    """A turn and those it is done for, with their agents; empty where that makes no difference."""
    above = delegations.above(tx, turn)
    if not (above or turn.agent or delegations.below(tx, turn.id)):
        return []
    return [
        (each, agents.get(tx, each.owner, each.agent) if each.agent else None)
        for each in (turn, *above)
    ]


def recover(tx: Transaction, now: datetime) -> None:
    """Let turns follow delegates that came to rest while nobody looked, when a home is opened."""
    for parent in delegations.waiting_parents(tx):
        for begun in delegations.below(tx, parent.id):
            approvals.follow(tx, turns.get(tx, begun.turn_id), now)
