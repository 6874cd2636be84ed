"""The study: one turn through the agent loop, from where its log ends to where it comes to rest."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

from pydantic_ai import Agent, AgentRetries, DeferredToolRequests, UsageLimits
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage

from long_running_agents.agent import transcript
from long_running_agents.agent.context import Ahead
from long_running_agents.agent.fitting import Fitter, Fitting
from long_running_agents.agent.gauges import Gauges
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.ledger import Ledger
from long_running_agents.agent.limits import BudgetGuard
from long_running_agents.agent.onlookers import Onlookers
from long_running_agents.agent.outcome import Answered, Failed, Limited, Outcome, Stopped, Waiting
from long_running_agents.agent.prompt import Section, instructions, with_client
from long_running_agents.agent.recall import Recall, Recollection
from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.agent.watching import Watching
from long_running_agents.agent.words import Choices, Words
from long_running_agents.domain.brought import Brought, brought
from long_running_agents.domain.budget import LimitHit, Limits
from long_running_agents.domain.fitting import WindowOf
from long_running_agents.domain.policy import Occasion, Rules
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import (
    CorruptData,
    LimitReached,
    LraError,
    ModelUnavailable,
    StorageFailed,
)
from long_running_agents.models.listening import Choice
from long_running_agents.models.pricing import PriceList
from long_running_agents.store.database import Database
from long_running_agents.tools.candidates import candidates
from long_running_agents.tools.client import ClientTools
from long_running_agents.tools.containment import Containment
from long_running_agents.tools.deps import MakeDeps, TurnDeps, for_a_look
from long_running_agents.tools.gate import Gate
from long_running_agents.tools.ring import Rings

log = logging.getLogger(__name__)

_GRACE = 0.5
"""Seconds a stopped turn's tools get to let go before they are left behind."""

# The step limit bounds repetitions; a model that errs may err until then.
_RETRIES = AgentRetries(tools=1_000_000, output=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What the runner needs of the settings."""

    instructions: Callable[[str], Sequence[Section]]
    """What the agent is told first, by whose turn it is."""
    windows: WindowOf
    limits: Mapping[Mode, Limits]
    rules: Rules
    tool_timeout: float
    result_limit: int
    retries: int
    model: ModelSettings
    redact: Redactor
    patience: timedelta | None = None
    """How long a question waits for its answer; None for ever."""


class TurnRunner:
    """Drives turns through Pydantic AI. It never touches sockets, and names no tool or provider."""

    def __init__(
        self,
        *,
        database: Database,
        hub: Hub,
        clock: Clock,
        toolsets: Sequence[AbstractToolset[TurnDeps]],
        settings: RunSettings,
        deps: MakeDeps,
        recall: Recall | None = None,
        onlookers: Onlookers | None = None,
    ) -> None:
        self._toolsets = toolsets
        self._deps = deps
        self._onlookers = onlookers or Onlookers()
        self._recall = recall
        self._database = database
        self._hub = hub
        self._clock = clock
        self._settings = settings
        self._prices = PriceList()
        self._gauges = Gauges(settings.windows)
        self._agent: Agent[TurnDeps, str | DeferredToolRequests] = Agent(
            deps_type=TurnDeps,
            output_type=[str, DeferredToolRequests],
            name="lra",
            toolsets=toolsets,
            retries=_RETRIES,
        )

    async def run(
        self,
        turn: Turn,
        history: list[ModelMessage],
        choices: Choices,
        *,
        fresh: bool,
        seen: bool,
        stopping: Callable[[], bool],
        sources: Sequence[str] = (),
    ) -> Outcome:
        """Take a turn from where its log ends to where it comes to rest.

        Args:
            turn: The turn, claimed by this process.
            history: What came before, this turn's own messages included.
            choices: The model to ask at this moment, then its fallbacks.
            fresh: Whether the turn has no messages of its own yet.
            seen: Whether the history is the whole session.
            stopping: Whether a cancellation means that a person stopped the turn.
            sources: The foreign words that the session has read.
        """
        if not fresh and (answer := _answered(history)) is not None:
            # Died after the last step and before coming to rest: nothing is left to do.
            return Answered(answer, choices()[0].name)
        recorder = TurnRecorder(
            turn,
            database=self._database,
            hub=self._hub,
            clock=self._clock,
            sources=sources,
            patience=self._settings.patience,
        )
        if not fresh:
            await recorder.load()
        client = brought(turn.client_tools)
        fitting = Fitting(choices, self._gauges, self._allowed(client.names))
        new = fresh and turn.attempts <= 1
        recollection = await self._recalled(turn, choices, seen=seen, new=new)
        for source in recollection.foreign:
            await recorder.taint(source)
        run = _Run(
            recorder, fitting, recollection, self._settings, self._clock, self._prices, client
        )
        if self._onlookers.present:
            run.rings = run.watched(self._onlookers)
        work = asyncio.create_task(self._loop(run, turn.prompt if fresh else None, history))
        return await run.watch(work, stopping)

    async def ahead(
        self,
        turn: Turn,
        history: Sequence[ModelMessage],
        choice: Choice,
        *,
        unsaid: str | None,
        seen: bool,
    ) -> Ahead:
        """What the next request of a turn would be made of; nobody is asked, nothing is kept.

        Args:
            turn: The turn, which need not have begun.
            history: What came before, this turn's own messages included.
            choice: The model that would be asked.
            unsaid: The newest message, if it is not in the history.
            seen: Whether the history is the whole session.
        """
        client = brought(turn.client_tools)
        gauge = self._gauges.of(choice)
        recollection = Recollection("")
        if self._recall is not None and turn.prompt:
            recollection = await self._recall.foresee(turn, seen=seen, window=gauge.holds)
        new = [] if unsaid is None else [ModelRequest(parts=[UserPromptPart(unsaid)])]
        messages = [*history, *new]
        look = RunContext(
            deps=for_a_look(self._deps, turn),
            model=choice.model,
            usage=RunUsage(),
            messages=messages,
        )
        tools, hidden = await candidates(self._beside(client), look)
        return Ahead(
            model=choice.name,
            sections=with_client(self._settings.instructions(turn.owner), client.instructions),
            recollection=recollection,
            messages=messages,
            fresh=unsaid is not None,
            tools=tools,
            hidden=hidden,
            fitter=Fitter(gauge, self._allowed(client.names)),
            settings=self._settings.model,
        )

    async def _recalled(
        self, turn: Turn, choices: Choices, *, seen: bool, new: bool
    ) -> Recollection:
        if self._recall is None:
            return Recollection("")
        window = self._gauges.of(choices()[0]).holds
        try:
            return await self._recall.of(turn, seen=seen, window=window, new=new)
        except LraError:
            raise
        except Exception:  # A bug in what a turn can do without must not cost the turn.
            log.exception("turn %s goes on without recalling anything", turn.id)
            return Recollection("")

    def _allowed(self, client: Collection[str]) -> Callable[[str], bool]:
        allow = self._settings.rules.allow
        return lambda tool: allow is None or tool in allow or tool in client

    def _offering(self, client: Brought) -> AbstractContextManager[None]:
        """Offer the client's tools beside ours."""
        if not client.tools:
            return nullcontext()
        return self._agent.override(toolsets=self._beside(client))

    def _beside(self, client: Brought) -> Sequence[AbstractToolset[TurnDeps]]:
        """Our tools and the client's; where two have one name, it means its own."""
        if not client.tools:
            return self._toolsets
        names = client.names
        ours = [each.filtered(lambda _, tool: tool.name not in names) for each in self._toolsets]
        return [*ours, ClientTools(client.tools)]

    async def _loop(self, run: "_Run", prompt: str | None, history: list[ModelMessage]) -> Outcome:
        own = self._settings.instructions(run.recorder.turn.owner)
        with self._offering(run.client):
            result = await self._agent.run(
                prompt,
                message_history=history,
                deps=self._deps(run.recorder.turn, run.recorder.taint, run.gate.consent),
                model=run.words.choices()[0].model,
                model_settings=self._settings.model,
                instructions=instructions(with_client(own, run.client.instructions)),
                usage_limits=UsageLimits(request_limit=None),
                capabilities=[*self._onlookers.inside(), run.rings],
            )
        if isinstance(result.output, DeferredToolRequests):
            return Waiting()
        return Answered(result.output, run.words.answering)


class _Run:
    """The parts that serve one run of a turn."""

    def __init__(
        self,
        recorder: TurnRecorder,
        fitting: Fitting,
        recollection: Recollection,
        settings: RunSettings,
        clock: Clock,
        prices: PriceList,
        client: Brought,
    ) -> None:
        self.client = client
        self.recorder = recorder
        self._clock = clock
        turn = recorder.turn
        self._limits = settings.limits[turn.mode].times(1 + turn.renewals)
        self.words = Words(
            recorder, fitting.choices, retries=settings.retries, limits=self._limits, clock=clock
        )
        self._budget = BudgetGuard(recorder, self._limits, prices)
        occasion = Occasion(origin=turn.origin, attended=turn.attended)
        gate = self.gate = Gate(settings.rules, recorder, occasion, client.names)
        # Outermost first.
        self.rings = Rings(
            [
                gate,
                Ledger(recorder, self.words, prices, gate, client.names),
                recollection,
                fitting,
                self._budget,
                Containment(
                    timeout=settings.tool_timeout,
                    result_limit=settings.result_limit,
                    clock=clock,
                    redact=settings.redact,
                ),
                self.words,
            ]
        )

    def watched(self, onlookers: Onlookers) -> Rings:
        """The rings, with one around them that lets others see."""
        watching = Watching(self.recorder, self.words, onlookers, self._clock)
        return Rings([watching, *self.rings.rings])

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
            return Stopped("".join(self.words.heard), self.recorder.begun_here)
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
            return Limited(self._budget.hit or LimitHit("limit", error.message))
        except (StorageFailed, CorruptData):
            raise
        except LraError as error:
            return Failed(error)
        except AgentRunError as error:
            return Failed(ModelUnavailable(f"The model's answer was of no use: {error}."))
        except Exception as error:  # The outermost ring: a bug ends one turn, not the house.
            log.exception("turn %s failed", self.recorder.turn.id)
            return Failed(LraError(f"Something broke: {type(error).__name__}: {error}."))


def _answered(history: Sequence[ModelMessage]) -> str | None:
    last = history[-1]
    if isinstance(last, ModelResponse) and not transcript.calls_of(last):
        return transcript.text_of(last) or None
    return None
