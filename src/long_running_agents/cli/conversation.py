"""A conversation at a terminal: reads what is typed, shows what happens, at the same time."""

import asyncio
import logging
import signal
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from long_running_agents.cli import follow, slash
from long_running_agents.cli.access import AgentApi
from long_running_agents.cli.agents import chosen, question_text, taught
from long_running_agents.cli.chat import AUTO
from long_running_agents.cli.live import LeaveError, LiveScreen
from long_running_agents.cli.main import INTERRUPTED, OK
from long_running_agents.cli.render import Renderer, one_line
from long_running_agents.clock import SystemClock
from long_running_agents.domain import events
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.routing import Routing
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import RETRYABLE, Terms, Turn, TurnStatus
from long_running_agents.errors import LraError, ServerAway

log = logging.getLogger(__name__)

_LEAVING = frozenset({"quit", "exit"})
_TICK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How the person wants to begin."""

    session: SessionId | None = None
    newest: bool = False
    """Go on in the newest session."""
    model: str | None = None
    yes: bool = False
    """Allow every call."""
    colored: bool = True
    agent: str | None = None
    """Who answers, or "auto"; as before unless given."""


@dataclass
class _State:
    open: set[TurnId] = field(default_factory=set[TurnId])
    """Turns that have not ended."""
    watched: set[TurnId] = field(default_factory=set[TurnId])
    """Those somebody waits for."""
    questions: list[Approval] = field(default_factory=list[Approval])
    queued: dict[TurnId, str] = field(default_factory=dict[TurnId, str])
    """What was asked by turns in line, to be shown again when their answers come."""
    undecided: tuple[str, Terms, Routing] | None = None
    """What was said to nobody yet, since it may be for several agents."""
    draft: str = ""
    """What was being typed when a question came in between."""
    warned: bool = False
    """Whether the next Ctrl-C leaves."""
    since: float | None = None
    """When the work began that is going on."""
    used: int = 0
    """Tokens of the turn, as of its last step."""
    arrived: int = 0
    """Characters that came since."""


class ChatLoop:
    """One person, one terminal, one session at a time."""

    def __init__(self, agent: AgentApi, options: ChatOptions) -> None:
        self.agent = agent
        self.model = options.model
        self.answering = options.agent
        """The agent that is asked for, "auto", or "" for our own; None for the session's."""
        self.session_id = SessionId("")
        self._options = options
        self._state = _State()
        self._left: int | None = None
        """The exit code, once there is nothing more to wait for."""
        self._unsent: list[tuple[str, bool]] = []
        """What was said while the agent could not be reached, in order, and whether it steers."""
        self._listener: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        # What was typed is for its owner alone, whoever may look into the home.
        agent.home.create()
        agent.home.history.touch(mode=0o600)
        self.screen = LiveScreen(
            history=agent.home.history,
            interrupt=self.interrupt,
            colored=options.colored,
            commands=[f"/{name}" for name in slash.REGISTRY],
        )
        self._clock = SystemClock()
        # That the agent cannot be reached, or can again; what is typed stays.
        agent.tell(lambda news: self.in_background(self.screen.aside(news)))

    async def run(self) -> int:
        """Talk until the person leaves."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)
        try:
            await self._begin()
            self.in_background(self._tick())
            return await self._talk()
        except LeaveError as left:
            return left.exit_code
        except EOFError:
            return OK
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            await self._let_go()

    def interrupt(self) -> None:
        """Ctrl-C: stop the turn, else clear the prompt, else leave at the second time."""
        if self._state.open:
            self.in_background(self.stop())
        elif self.screen.typed:
            self.screen.take_typed()
        elif self._state.warned:
            self.screen.leave(INTERRUPTED)
        else:
            self._state.warned = True
            self.in_background(self.screen.aside("press Ctrl-C again to leave, or Ctrl-D"))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something while the person goes on typing."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def stop(self) -> None:
        """Stop the session's turn."""
        if await self.agent.turns.stop(self.session_id) is None:
            await self.screen.note("nothing is running")

    async def send(self, text: str, *, steer: bool = False, mode: Mode | None = None) -> None:
        """Say something; while a turn runs, it queues, or is given to that turn."""
        terms = Terms(steer=steer, mode=mode, agent=None if steer else self.answering)
        if terms.agent == AUTO:
            routing = await self.agent.agents.route(text)
            if routing.unsure:
                self._state.undecided = text, terms, routing
                await self.screen.aside(question_text(routing))
                return
        await self._send(text, terms)

    async def _send(self, text: str, terms: Terms) -> None:
        turn = await self.agent.turns.start(self.session_id, text, model=self.model, terms=terms)
        waits = bool(self._state.open - {turn.id})
        if waits:
            self._state.queued[turn.id] = text
        self.watch(turn.id)
        if waits:
            how = "given at the next step" if turn.steer else "queued"
            await self.screen.aside(f"{how}: {one_line(text)}")

    async def _decide(self, text: str, terms: Terms, routing: Routing, answer: str) -> None:
        """Send what was said to the agent that the person has chosen, and learn from that."""
        if (name := chosen(routing, answer)) is None:
            await self.screen.aside(question_text(routing))
            return
        self._state.undecided = None
        agent = await taught(self.agent.agents, name, text)
        await self._send(text, replace(terms, agent=agent))

    def watch(self, turn_id: TurnId) -> None:
        """Wait beside the conversation until a turn settles."""
        self._state.open.add(turn_id)
        self._draw()
        if turn_id not in self._state.watched:
            self._state.watched.add(turn_id)
            self.in_background(self._settle(turn_id))

    async def enter(self, session_id: SessionId, *, recall: bool = True) -> None:
        """Go to a session; everything from now on is about it."""
        if self._listener is not None:
            self._listener.cancel()
        self._state = _State()
        self.session_id = session_id
        turns = await self.agent.sessions.turns(session_id) if recall else ()
        unfinished = [turn for turn in turns if not turn.status.ended]
        await self._recall([turn for turn in turns if turn.status.ended and not turn.steer])
        after = await self.agent.known_until(session_id, unfinished)
        self._listener = asyncio.create_task(self._guarded(self._listen(session_id, after)))
        for turn in unfinished:
            self._state.queued[turn.id] = turn.prompt
            self.watch(turn.id)
        self._draw()

    async def begin_new(self) -> None:
        """Go to a session that begins with the next message."""
        now = SystemClock().now()
        await self.enter(SessionId(new_id("session", now)), recall=False)

    async def show_models(self) -> None:
        """Say which model answers, and which others could."""
        answering = await self.model_name()
        others = [name for name in await self.agent.models() if name != answering]
        lines = [f"model: {answering}", *(f"  /model {name}" for name in others)]
        if not others:
            lines.append("no other is at hand; 'lra models list' tells more")
        await self.screen.note("\n".join(lines))

    async def _begin(self) -> None:
        newest = await self.agent.sessions.newest() if self._options.newest else None
        if self._options.session is not None:
            key = self._options.session
            known = await self.agent.find(key) is not None
            await self._greet(key)
            await self.enter(key, recall=known)
        elif newest is not None:
            await self._greet(newest.id)
            await self.enter(newest.id)
        else:
            await self.begin_new()
            await self._greet(self.session_id)
        await self._others()
        if line := await follow.waiting_at(self.agent, slash.SKILLS):
            await self.screen.note(line)

    async def _greet(self, session_id: SessionId) -> None:
        self.session_id = session_id
        model = await self.model_name()
        await self.screen.note(
            f"{self.answering or self.agent.name} with {model}, {session_id}. /help shows commands."
        )

    async def model_name(self) -> str:
        """The model that answers in this session."""
        session = await self.agent.find(self.session_id)
        chosen = self.model or (session.model if session else None)
        return chosen or await self.agent.model() or "no model yet ('lra models list' helps)"

    async def _others(self) -> None:
        """Say what goes on elsewhere in the house."""
        for turn in await self.agent.turns.unfinished():
            if turn.session_id != self.session_id:
                await self.screen.note(
                    f"also running, in {turn.session_id}: {one_line(turn.prompt)}"
                )

    async def _recall(self, turns: Sequence[Turn]) -> None:
        """Show where a session stands: its last words and what hangs in the air."""
        if not turns:
            return
        key, last = self.session_id, turns[-1]
        if len(turns) > 1:
            earlier = len(turns) - 1
            await self.screen.note(f"({earlier} earlier turn{'s' if earlier > 1 else ''})")
        await self.screen.note(f"> {last.prompt}")
        await self.screen.words(last.answer)
        await self.screen.end_words()
        if last.status in RETRYABLE:
            await self.screen.note(f"That turn {last.status}: {last.error}. Retry with /retry")
        for call in await self.agent.sessions.uncertain(key):
            await self.screen.alarm(
                f"UNCERTAIN: {call.tool} {one_line(call.args)} was cut off;"
                " whether it took effect is unknown"
            )

    async def _talk(self) -> int:
        while self._left is None:
            draft, self._state.draft = self._state.draft, ""
            text = await self.screen.read(draft)
            self._state.warned = False
            await self._guarded(self._hear(text, steer=self.screen.steer))
        return self._left

    async def _hear(self, text: str, *, steer: bool) -> None:
        if not text.strip():
            return
        if text.strip().lower() in _LEAVING:
            raise LeaveError(OK)
        if (command := slash.parse(text)) is not None:
            await command.act(self, command.rest)
        elif self._state.questions and not steer:
            await self._answer(text)
        elif self._state.undecided is not None and not steer:
            await self._decide(*self._state.undecided, text)
        elif self.agent.there:
            await self.send(text, steer=steer)
        else:
            # The prompt stays free: the person may want to leave instead.
            self._unsent.append((text, steer))
            await self.screen.aside(f"sent when the server is back: {one_line(text)}")
            if len(self._unsent) == 1:
                self.in_background(self._send_unsent())

    async def _send_unsent(self) -> None:
        while self._unsent:
            text, steer = self._unsent[0]
            await self.send(text, steer=steer)
            self._unsent.pop(0)

    async def _answer(self, text: str) -> None:
        lasting = self._state.questions[0].offer is not None
        verdict = follow.verdict(text, lasting=lasting)
        if verdict is None:
            return
        approval = self._state.questions.pop(0)
        self._draw()
        try:
            await verdict.give(self.agent.turns, approval.id)
        finally:
            # It may have come too late; the turn goes on all the same.
            if not self._state.questions:
                self.watch(approval.turn_id)

    async def _listen(self, session_id: SessionId, after: int) -> None:
        try:
            await self._hear_session(session_id, after)
        except ServerAway as error:
            await self.screen.alarm(f"error: {error.message}\n  {error.hint}")
            self._left = error.exit_code
            self.screen.leave(error.exit_code)

    async def _hear_session(self, session_id: SessionId, after: int) -> None:
        renderer = Renderer(self.screen, usage=True, skills=slash.SKILLS)
        async for heard in self.agent.turns.listen(session_id, after):
            if isinstance(heard, events.EventEnvelope):
                self._note_state(heard)
            else:
                self._count(heard.delta)
            if heard.turn_id is not None and not _waits(heard):
                await self._announce(heard.turn_id)
            await renderer.show(heard)

    def _count(self, delta: events.Delta) -> None:
        state = self._state
        match delta:
            case events.StepBegan(tokens_used=used):
                state.used, state.arrived = used, 0
            case events.WordsArrived(text=text):
                state.arrived += len(text)
            case _:
                pass

    async def _tick(self) -> None:
        """Show how time goes by while something is worked at."""
        while True:
            await self._clock.sleep(_TICK)
            if self._state.open:
                self._draw()

    def _working(self) -> str:
        state = self._state
        if not state.open:
            state.since, state.used, state.arrived = None, 0, 0
            return ""
        now = self._clock.monotonic()
        state.since = now if state.since is None else state.since
        tokens = state.used + estimate_tokens(state.arrived)
        spent = f", {tokens:,} tokens" if tokens else ""
        keys = "Ctrl-C stops, Enter queues, Ctrl-G steers"
        return f"… working {now - state.since:.0f} s{spent} ({keys})"

    async def _announce(self, turn_id: TurnId) -> None:
        """Repeat what a turn was asked, when it has had to wait for its turn."""
        if (asked := self._state.queued.pop(turn_id, None)) is not None:
            await self.screen.end_words()
            await self.screen.aside(f"> {one_line(asked)}")

    def _note_state(self, recorded: events.EventEnvelope) -> None:
        state, turn_id = self._state, recorded.turn_id
        match recorded.event:
            case events.MessageAccepted(origin="work") if turn_id is not None:
                # Nobody typed it: it is watched for what it may have to ask.
                self.watch(turn_id)
            case events.MessageAccepted() if turn_id is not None:
                state.open.add(turn_id)
            case events.ApprovalResolved(approval_id=answered):
                asked = state.questions
                state.questions = [each for each in asked if each.id != answered]
                if asked and not state.questions and turn_id is not None:
                    # Not answered here: it has expired, or another answer was for it, too.
                    self.watch(turn_id)
            case event if isinstance(event, events.CLOSING) and turn_id is not None:
                state.open.discard(turn_id)
                if isinstance(event, events.MessageSteered):
                    # Shown where it was heard; no turn begins with it.
                    state.queued.pop(turn_id, None)
            case _:
                return
        self._draw()

    async def _settle(self, turn_id: TurnId) -> None:
        state = self._state
        try:
            turn = await self.agent.turns.settled(turn_id)
        except ServerAway:
            # Whoever listens tells it.
            return
        except LraError:
            # The disk failed: the turn is over for now, and the person is told why.
            state.open.discard(turn_id)
            self._draw()
            raise
        finally:
            state.watched.discard(turn_id)
        if turn.status.ended:
            state.open.discard(turn_id)
            self._draw()
        if state is self._state and turn.status is TurnStatus.WAITING:
            await self._ask(turn_id)

    async def _ask(self, turn_id: TurnId) -> None:
        state = self._state
        found = await self.agent.turns.open_questions(self.session_id)
        questions = [each for each in found if each.turn_id == turn_id]
        if self._options.yes:
            for approval in questions:
                await self.agent.turns.answer(approval.id, allowed=True)
            self.watch(turn_id)
            return
        for approval in questions:
            if details := follow.details(approval):
                await self.screen.alarm(details)
            if code := await follow.code_asked_about(self.agent, approval):
                await self.screen.alarm(code)
        # A half-typed message is no answer: it is put aside and comes back after the questions.
        state.draft = self.screen.take_typed() or state.draft
        state.questions = questions
        self._draw()

    def _draw(self) -> None:
        questions = self._state.questions
        self.screen.question = follow.question(questions[0]) if questions else ""
        self.screen.status = self._working()
        self.screen.refresh()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except LeaveError:
            raise
        except LraError as error:
            await self.screen.alarm(f"error: {error.message}\n  {error.hint}".rstrip())
        except Exception as error:  # A bug in one task must not end the conversation unheard.
            log.exception("a background task of the conversation broke")
            await self.screen.alarm(f"lra broke: {type(error).__name__}: {error}")

    async def _let_go(self) -> None:
        going_on = bool(self._state.open) and not self._state.questions
        for task in (self._listener, *self._background):
            if task is not None:
                task.cancel()
        await self.screen.end_words()
        for text, _ in self._unsent:
            await self.screen.alarm(f"not sent: {one_line(text)}")
        if going_on:
            await self.screen.note(self.agent.goes_on)
        elif self._state.questions:
            await self.screen.note("the approval stays pending: 'lra approvals list' shows it")


def _waits(heard: events.EventEnvelope | events.DeltaEnvelope) -> bool:
    """Whether this says nothing about a turn's work yet."""
    return isinstance(heard, events.EventEnvelope) and isinstance(
        heard.event, (events.MessageAccepted, events.TurnStopped)
    )
