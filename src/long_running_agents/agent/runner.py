"""One turn through the agent loop, from where its log ends to where it comes to rest."""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage

from long_running_agents.agent import transcript
from long_running_agents.agent.budgets import BudgetBook
from long_running_agents.agent.compaction import Compactor, Summarizer
from long_running_agents.agent.context_window import ContextWindow, TokenEstimates
from long_running_agents.agent.delegation import Delegations
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.ledger import Ledger
from long_running_agents.agent.memory import Recall, Recollection
from long_running_agents.agent.model_request import (
    BudgetGuard,
    Choices,
    ModelStreaming,
    Pictures,
    StructuredOutput,
    bounded,
    picture_prompt,
)
from long_running_agents.agent.recorder import SessionState, TurnRecorder
from long_running_agents.agent.run_settings import (
    FolderWords,
    NextRequest,
    RunSettings,
    Section,
    instructions,
    rule_sections,
    sampled,
    with_agent,
    with_client,
    with_output,
)
from long_running_agents.agent.settle import Answered, Failed, Limited, Outcome, Stopped, Waiting
from long_running_agents.agent.step_loop import Known, Prompt, StepLoop, Toolbox
from long_running_agents.agent.work_guard import WorkGuard, judge_of, tools_for, work_sections
from long_running_agents.domain.agent import AgentSpec, least
from long_running_agents.domain.budget import LimitHit, Limits
from long_running_agents.domain.compaction import render
from long_running_agents.domain.policy import Occasion, PolicyRules
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import AnswerForm, ClientRequest, Turn, brought
from long_running_agents.domain.work import PlanPolicy, WorkPhase, WorkView
from long_running_agents.errors import (
    CorruptData,
    LimitReached,
    LraError,
    ModelUnavailable,
    StorageFailed,
    UsageError,
)
from long_running_agents.models.factory import PriceList
from long_running_agents.models.retry import FallbackChoice
from long_running_agents.observe.observers import ObserverMiddleware, Observers
from long_running_agents.store import folds, works
from long_running_agents.store.database import Database
from long_running_agents.tools.catalog import ClientTools, candidates, within
from long_running_agents.tools.deps import MakeDeps, TurnDeps, preview_deps
from long_running_agents.tools.evidence import check_again, check_unclaimed, digests
from long_running_agents.tools.gate import Gate
from long_running_agents.tools.middleware import ErrorContainment, MiddlewareStack, TurnMiddleware

log = logging.getLogger(__name__)


_GRACE = 0.5
"""Seconds a stopped turn's tools get to let go before they are left behind."""


@dataclass(kw_only=True)
class TurnRunner:
    """Drives turns through the loop. It never touches sockets, and names no tool or provider."""

    database: Database
    hub: Hub
    clock: Clock
    toolsets: Sequence[AbstractToolset[TurnDeps]]
    settings: RunSettings
    book: BudgetBook
    deps: MakeDeps
    work_toolsets: Sequence[AbstractToolset[TurnDeps]] = ()
    """What a turn of a work has beside."""
    delegations: Delegations | None = None
    """Hands work to other agents."""
    recall: Recall | None = None
    observers: Observers = field(default_factory=Observers)
    compactor: Compactor | None = None

    def __post_init__(self) -> None:
        self._prices = PriceList()
        self._estimates = TokenEstimates(self.settings.windows, self.settings.history)
        self._known: Known = {}

    @property
    def patience(self) -> timedelta | None:
        """How long a question waits for its answer, and a call for its client; None for ever."""
        return self.settings.patience

    async def run(
        self,
        turn: Turn,
        history: list[ModelMessage],
        choices: Choices,
        *,
        fresh: bool,
        seen: bool,
        stopping: Callable[[], bool],
        state: SessionState,
    ) -> Outcome:
        """Take a turn from where its log ends to where it comes to rest.

        Args:
            turn: The turn, claimed by this process.
            history: What came before, this turn's own messages included.
            choices: The model to ask at this moment, then its fallbacks.
            fresh: Whether the turn has no messages of its own yet.
            seen: Whether the history is the whole session.
            stopping: Whether a cancellation means that a person stopped the turn.
            state: What the session has for it.
        """
        client = with_output(brought(turn.client_tools), state.agent)
        recorder = self._recorder(turn, state)
        answer = None if fresh or client.form is not None else _answered(history)
        if answer is not None:
            # Died after the last step and before coming to rest: nothing is left to do.
            return await self._checked(recorder, Answered(answer, choices()[0].name), choices)
        if state.agent is not None and state.agent.chain is not None:
            return await self._chain(turn, state.agent)
        if not fresh:
            await recorder.load()
        window = self._window(
            turn, lambda: bounded(choices(), recorder.account, self._prices), client, seen=seen
        )
        new = fresh and turn.attempts <= 1
        told = self._sections(turn, state.agent, client)
        seen = seen and self._estimates.of(choices()[0]).holds_all(history, instructions(told))
        recollection = Recollection("")
        if state.bounds.memory:
            recollection = await self._recalled(turn, choices, seen=seen, new=new)
        settings = replace(self.settings, rules=self._rules(state))
        words = FolderWords(recorder, told, self._estimates.of(choices()[0]).holds)
        run = _Run(
            recorder, window, recollection, words, settings, self.clock, self._prices, client
        )
        run.sections, run.state = told, state
        if self.observers.present:
            run.stack = run.watched(self.observers)
        said = picture_prompt(turn.prompt, client.pictures) if fresh else None
        work = asyncio.create_task(self._loop(run, said, history))
        outcome = await run.watch(work, stopping)
        if isinstance(outcome, Answered):
            outcome = await self._checked(recorder, outcome, choices)
        if self.compactor is not None and window.leaving > 1 and isinstance(outcome, Answered):
            self.compactor.want(turn, window.leaving, self.summarizer(choices()[0]))
        return outcome

    def _recorder(self, turn: Turn, state: SessionState) -> TurnRecorder:
        recorder = TurnRecorder(
            turn,
            database=self.database,
            hub=self.hub,
            clock=self.clock,
            state=state,
            book=self.book,
            limits=least(self._limits(turn, state.agent), state.limits),
            patience=self.settings.patience,
        )
        recorder.account.above = self._above(state)
        return recorder

    def _sections(
        self, turn: Turn, agent: AgentSpec | None, client: ClientRequest
    ) -> list[Section]:
        return with_client(with_agent(self.settings.instructions(turn.owner), agent), client)

    async def _chain(self, turn: Turn, agent: AgentSpec) -> Outcome:
        """Take a chain of agents from where it stands to where it waits for one, or ends."""
        if self.delegations is None:
            raise UsageError("Nobody can be delegated to here.")
        answer = await self.delegations.advance(turn, agent)
        return Waiting() if answer is None else Answered(answer, "chain")

    def _above(self, state: SessionState) -> list[tuple[Turn, Limits]]:
        """The turns with delegates on the way up, and the tokens and money that each may use."""
        found: list[tuple[Turn, Limits]] = []
        for turn, agent in state.lineage:
            limits = self._limits(turn, agent)
            if limits.takes_holds:
                found.append((turn, Limits(tokens=limits.tokens, cost=limits.cost)))
        return found

    def _limits(self, turn: Turn, agent: AgentSpec | None = None) -> Limits:
        """What a turn may use; steps and tokens of a work are for all of its turns together."""
        limits = self.settings.limits[turn.mode].times(1 + turn.renewals)
        if agent is not None:
            limits = least(limits, agent.budget.times(1 + turn.renewals))
        return limits if turn.work_id is None else replace(limits, steps=None, tokens=None)

    def _rules(self, state: SessionState) -> PolicyRules:
        enforced = [policy for rule in state.rules for policy in rule.enforced]
        usual, bounds = self.settings.rules.beside(enforced), state.bounds
        asking = {*usual.require_approval, *bounds.approvals}
        rules = replace(usual, bounds=bounds, require_approval=asking)
        bound = state.work is not None and state.work.work.policy is PlanPolicy.AUTO_WITHIN_SCOPE
        return replace(rules, scope=state.work.work.scope) if state.work and bound else rules

    def _work_deps(
        self, recorder: TurnRecorder, gate: Gate, choices: Choices, folder: str = ""
    ) -> TurnDeps:
        """What the tools of a turn can touch; those of a work have tasks checked."""
        turn = recorder.turn
        deps = self.deps(turn, recorder.taint, gate.consent, folder)
        if self.delegations is not None:
            deps = replace(deps, delegate=partial(self.delegations.start, turn))
        if recorder.work is None or self.compactor is None:
            return deps
        judge = judge_of(self.compactor.asked, turn, choices()[0].name)
        return replace(deps, permits=gate.permits, judge=judge)

    async def _checked(
        self, recorder: TurnRecorder, answered: Answered, choices: Choices
    ) -> Answered:
        """Look again at what a work has proven, or at what its plan protects, before it goes on."""
        view, turn = recorder.work, recorder.turn
        if view is None:
            return answered
        rules = self._rules(SessionState(work=view, rules=recorder.rules))
        gate = Gate(rules, recorder, Occasion(origin=turn.origin, attended=turn.attended))
        deps = self._work_deps(recorder, gate, choices)
        fresh = await self.database.read(lambda tx: works.view(tx, works.get(tx, view.work.id)))
        if fresh.work.phase in (WorkPhase.EXECUTING, WorkPhase.REVIEWING):
            cause, step = f"{turn.id}/end", recorder.spent.steps + 1
            if fresh.work.phase is WorkPhase.EXECUTING:
                await check_unclaimed(deps, fresh, cause, step)
            await check_again(deps, fresh, cause, step)
            return answered
        frozen = await asyncio.to_thread(digests, deps, fresh.leaves)
        return replace(answered, frozen=frozen)

    def summarizer(self, choice: FallbackChoice) -> Summarizer:
        """Who sums up what a model is not shown any more; half of its window is for the words."""
        estimate = self._estimates.of(choice)
        # A small model's summaries are worse than lines.
        name = "" if estimate.small else choice.name
        return Summarizer(name, int(estimate.used / estimate.ratio / 2) * 3)

    def _window(
        self, turn: Turn, choices: Choices, client: ClientRequest, *, seen: bool
    ) -> ContextWindow:
        async def block(before: int, room: int) -> str:
            kept = await self.database.read(
                lambda tx: folds.standing_block(tx, turn.session_id, before)
            )
            return render(kept, room) if kept.hidden else ""

        return ContextWindow(
            choices,
            self._estimates,
            self._allowed(client.names),
            turn=turn.number,
            earlier=not seen,
            block=block,
        )

    async def ahead(
        self,
        turn: Turn,
        history: Sequence[ModelMessage],
        choice: FallbackChoice,
        *,
        unsaid: str | None,
        seen: bool,
        state: SessionState,
    ) -> NextRequest:
        """What the next request of a turn would be made of; nobody is asked, nothing is kept."""
        client = with_output(brought(turn.client_tools), state.agent)
        estimate = self._estimates.of(choice)
        sections = [*self._sections(turn, state.agent, client), *rule_sections(state.rules)]
        window = self._window(turn, lambda: [choice], client, seen=seen)
        recollection = Recollection("")
        if self.recall is not None and turn.prompt and state.bounds.memory:
            seen = seen and estimate.holds_all(history, instructions(sections))
            recollection = await self.recall.foresee(turn, seen=seen, window=estimate.holds)
        new = [] if unsaid is None else [ModelRequest(parts=[UserPromptPart(unsaid)])]
        messages = [*history, *new]
        look = RunContext(
            deps=preview_deps(self.deps, turn),
            model=choice.model,
            usage=RunUsage(),
            messages=messages,
        )
        offered = within(self._beside(client), state.bounds, client.names)
        tools, hidden = await candidates(offered, look)
        return NextRequest(
            model=choice.name,
            sections=sections,
            recollection=recollection,
            messages=messages,
            fresh=unsaid is not None,
            tools=tools,
            hidden=hidden,
            window=window,
            fitter=window.fitter(choice),
            settings=sampled(self.settings.model, state.agent),
        )

    async def _recalled(
        self, turn: Turn, choices: Choices, *, seen: bool, new: bool
    ) -> Recollection:
        if self.recall is None:
            return Recollection("")
        window = self._estimates.of(choices()[0]).holds
        try:
            return await self.recall.of(turn, seen=seen, window=window, new=new)
        except LraError:
            raise
        except Exception:  # A bug in what a turn can do without must not cost the turn.
            log.exception("turn %s goes on without recalling anything", turn.id)
            return Recollection("")

    def _allowed(self, client: Collection[str]) -> Callable[[str], bool]:
        allow = self.settings.rules.allow
        return lambda tool: allow is None or tool in allow or tool in client

    def _beside(self, client: ClientRequest) -> Sequence[AbstractToolset[TurnDeps]]:
        """Our tools and the client's; where two have one name, it means its own."""
        if not client.tools:
            return self.toolsets
        names = client.names
        ours = [each.filtered(lambda _, tool: tool.name not in names) for each in self.toolsets]
        return [*ours, ClientTools(client.tools)]

    def _offered(
        self, turn: Turn, state: SessionState, work: WorkView | None, client: ClientRequest
    ) -> Sequence[AbstractToolset[TurnDeps]]:
        """The tools of a turn; a work has some more, and at times only those that read."""
        tools = within(self._beside(client), state.bounds, client.names)
        return tools if work is None else tools_for(work, turn, [*tools, *self.work_toolsets])

    async def _loop(
        self, run: "_Run", prompt: Prompt | None, history: list[ModelMessage]
    ) -> Outcome:
        # Died after an answer that has a form to be looked at.
        output = None if prompt is not None else _answered(history)
        loop = self._step_loop(run)
        while True:
            if output is None:
                output, history = await loop.run(prompt, history)
            if output is None:
                return Waiting()
            text, wrong = await run.output_form.read(output)
            if not wrong:
                return Answered(text, run.streaming.answering)
            history, prompt, output = run.output_form.repair(history, wrong), None, None

    def _step_loop(self, run: "_Run") -> "StepLoop":
        turn, choices = run.recorder.turn, run.streaming.choices
        deps = self._work_deps(run.recorder, run.gate, choices, run.state.bounds.folder)
        run.words.deps = deps
        return StepLoop(
            choices=choices,
            toolbox=Toolbox(
                self._offered(turn, run.state, run.recorder.work, run.client), self._known
            ),
            deps=deps,
            settings=sampled(self.settings.model, run.state.agent),
            instructions=run.instructions,
            stack=run.stack,
            observers=self.observers,
        )


class _Run:
    """The parts that serve one run of a turn."""

    def __init__(
        self,
        recorder: TurnRecorder,
        window: ContextWindow,
        recollection: Recollection,
        words: FolderWords,
        settings: RunSettings,
        clock: Clock,
        prices: PriceList,
        client: ClientRequest,
    ) -> None:
        self.client = client
        self.words = words
        self.sections: Sequence[Section] = ()
        self.state = SessionState()
        self.recorder = recorder
        self._clock = clock
        turn = recorder.turn
        self._limits = recorder.account.own().limits
        self.streaming = ModelStreaming(
            recorder, window.choices, retries=settings.retries, limits=self._limits, clock=clock
        )
        self.output_form = StructuredOutput(client.form or AnswerForm(), recorder, window.choices)
        occasion = Occasion(origin=turn.origin, attended=turn.attended)
        gate = self.gate = Gate(settings.rules, recorder, occasion, client.names)
        self._middleware = TurnMiddleware(
            gate=gate,
            ledger=Ledger(recorder, self.streaming, prices, gate, client.names),
            recall=recollection,
            project=words,
            context_window=window,
            work=None if recorder.work is None else WorkGuard(recorder),
            budget=BudgetGuard(recorder),
            containment=ErrorContainment(
                timeout=settings.tool_timeout,
                result_limit=settings.result_limit,
                clock=clock,
                redact=settings.redact,
            ),
            structured_output=self.output_form,
            pictures=Pictures(recorder, client.pictures, window.choices),
            streaming=self.streaming,
        )
        self.stack = self._middleware.stack()

    def instructions(self) -> str:
        """What each request begins with: rules may be pinned while it runs."""
        own = [*rule_sections(self.recorder.rules), *work_sections(self.recorder.work)]
        return instructions([*self.sections, *own])

    def watched(self, observers: Observers) -> MiddlewareStack:
        """The middleware, with one around it that lets others see."""
        watching = ObserverMiddleware(self.recorder, self.streaming, observers, self._clock)
        return replace(self._middleware, observers=watching).stack()

    async def watch(self, work: asyncio.Task[Outcome], stopping: Callable[[], bool]) -> Outcome:
        """Wait for the work, but not longer than the turn may run, nor after it was cancelled."""
        alarm = asyncio.create_task(self._alarm())
        try:
            await asyncio.wait({work, alarm}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._leave(work)
                seconds = self._limits.seconds or 0.0
                return Limited(LimitHit("seconds", f"the turn has run for {seconds:g} seconds"))
            return self._outcome(work)
        except asyncio.CancelledError:
            await self._leave(work)
            task = asyncio.current_task()
            if not stopping() or task is None:
                raise
            task.uncancel()
            return Stopped("".join(self.streaming.heard), self.recorder.begun_here)
        finally:
            alarm.cancel()
            self.recorder.close()

    async def _alarm(self) -> None:
        if self._limits.seconds is None:
            await asyncio.get_running_loop().create_future()
        else:
            await self._clock.sleep(self._limits.seconds - self.recorder.seconds())

    async def _leave(self, work: asyncio.Task[Outcome]) -> None:
        """Cancel the work; a tool that does not let go in time is left behind, unheard."""
        work.cancel()
        await asyncio.wait([work], timeout=_GRACE)
        self.recorder.close()

    def _outcome(self, work: asyncio.Task[Outcome]) -> Outcome:
        try:
            return work.result()
        except LimitReached as error:
            return Limited(self.recorder.account.hit or LimitHit("limit", error.message))
        except (StorageFailed, CorruptData):
            raise
        except LraError as error:
            return Failed(error)
        except AgentRunError as error:
            return Failed(ModelUnavailable(f"The model's answer was of no use: {error}."))
        except Exception as error:  # The outermost handler: a bug ends one turn, not the process.
            log.exception("turn %s failed", self.recorder.turn.id)
            return Failed(LraError(f"Something broke: {type(error).__name__}: {error}."))


def _answered(history: Sequence[ModelMessage]) -> str | None:
    last = history[-1]
    if isinstance(last, ModelResponse) and not transcript.calls_of(last):
        return transcript.text_of(last) or None
    return None
