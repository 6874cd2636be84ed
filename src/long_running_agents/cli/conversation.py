"""A conversation at a terminal: reads what is typed, shows what happens, at the same time."""

import asyncio
import logging
import signal
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from long_running_agents.cli import asking, skill_asking, slash
from long_running_agents.cli.desk import Desk
from long_running_agents.cli.failures import INTERRUPTED, OK
from long_running_agents.cli.live import LeaveError, LiveScreen
from long_running_agents.cli.render import Renderer, one_line
from long_running_agents.clock import SystemClock
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.events import (
    CLOSING,
    ApprovalResolved,
    MessageAccepted,
    Passing,
    Recorded,
    TurnStopped,
)
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.turn import RETRYABLE, Turn, TurnStatus
from long_running_agents.errors import LraError, ServerAway

log = logging.getLogger(__name__)

_WORKING = "… working (Ctrl-C stops, Enter queues)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How the person wants to begin."""

    session: SessionId | None = None
    newest: bool = False
    """Go on in the newest session."""
    model: str | None = None
    yes: bool = False
    """Allow every call."""
    colored: bool = True


@dataclass
class _State:
    open: set[TurnId] = field(default_factory=set[TurnId])
    """Turns that have not ended."""
    watched: set[TurnId] = field(default_factory=set[TurnId])
    """Those somebody waits for."""
    questions: list[Approval] = field(default_factory=list[Approval])
    queued: dict[TurnId, str] = field(default_factory=dict[TurnId, str])
    """What was asked by turns in line, to be shown again when their answers come."""
    draft: str = ""
    """What was being typed when a question came in between."""
    warned: bool = False
    """Whether the next Ctrl-C leaves."""


class Conversation:
    """One person, one terminal, one session at a time."""

    def __init__(self, desk: Desk, wishes: Wishes) -> None:
        self.desk = desk
        self.model = wishes.model
        self.session_id = SessionId("")
        self._wishes = wishes
        self._state = _State()
        self._left: int | None = None
        """The exit code, once there is nothing more to wait for."""
        self._unsent: list[str] = []
        """What was said while the agent could not be reached, in order."""
        self._ear: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[None]] = set()
        # What was typed is for its owner alone, whoever may look into the home.
        desk.home.create()
        desk.home.history.touch(mode=0o600)
        self.screen = LiveScreen(
            history=desk.home.history, interrupt=self.interrupt, colored=wishes.colored
        )
        desk.tell(self._reachable)

    async def run(self) -> int:
        """Talk until the person leaves."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)
        try:
            await self._begin()
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
            self.errand(self.stop())
        elif self.screen.typed:
            self.screen.take_typed()
        elif self._state.warned:
            self.screen.leave(INTERRUPTED)
        else:
            self._state.warned = True
            self.errand(self.screen.aside("press Ctrl-C again to leave, or Ctrl-D"))

    def errand(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something while the person goes on typing."""
        task = asyncio.get_running_loop().create_task(self._told(work))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def stop(self) -> None:
        """Stop the session's turn."""
        if await self.desk.turns.stop(self.session_id) is None:
            await self.screen.note("nothing is running")

    async def send(self, text: str) -> None:
        """Say something; it queues while a turn runs."""
        turn = await self.desk.turns.start(self.session_id, text, model=self.model)
        waits = bool(self._state.open - {turn.id})
        if waits:
            self._state.queued[turn.id] = text
        self.watch(turn.id)
        if waits:
            await self.screen.aside(f"queued: {one_line(text)}")

    def watch(self, turn_id: TurnId) -> None:
        """Wait beside the conversation until a turn settles."""
        self._state.open.add(turn_id)
        self._draw()
        if turn_id not in self._state.watched:
            self._state.watched.add(turn_id)
            self.errand(self._settle(turn_id))

    async def enter(self, session_id: SessionId, *, recall: bool = True) -> None:
        """Go to a session; everything from now on is about it."""
        if self._ear is not None:
            self._ear.cancel()
        self._state = _State()
        self.session_id = session_id
        told = await self.desk.sessions.turns(session_id) if recall else ()
        unfinished = [turn for turn in told if not turn.status.ended]
        await self._recall([turn for turn in told if turn.status.ended])
        after = await self.desk.known_until(session_id, unfinished)
        self._ear = asyncio.create_task(self._told(self._listen(session_id, after)))
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
        others = [name for name in await self.desk.models() if name != answering]
        lines = [f"model: {answering}", *(f"  /model {name}" for name in others)]
        if not others:
            lines.append("no other is at hand; 'lra models list' tells more")
        await self.screen.note("\n".join(lines))

    async def _begin(self) -> None:
        newest = await self.desk.sessions.newest() if self._wishes.newest else None
        if self._wishes.session is not None:
            key = self._wishes.session
            known = await self.desk.find(key) is not None
            await self._greet(key)
            await self.enter(key, recall=known)
        elif newest is not None:
            await self._greet(newest.id)
            await self.enter(newest.id)
        else:
            await self.begin_new()
            await self._greet(self.session_id)
        await self._others()
        if line := await skill_asking.waiting_at(self.desk, slash.SKILLS):
            await self.screen.note(line)

    async def _greet(self, session_id: SessionId) -> None:
        self.session_id = session_id
        model = await self.model_name()
        await self.screen.note(
            f"{self.desk.agent} with {model}, {session_id}. /help shows commands."
        )

    async def model_name(self) -> str:
        """The model that answers in this session."""
        session = await self.desk.find(self.session_id)
        chosen = self.model or (session.model if session else None)
        return chosen or await self.desk.model() or "no model yet ('lra models list' helps)"

    async def _others(self) -> None:
        """Say what goes on elsewhere in the house."""
        for turn in await self.desk.turns.unfinished():
            if turn.session_id != self.session_id:
                await self.screen.note(
                    f"also at work, in {turn.session_id}: {one_line(turn.prompt)}"
                )

    async def _recall(self, told: Sequence[Turn]) -> None:
        """Show where a session stands: its last words and what hangs in the air."""
        if not told:
            return
        key, last = self.session_id, told[-1]
        if len(told) > 1:
            earlier = len(told) - 1
            await self.screen.note(f"({earlier} earlier turn{'s' if earlier > 1 else ''})")
        await self.screen.words(f"> {last.prompt}\n{last.answer}")
        await self.screen.end_words()
        if last.status in RETRYABLE:
            await self.screen.note(f"that turn {last.status}: {last.error}. /retry goes on with it")
        for call in await self.desk.sessions.uncertain(key):
            await self.screen.alarm(
                f"UNCERTAIN: {call.tool} {one_line(call.args)} was cut off;"
                " whether it took effect is unknown"
            )

    async def _talk(self) -> int:
        while self._left is None:
            draft, self._state.draft = self._state.draft, ""
            text = await self.screen.read(draft)
            self._state.warned = False
            await self._told(self._hear(text))
        return self._left

    async def _hear(self, text: str) -> None:
        if not text.strip():
            return
        if (command := slash.parse(text)) is not None:
            await command.act(self, command.rest)
        elif self._state.questions:
            await self._answer(text)
        elif self.desk.there:
            await self.send(text)
        else:
            # The prompt stays free: the person may want to leave instead.
            self._unsent.append(text)
            await self.screen.aside(f"sent when the server is back: {one_line(text)}")
            if len(self._unsent) == 1:
                self.errand(self._send_unsent())

    async def _send_unsent(self) -> None:
        while self._unsent:
            await self.send(self._unsent[0])
            self._unsent.pop(0)

    async def _answer(self, text: str) -> None:
        lasting = self._state.questions[0].offer is not None
        verdict = asking.verdict(text, lasting=lasting)
        if verdict is None:
            return
        approval = self._state.questions.pop(0)
        self._draw()
        try:
            await self.desk.turns.answer(
                approval.id,
                allowed=verdict.allowed,
                reason=verdict.reason,
                lasting=verdict.lasting,
            )
        finally:
            # It may have come too late; the turn goes on all the same.
            if not self._state.questions:
                self.watch(approval.turn_id)

    def _reachable(self, news: str) -> None:
        """Tell that the agent cannot be reached, or can again; what is typed stays."""
        self.errand(self.screen.aside(news))

    async def _listen(self, session_id: SessionId, after: int) -> None:
        try:
            await self._hear_session(session_id, after)
        except ServerAway as error:
            await self.screen.alarm(f"error: {error.message}\n  {error.hint}")
            self._left = error.exit_code
            self.screen.leave(error.exit_code)

    async def _hear_session(self, session_id: SessionId, after: int) -> None:
        renderer = Renderer(self.screen, usage=True, skills=slash.SKILLS)
        async for heard in self.desk.turns.listen(session_id, after):
            if isinstance(heard, Recorded):
                self._note_state(heard)
            if heard.turn_id is not None and not _waits(heard):
                await self._announce(heard.turn_id)
            await renderer.show(heard)

    async def _announce(self, turn_id: TurnId) -> None:
        """Repeat what a turn was asked, when it has had to wait for its turn."""
        if (asked := self._state.queued.pop(turn_id, None)) is not None:
            await self.screen.end_words()
            await self.screen.aside(f"> {one_line(asked)}")

    def _note_state(self, recorded: Recorded) -> None:
        state, turn_id = self._state, recorded.turn_id
        match recorded.event:
            case MessageAccepted() if turn_id is not None:
                state.open.add(turn_id)
            case ApprovalResolved(approval_id=answered):
                asked = state.questions
                state.questions = [each for each in asked if each.id != answered]
                if asked and not state.questions and turn_id is not None:
                    # Not answered here: it has expired, or another answer was for it, too.
                    self.watch(turn_id)
            case event if isinstance(event, CLOSING) and turn_id is not None:
                state.open.discard(turn_id)
            case _:
                return
        self._draw()

    async def _settle(self, turn_id: TurnId) -> None:
        state = self._state
        try:
            turn = await self.desk.turns.settled(turn_id)
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
        found = await self.desk.turns.open_questions(self.session_id)
        questions = [each for each in found if each.turn_id == turn_id]
        if self._wishes.yes:
            for approval in questions:
                await self.desk.turns.answer(approval.id, allowed=True)
            self.watch(turn_id)
            return
        for approval in questions:
            if details := asking.details(approval):
                await self.screen.alarm(details)
            if code := await skill_asking.code_asked_about(self.desk, approval):
                await self.screen.alarm(code)
        # A half-typed message is no answer: it is put aside and comes back after the questions.
        state.draft = self.screen.take_typed() or state.draft
        state.questions = questions
        self._draw()

    def _draw(self) -> None:
        questions = self._state.questions
        self.screen.question = asking.question(questions[0]) if questions else ""
        self.screen.status = _WORKING if self._state.open else ""
        self.screen.refresh()

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except LeaveError:
            raise
        except LraError as error:
            await self.screen.alarm(f"error: {error.message}\n  {error.hint}".rstrip())
        except Exception as error:  # A bug in one errand must not end the conversation unheard.
            log.exception("an errand of the conversation broke")
            await self.screen.alarm(f"lra broke: {type(error).__name__}: {error}")

    async def _let_go(self) -> None:
        going_on = bool(self._state.open) and not self._state.questions
        for task in (self._ear, *self._errands):
            if task is not None:
                task.cancel()
        await self.screen.end_words()
        for text in self._unsent:
            await self.screen.alarm(f"not sent: {one_line(text)}")
        if going_on:
            await self.screen.note(self.desk.goes_on)
        elif self._state.questions:
            await self.screen.note("the question waits: 'lra approvals list' shows it")


def _waits(heard: Recorded | Passing) -> bool:
    """Whether this says nothing about a turn's work yet."""
    return isinstance(heard, Recorded) and isinstance(heard.event, (MessageAccepted, TurnStopped))
