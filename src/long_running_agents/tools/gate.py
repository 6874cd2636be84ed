"""The gate every tool call passes: it runs, a person is asked, or it is refused."""

from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import ValidatedToolArgs, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from typing_extensions import override

from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.policy import Allow, Ask, Deny, Rules, decide
from long_running_agents.tools.deps import TurnDeps


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


@dataclass
class Gate(AbstractCapability[TurnDeps]):
    """Lets calls through, asks, or refuses.

    Asking ends the work: nothing sleeps on a person, and the question survives a restart. When
    the turn goes on, the same call comes by again and finds its answer.
    """

    rules: Rules
    book: CallBook

    def free(self, tool: str) -> bool:
        """Whether a tool runs without asking anybody."""
        return isinstance(decide(tool, self.rules, attended=True), Allow)

    @override
    async def wrap_tool_execute(
        self,
        ctx: RunContext[TurnDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        if not self.book.begun(call.tool_call_id):
            await self._check(call, attended=ctx.deps.turn.attended)
        return await handler(args)

    async def _check(self, call: ToolCallPart, *, attended: bool) -> None:
        approval = self.book.approval(call.tool_call_id)
        if approval is not None:
            await self._follow(approval)
            return
        match decide(call.tool_name, self.rules, attended=attended):
            case Allow():
                return
            case Deny(reason):
                await self.book.deny(call.tool_call_id, reason)
                raise ToolFailed(f"Not allowed: {reason}.")
            case Ask(reason):
                await self.book.ask(call.tool_call_id, reason)
                raise ApprovalRequired

    async def _follow(self, approval: Approval) -> None:
        match approval.state:
            case ApprovalState.ALLOWED:
                return
            case ApprovalState.OPEN:
                raise ApprovalRequired
            case ApprovalState.DENIED | ApprovalState.WITHDRAWN:
                reason = approval.reason or "the user said no"
                await self.book.deny(approval.call_id, reason)
                raise ToolFailed(f"The user denied this call: {reason}.")
