"""What the agent sees: a session's next request, each part with what it takes of the window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from long_running_agents.agent import delegation, history, transcript
from long_running_agents.agent.compaction import Compactor, spoken
from long_running_agents.agent.context_window import FRAME, FittedRequest
from long_running_agents.agent.memory import item
from long_running_agents.agent.model_request import SideRequest
from long_running_agents.agent.recorder import SessionState
from long_running_agents.agent.run_settings import NextRequest
from long_running_agents.agent.run_settings import instructions as instructions_text
from long_running_agents.agent.runner import TurnRunner
from long_running_agents.domain import context_window
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.compaction import (
    ContextProbe,
    Fold,
    StandingBlock,
    probes,
    unnamed,
)
from long_running_agents.domain.context_window import HistoryWindow, MessageForm, MessageRole
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Memory, MemoryKind, Trust
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE, Session
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.memory.words import line
from long_running_agents.models.factory import ModelSource, weigh
from long_running_agents.store import agents, folds, messages, rules, sessions, turns
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.messages import StoredMessage
from long_running_agents.tools import selection
from long_running_agents.tools.catalog import OfferCandidate, ToolKind

ToolState = Literal["offered", "short", "left_out"]
"""Offered as it is, offered with no more than a sentence, or not offered."""

_SHORT = 200
"""Characters of a message that are shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInstruction:
    """A part of the instructions."""

    source: str
    """`base`, `SOUL.md`, `USER.md`, `AGENTS.md`, `rules`, or `client` for what a program brings."""
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMemory:
    """A memory that comes to mind."""

    id: int
    kind: MemoryKind
    trust: Trust
    source: str
    session_id: str | None
    at: datetime
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMessage:
    """A message of the session's log."""

    role: transcript.Role
    text: str
    """Its beginning."""
    tokens: int
    """What it takes as it is shown; of one that is left out, what it would take."""
    shown: MessageForm
    """Whole; short, with long results and arguments cut; as a line of a summary; or left out."""
    reason: Literal["", "window"] = ""
    """Why it is not shown whole: the model's window, or as much as is used of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTool:
    """A tool that is offered, or could be."""

    name: str
    kind: ToolKind
    """Shipped, made, a foreign server's, brought along for the turn, or a program's own."""
    tokens: int
    """What it takes as it is offered; of one that is left out, what it would take."""
    state: ToolState
    """As it is, with no more than a sentence, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextShares:
    """What each part of a request takes, in tokens as they are estimated."""

    instructions: int
    memories: int
    block: int
    """For what stands in the place of turns that are left out."""
    history: int
    prompt: int
    tools: int
    protocol: int
    """For what comes to a request on its way."""

    @property
    def total(self) -> int:
        """All of it."""
        said = self.memories + self.block + self.history + self.prompt
        return self.instructions + said + self.tools + self.protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The next request as it would be made."""

    model: str
    window: int | None
    """How many tokens the model holds; None when nobody knows."""
    prompt: str
    """The newest message, if it is not in the log yet."""
    instructions: list[ContextInstruction]
    memories: list[ContextMemory]
    degraded: str
    """Why only a part of the memory could be searched; empty when all of it was."""
    block: str
    """What stands in the place of the turns that are left out: the standing block, with folds."""
    history: list[ContextMessage]
    """Without the newest message, if that is `prompt`."""
    tools: list[ContextTool]
    shares: ContextShares
    problem: str = ""
    """Why the request could not be made; then all of it is shown as if it fitted."""


async def measured(ahead: NextRequest, asked: str = "") -> Context:
    """Fit a request as it would be fitted, and say what became of each part."""
    noted, fitted, problem = await _fitted(ahead)
    shares = _shares(ahead, noted, fitted)
    recalled = ahead.recollection.recalled
    return Context(
        model=ahead.model,
        window=ahead.fitter.estimate.holds,
        prompt=asked,
        instructions=[
            ContextInstruction(source=part.source, text=part.text, tokens=_tokens(part.text))
            for part in ahead.sections
        ],
        memories=[_recollected(memory) for memory in recalled.memories],
        degraded=recalled.degraded,
        block=fitted.block,
        history=_history(ahead, fitted),
        tools=_tools(ahead, fitted),
        shares=shares,
        problem=problem,
    )


async def _fitted(ahead: NextRequest) -> tuple[list[ModelMessage], FittedRequest, str]:
    """The conversation with what comes to mind, what is shown of it, and why it does not fit."""
    noted = ahead.recollection.beside(ahead.messages)
    parameters = ModelRequestParameters(
        function_tools=[each.definition for each in ahead.tools],
        instruction_parts=[InstructionPart(content=instructions_text(ahead.sections))],
    )
    try:
        ahead.window.take(noted, parameters)
        return noted, await ahead.window.fit(ahead.fitter, ahead.settings), ""
    except (ConfigError, UsageError) as error:
        return noted, ahead.fitter.whole(noted, parameters), str(error)


def _shares(
    ahead: NextRequest, noted: Sequence[ModelMessage], fitted: FittedRequest
) -> ContextShares:
    tools = selection.takes(fitted.parameters.function_tools)
    instructions = _tokens(instructions_text(ahead.sections))
    memories = sum(map(_size, noted)) - sum(map(_size, ahead.messages))
    asked = _size(ahead.messages[-1]) if ahead.fresh else 0
    block = _tokens(fitted.block) if fitted.block else 0
    rest = fitted.tokens - tools - instructions - FRAME - memories - asked - block
    return ContextShares(
        instructions=instructions,
        memories=memories,
        block=block,
        history=max(rest, 0),
        prompt=asked,
        tools=tools,
        protocol=FRAME,
    )


def _history(ahead: NextRequest, fitted: FittedRequest) -> list[ContextMessage]:
    """The messages of the log that were chosen from, as they are shown."""
    logged = ahead.messages[:-1] if ahead.fresh else ahead.messages
    # One that does not fit is shown as if it did.
    shown = context_window.manners(fitted.talk.items, fitted.cut) or [(MessageForm.WHOLE, 0)] * len(
        logged
    )
    return [
        _message(message, *_seen(message, *manner))
        for message, manner in zip(logged, shown, strict=False)
    ]


def _seen(
    message: ModelMessage, manner: MessageForm, takes: int
) -> tuple[MessageForm, int, Literal["", "window"]]:
    size = _size(message)
    if manner is MessageForm.LEFT_OUT:
        return manner, size, "window"
    if manner is MessageForm.WHOLE and (takes == 0 or takes >= size):
        # What came to mind stands beside it and is counted for itself.
        return manner, size, ""
    return (MessageForm.SHORT if manner is MessageForm.WHOLE else manner), takes, "window"


def _message(
    message: ModelMessage, shown: MessageForm, tokens: int, reason: Literal["", "window"]
) -> ContextMessage:
    role, text = _said(message)
    short = " ".join(text[: _SHORT * 4].split())
    if len(short) > _SHORT:
        short = f"{short[: _SHORT - 1]}…"
    return ContextMessage(role=role, text=short, tokens=tokens, shown=shown, reason=reason)


def _said(message: ModelMessage) -> tuple[transcript.Role, str]:
    if isinstance(message, ModelResponse):
        calls = [f"{call.tool_name}(…)" for call in transcript.calls_of(message)]
        return "assistant", " ".join([transcript.text_of(message), *calls])
    said = [transcript.words(part) for part in message.parts]
    words = " ".join(text for _, text in said)
    if history.role_of(message) is MessageRole.START:
        return "user", words
    return ("tool" if any(role == "tool" for role, _ in said) else "system"), words


def _tools(ahead: NextRequest, fitted: FittedRequest) -> list[ContextTool]:
    offered = {tool.name: tool for tool in fitted.parameters.function_tools}
    told = [_tool(each, offered.get(each.definition.name)) for each in ahead.tools]
    return told + [_tool(each, None) for each in ahead.hidden]


def _tool(candidate: OfferCandidate, offered: ToolDefinition | None) -> ContextTool:
    whole = selection.takes([candidate.definition])
    tokens = whole if offered is None else selection.takes([offered])
    short: ToolState = "short" if tokens < whole else "offered"
    return ContextTool(
        name=candidate.definition.name,
        kind=candidate.kind,
        tokens=tokens,
        state="left_out" if offered is None else short,
    )


def _recollected(memory: Memory) -> ContextMemory:
    told = item(memory)
    return ContextMemory(
        id=told.id,
        kind=memory.kind,
        trust=memory.trust,
        source=told.source,
        session_id=told.session_id,
        at=told.at,
        text=told.text,
        tokens=_tokens(line(memory)),
    )


def _tokens(text: str) -> int:
    return estimate_tokens(context_window.weight(text))


def _size(message: ModelMessage) -> int:
    return estimate_tokens(weigh(message))


_CHECK = """\
[A question about the conversation above, and no part of it. Answer from what stands above alone, \
briefly, and copy names, paths and sentences letter for letter.]"""
_ANSWER = 1_200
"""Tokens that an answer to a probe may have: all rules together take 800."""

_NOBODYS = SessionId("")
_NOT_YET = TurnId("")
"""The id of a turn that nobody has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPreview:
    """A session's next request."""

    session_id: SessionId
    earlier: int
    """Messages of the log that are not looked at: too many came after them, or it was cleared."""
    context: Context


@dataclass(frozen=True, slots=True)
class _Past:
    """What a request comes after."""

    turn: Turn
    model: str | None
    log: Sequence[StoredMessage]
    """What there is to choose from."""
    count: int
    """How many messages the log has in all."""
    stored: int
    """How many of those to choose from are in it."""
    state: SessionState
    """What the session has for it: rules and agents."""


@dataclass(frozen=True, slots=True)
class ContextService:
    """Looks at what the model would be shown."""

    database: Database
    clock: Clock
    runner: TurnRunner
    models: ModelSource
    view: HistoryWindow
    compactor: Compactor
    owner: str = MINE
    """Whose sessions; those of others are not there."""

    def of(self, owner: str) -> "ContextService":
        """The same service for somebody else's sessions."""
        return replace(self, owner=owner)

    async def next(self, session_id: SessionId, prompt: str | None = None) -> ContextPreview:
        """What the next request of a session would be; the session need not be there yet.

        Args:
            session_id: The session.
            prompt: What would be said. Without it, it is the next step of the turn that has not
                ended, or, where there is none, what comes to mind for the last thing that was said.

        Raises:
            NotConfigured: There is no model to ask.
        """
        past = await self.database.read(lambda tx: self._past(tx, session_id, prompt))
        unsaid = _unsaid(past, prompt)
        ahead = await self._ahead(past, unsaid)
        return ContextPreview(
            session_id=session_id,
            earlier=past.count - past.stored,
            context=await measured(ahead, unsaid or ""),
        )

    async def check(self, session_id: SessionId) -> list[ContextProbe]:
        """Ask the model what rows can tell, with no more than its next request would show.

        Raises:
            NotConfigured: There is no model to ask.
            UsageError: The next request would not fit.
        """

        def look(tx: Transaction) -> tuple[_Past, StandingBlock]:
            sessions.get(tx, session_id, owner=self.owner)
            past = self._past(tx, session_id, None)
            return past, folds.standing_block(tx, session_id, past.turn.number + 1)

        past, kept = await self.database.read(look)
        ahead = await self._ahead(past, _unsaid(past, None))
        _, fitted, problem = await _fitted(ahead)
        if problem:
            raise UsageError(problem)
        shown = "\n".join(spoken(fitted.messages))
        asked = probes(kept, [rule.text for rule in past.state.rules], past.turn.prompt)
        return [await self._checked(probe, ahead, shown) for probe in asked]

    async def _checked(self, probe: ContextProbe, ahead: NextRequest, shown: str) -> ContextProbe:
        # Beside the session: it is counted as any other request, and enters no log.
        wanted = SideRequest(
            instructions=instructions_text(ahead.sections),
            words=f"{shown}\n\n{_CHECK}\n{probe.question}",
            model=ahead.model,
            most=_ANSWER,
        )
        answer = (await self.compactor.asked.run(self.owner, wanted)).text
        return replace(probe, answer=answer, missing=unnamed(probe.expected, answer))

    async def _ahead(self, past: _Past, unsaid: str | None) -> NextRequest:
        talk = transcript.loaded(past.log)
        seen = len(past.log) >= past.count
        choice = self.models.choices(past.model)[0]
        return await self.runner.ahead(
            past.turn, talk, choice, unsaid=unsaid, seen=seen, state=past.state
        )

    async def compact(self, session_id: SessionId) -> Fold:
        """Put a summary, or a line for each turn, in the place of all turns but the last one."""
        session = await self.database.read(
            lambda tx: sessions.get(tx, session_id, owner=self.owner)
        )
        by = self.runner.summarizer(self.models.choices(session.model)[0])
        return await self.compactor.compact(session_id, self.owner, by)

    def _past(self, tx: Transaction, session_id: SessionId, prompt: str | None) -> _Past:
        session = sessions.find(tx, session_id)
        if session is not None and session.owner != self.owner:
            # Another's is seen as one that is not there: not even that it is can be learned.
            session, session_id = None, _NOBODYS
        turn = self._turn(tx, session, session_id, prompt)
        stored, lacking = history.glance(tx, turn, self.view)
        held = SessionState(
            rules=rules.standing(tx, session_id), lineage=delegation.lineage(tx, turn)
        )
        own = None if held.agent is None else held.agent.model
        return _Past(
            turn=turn,
            model=turn.model or (None if session is None else session.model) or own,
            log=[*stored, *lacking],
            count=messages.count(tx, session_id),
            stored=len(stored),
            state=held,
        )

    def _turn(
        self, tx: Transaction, session: Session | None, session_id: SessionId, prompt: str | None
    ) -> Turn:
        """The turn that the request would be a part of."""
        if prompt is None and (current := turns.current(tx, session_id)) is not None:
            return current
        last = turns.last(tx, session_id)
        said = "" if last is None else last.prompt
        return Turn(
            id=_NOT_YET,
            session_id=session_id,
            number=1 if last is None else last.number + 1,
            prompt=said if prompt is None else prompt,
            origin=TurnOrigin.USER,
            attended=True,
            status=TurnStatus.QUEUED,
            model=None,
            created_at=self.clock.now(),
            owner=self.owner if session is None else session.owner,
            agent=self._agent(tx, session),
        )

    def _agent(self, tx: Transaction, session: Session | None) -> str:
        if session is None or not session.agent:
            return ""
        spec = agents.find(tx, session.owner, session.agent)
        return "" if spec is None else spec.label


def _unsaid(past: _Past, prompt: str | None) -> str | None:
    """The newest message, if it is not in the log."""
    if past.turn.id == _NOT_YET:
        return prompt or ""
    begun = any(message.turn_id == past.turn.id for message in past.log)
    return None if begun else past.turn.prompt
