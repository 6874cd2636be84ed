"""The approval gate, a middleware: a tool call runs, a person is asked, or it is refused."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from typing_extensions import override

from long_running_agents.domain.approval import (
    UNANSWERED,
    Approval,
    ApprovalState,
    Grant,
    GrantScope,
    scope_of,
)
from long_running_agents.domain.policy import (
    Allow,
    Ask,
    Decision,
    Deny,
    Occasion,
    PolicyRules,
    Ruling,
    consented,
    decide,
    reaching,
)
from long_running_agents.domain.taint import Taint, matters
from long_running_agents.domain.tool import GatedCall, Power
from long_running_agents.tools.deps import claim_of, effect_of, is_foreign, powers_of, server_of
from long_running_agents.tools.middleware import Middleware, Run


class CallBook(Protocol):
    """Where the gate reads and writes what is known about a call."""

    def begun(self, call_id: str) -> bool:
        """Whether the call ran or began to: then it has passed the gate already."""
        ...

    def approval(self, call_id: str) -> Approval | None:
        """The question about a call, if one was asked."""
        ...

    @property
    def sources(self) -> tuple[str, ...]:
        """The foreign words that the session has read."""
        ...

    async def words(self, *, overheard: bool) -> Taint:
        """What was said, read and overheard in the session; nothing where nothing is foreign.

        Args:
            overheard: Whether there are foreign words of which the book knows nothing.
        """
        ...

    async def grants(self) -> Sequence[Grant]:
        """The remembered answers that are good for the session."""
        ...

    async def judged(self, call_id: str, decision: Decision) -> None:
        """Store what was decided."""
        ...

    async def ask(self, call_id: str, question: str, offer: GrantScope | None) -> None:
        """Store a question, and what a lasting answer to it would cover."""
        ...

    async def deny(self, call_id: str, reason: str) -> None:
        """Store that the call may not run."""
        ...


class Gate(Middleware):
    """Lets calls through, asks, or refuses.

    Asking ends the work: nothing sleeps on a person, and the question survives a restart. When
    the turn goes on, the same call comes by again and finds its answer.

    Args:
        client: The tools that the client runs itself: what it does at home is not ours to judge.
    """

    def __init__(
        self,
        rules: PolicyRules,
        book: CallBook,
        occasion: Occasion,
        client: Collection[str] = frozenset(),
    ) -> None:
        self._rules = rules
        self._client = client
        self._book = book
        self._occasion = occasion
        self._tools: dict[str, ToolDefinition] = {}
        self._calls: dict[str, GatedCall] = {}
        self._decided: dict[str, Decision] = {}

    @override
    def meet(self, tool: ToolDefinition) -> None:
        self._tools[tool.name] = tool

    async def _taint(self, call: GatedCall) -> Taint:
        """What may have moved the model to a call, read only if that matters."""
        if not matters(call):
            return Taint(sources=self._book.sources)
        described = [
            (f"mcp:{server}/{tool.name}", f"{tool.description} {tool.parameters_json_schema}")
            for tool in self._tools.values()
            if (server := server_of(tool))
        ]
        taint = await self._book.words(overheard=bool(described))
        return replace(taint, heard=(*taint.heard, *described))

    async def judge(self, part: ToolCallPart) -> Decision:
        """Decide about a call at the moment the model makes it.

        Whatever is read later cannot have moved the model to make it.
        """
        if part.tool_name in self._client:
            return Allow("the client runs it")
        call = self._call_of(part)
        taint = await self._taint(call)
        decision = decide(call, self._rules, self._occasion, taint)
        if not isinstance(decision, Allow) and (grants := await self._book.grants()):
            decision = decide(call, self._rules, self._occasion, taint, grants)
        self._decided[part.tool_call_id] = decision
        return decision

    async def permits(self, call: GatedCall) -> Decision:
        """Decide about something that no call of the model asks for, such as a check."""
        call = reaching(call, self._rules)
        taint, grants = await self._taint(call), await self._book.grants()
        return decide(call, self._rules, self._occasion, taint, grants)

    def source(self, call_id: str) -> tuple[str, bool] | None:
        """Where the foreign words of a result come from, and whether they are its own.

        None when the result is our own.
        """
        call = self._calls.get(call_id)
        if call is None or not call.foreign:
            return None
        # What a command prints is the model's to choose.
        return call.source, bool(call.server) or Power.EXECUTE not in call.powers

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        if call.tool_name in self._client:
            return await run()
        self._call_of(call)
        if not self._book.begun(call.tool_call_id):
            await self._check(call)
        return await run()

    def _call_of(self, part: ToolCallPart) -> GatedCall:
        if part.tool_call_id not in self._calls:
            tool = self._tools.get(part.tool_name)
            call = GatedCall(
                tool=part.tool_name,
                args=part.args_as_dict(raise_if_invalid=False),
                effect=effect_of(tool),
                powers=powers_of(tool),
                foreign=is_foreign(tool),
                server=server_of(tool),
                claim=claim_of(tool),
            )
            self._calls[part.tool_call_id] = reaching(call, self._rules)
        return self._calls[part.tool_call_id]

    async def _check(self, part: ToolCallPart) -> None:
        approval = self._book.approval(part.tool_call_id)
        if approval is not None:
            await self._follow(approval)
            return
        decision = self._decided.get(part.tool_call_id)
        if decision is None:
            # The process died between the call and the question.
            decision = await self.judge(part)
            await self._book.judged(part.tool_call_id, decision)
        match decision:
            case Allow():
                return
            case Deny(reason=reason):
                await self._book.deny(part.tool_call_id, reason)
                raise ToolFailed(f"Not allowed: {reason}.")
            case Ask(reason=reason, once=once):
                offer = None if once else scope_of(self._call_of(part))
                await self._book.ask(part.tool_call_id, reason, offer)
                raise ApprovalRequired

    async def consent(self, call_id: str, question: str) -> bool:
        """Have a person agree to what a call turned out to need, while it runs.

        Asking ends the work, as at the gate itself: when the turn goes on, the call runs again and
        comes by here with its answer.

        Returns:
            Whether somebody agreed, now or before; not, when nobody is there to be asked.
        """
        approval = self._book.approval(call_id)
        if approval is not None and approval.state is ApprovalState.ALLOWED:
            return True
        call = self._calls[call_id]
        decision = consented(question, call, self._rules, await self._book.grants())
        if isinstance(decision, Allow):
            await self._book.judged(call_id, decision)
            return True
        if not self._occasion.attended and self._rules.unattended is not Ruling.ASK:
            return False
        await self._book.ask(call_id, question, scope_of(call))
        raise ApprovalRequired

    async def _follow(self, approval: Approval) -> None:
        match approval.state:
            case ApprovalState.ALLOWED:
                return
            case ApprovalState.OPEN:
                raise ApprovalRequired
            case ApprovalState.EXPIRED:
                await self._book.deny(approval.call_id, UNANSWERED)
                raise ToolFailed(f"Not run: {UNANSWERED}.")
            case ApprovalState.DENIED | ApprovalState.WITHDRAWN:
                reason = approval.reason or "the user said no"
                await self._book.deny(approval.call_id, reason)
                raise ToolFailed(f"The user denied this call: {reason}.")
