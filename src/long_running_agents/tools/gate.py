"""The gate every tool call passes: it runs, a person is asked, or it is refused."""

from typing import Any, Protocol

from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from typing_extensions import override

from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.policy import Allow, Ask, Deny, Rules, decide
from long_running_agents.tools.ring import Ring, Run


class CallBook(Protocol):
    """Where the gate reads and writes what is known about a call."""

    def begun(self, call_id: str) -> bool:
        """Whether the call ran or began to: then it has passed the gate already."""
        ...

    def approval(self, call_id: str) -> Approval | None:
        """The question about a call, if one was asked."""
        ...

    async def ask(self, call_id: str, question: str) -> None:
        """Store a question."""
        ...

    async def deny(self, call_id: str, reason: str) -> None:
        """Store that the call may not run."""
        ...


class Gate(Ring):
    """Lets calls through, asks, or refuses.

    Asking ends the work: nothing sleeps on a person, and the question survives a restart. When
    the turn goes on, the same call comes by again and finds its answer.
    """

    def __init__(self, rules: Rules, book: CallBook, *, attended: bool) -> None:
        self._rules = rules
        self._book = book
        self._attended = attended

    def free(self, tool: str) -> bool:
        """Whether a tool runs without asking anybody."""
        return isinstance(decide(tool, self._rules, attended=self._attended), Allow)

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        if not self._book.begun(call.tool_call_id):
            await self._check(call)
        return await run()

    async def _check(self, call: ToolCallPart) -> None:
        approval = self._book.approval(call.tool_call_id)
        if approval is not None:
            await self._follow(approval)
            return
        match decide(call.tool_name, self._rules, attended=self._attended):
            case Allow():
                return
            case Deny(reason):
                await self._book.deny(call.tool_call_id, reason)
                raise ToolFailed(f"Not allowed: {reason}.")
            case Ask(reason):
                await self._book.ask(call.tool_call_id, reason)
                raise ApprovalRequired

    async def _follow(self, approval: Approval) -> None:
        match approval.state:
            case ApprovalState.ALLOWED:
                return
            case ApprovalState.OPEN:
                raise ApprovalRequired
            case ApprovalState.DENIED | ApprovalState.WITHDRAWN:
                reason = approval.reason or "the user said no"
                await self._book.deny(approval.call_id, reason)
                raise ToolFailed(f"The user denied this call: {reason}.")
