"""What a person decides: approvals and grants, and the rules that hold."""

from typing import Annotated

from fastapi import Query
from pydantic import AliasPath, BeforeValidator, Field, JsonValue

from long_running_agents.agent.approvals import ApprovalService
from long_running_agents.agent.rules import RuleService
from long_running_agents.domain import text
from long_running_agents.domain.approval import Approval, Grant, GrantDuration, GrantScope
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, TurnId
from long_running_agents.domain.policy import Judgement
from long_running_agents.domain.rule import MOST_TOKENS, PinnedRule, RuleId, RuleState
from long_running_agents.errors import UsageError
from long_running_agents.server import http
from long_running_agents.server.auth import Approving, Reading
from long_running_agents.server.http import Routes, route
from long_running_agents.server.wire import WireRequest, WireResponse, derived, example


def _input(args: str) -> JsonValue:
    try:
        return text.parse(args)
    except UsageError:
        # A model may write what is nearly JSON, or what no JSON can say.
        return args


def _in_words(scope: GrantScope | None) -> str:
    return "" if scope is None else str(scope)


Input = Annotated[JsonValue, BeforeValidator(_input), Field(validation_alias="args")]
"""The arguments of a call."""
Offered = Annotated[str, BeforeValidator(_in_words), Field(validation_alias="offer")]
"""What a lasting answer would cover."""


class ApprovalView(
    derived(Approval, without=("args", "offer"), renamed={"call_id": "tool_call_id"})
):
    """The question whether a call may run."""

    model_config = example("""{"id": "approval_01k9x0000000abcdefgh", "session_id": "my-session",
      "turn_id": "turn_01k9x0000000abcdefgh", "tool_call_id": "call_1", "tool": "shell",
      "input": {"command": "git push"}, "question": "it sends data out", "state": "open",
      "reason": "", "scope": "shell with git push", "lasting": "once",
      "asked_at": "2026-11-16T09:00:00Z", "answered_at": null, "expires_at": null}""")

    input: Input
    scope: Offered
    """What a lasting answer would cover; empty when only this call can be allowed."""


class ApprovalList(WireResponse):
    """Questions that wait for an answer, the oldest first."""

    approvals: list[ApprovalView]


class ApprovalAnswer(WireRequest):
    """A person's answer."""

    model_config = example('{"allowed": true, "lasting": "once", "reason": ""}')

    allowed: bool
    reason: str = Field(default="", max_length=2000)
    """Why not, for the model to read."""
    lasting: GrantDuration = GrantDuration.ONCE
    """How long a yes is good for."""


class GrantResponse(derived(Grant)):
    """An answer that is good for later calls, too."""

    model_config = example("""{"id": "grant_01k9x0000000abcdefgh", "session_id": null,
      "tool": "shell", "scope": "shell with git push", "created_at": "2026-11-16T09:00:00Z",
      "used": 3, "revoked_at": null}""")

    tool: Annotated[str, Field(validation_alias=AliasPath("scope", "tool"))]
    scope: Annotated[str, BeforeValidator(str)]


class GrantList(WireResponse):
    """What was granted, the newest first."""

    grants: list[GrantResponse]


class JudgementResponse(derived(Judgement, renamed={"call_id": "tool_call_id"})):
    """What was decided about a call."""

    decision: str
    who: str


class JudgementList(WireResponse):
    """What was decided, the newest first."""

    log: list[JudgementResponse]


class ApprovalRoutes(Routes, tag="approvals"):
    """What a person decides about calls."""

    @route("GET /api/approvals")
    async def list_open(self, caller: Reading, session_id: http.OneSession = None) -> ApprovalList:
        """List calls that wait for an answer."""
        return ApprovalList.of({"approvals": await self._of(caller).open_questions(session_id)})

    @route("GET /api/approvals/log")
    async def log(
        self, caller: Reading, session_id: http.OneSession = None, limit: http.Limit = 50
    ) -> JudgementList:
        """Show what was decided about calls, why, and by whom."""
        found = await self._of(caller).log(limit=limit, session_id=session_id)
        return JudgementList(log=[JudgementResponse.of(each) for each in found])

    @route("POST /api/approvals/{approval_id}")
    async def answer(
        self, caller: Approving, approval_id: http.Key, said: ApprovalAnswer
    ) -> ApprovalView:
        """Let a call run, or refuse it; when it was the last open one, the turn goes on."""
        key = ApprovalId(approval_id)
        await self._turns(caller).answer(
            key, allowed=said.allowed, reason=said.reason, lasting=said.lasting
        )
        return ApprovalView.of(await self._of(caller).get(key))

    @route("GET /api/grants")
    async def list_grants(
        self,
        caller: Reading,
        revoked: Annotated[bool, Query(description="Also those that were revoked.")] = False,
    ) -> GrantList:
        """List what was allowed for a session or for always."""
        return GrantList.of({"grants": await self._of(caller).grants(revoked=revoked)})

    @route("DELETE /api/grants/{grant_id}")
    async def revoke(self, caller: Approving, grant_id: http.Key) -> GrantResponse:
        """Take a grant back: the next such call asks again."""
        service = self._of(caller)
        await service.revoke(GrantId(grant_id))
        found = await service.grants(revoked=True)
        return next(GrantResponse.of(each) for each in found if each.id == grant_id)

    def _of(self, caller: Caller) -> ApprovalService:
        return ApprovalService(self._app.database, self._clock, caller.owner)


class RuleResponse(derived(PinnedRule)):
    """Something that holds from now on, in the words it was said in."""

    model_config = example("""{"id": 1, "text": "Never open evil.com.", "scope": "session",
      "state": "active", "source": "person", "session_id": "my-session",
      "turn_id": "turn_01k9x0000000abcdefgh", "created_at": "2026-11-17T09:00:00Z",
      "pinned_at": "2026-11-17T09:00:00Z", "ended_at": null, "enforced": [], "tokens": 7,
      "offer": ["deny * evil.com", "deny * *.evil.com"]}""")

    tokens: int
    """What it takes of a request, about."""
    offer: Annotated[list[Annotated[str, BeforeValidator(str)]], BeforeValidator(list)]
    """What the gate could enforce of it, and does not yet."""


class RuleList(WireResponse):
    """Rules: the owner's, then those of a session, in the order they were pinned."""

    rules: list[RuleResponse]
    most_tokens: int
    """What all active rules that a session sees may take of a request."""


class NewRule(WireRequest):
    """A rule to pin."""

    model_config = example('{"text": "Never open evil.com.", "session_id": "my-session"}')

    text: str = Field(min_length=1, max_length=10_000)
    session_id: SessionId | None = Field(default=None, pattern=http.SESSION_ID)
    """The session it holds in; without one, it holds in all."""
    turn_id: TurnId | None = Field(default=None, pattern=http.ID)
    """The turn it was said in."""
    everywhere: bool = False
    """Whether it holds in all sessions, wherever it was said."""


class RuleChange(WireRequest):
    """What becomes of a rule; what is not given stays."""

    model_config = example('{"state": "lifted"}')

    state: RuleState | None = None
    """active accepts a suggestion, dismissed refuses it; lifted ends a rule."""
    enforced: bool | None = None
    """Whether the gate enforces what its offer says, from the next turn on."""


class RuleRoutes(Routes, tag="rules"):
    """What a person wants to hold; every change takes the right to approve."""

    @route("GET /api/rules")
    async def list_all(
        self,
        caller: Reading,
        session_id: http.OneSession = None,
        ended: Annotated[bool, Query(description="Also those that are over.")] = False,
    ) -> RuleList:
        """List pinned and suggested rules; with a session, those that it sees."""
        found = await self._of(caller).every(session_id, ended=ended)
        return RuleList(rules=[RuleResponse.of(each) for each in found], most_tokens=MOST_TOKENS)

    @route("POST /api/rules", status_code=201)
    async def pin(self, caller: Approving, new: NewRule) -> RuleResponse:
        """Pin a rule."""
        key = None if new.session_id is None else caller.key(new.session_id)
        given = new.model_copy(update={"session_id": key})
        return RuleResponse.of(await self._of(caller).pin(**dict(given)))

    @route("PATCH /api/rules/{rule_id}")
    async def change(
        self, caller: Approving, rule_id: http.Number, said: RuleChange
    ) -> RuleResponse:
        """Accept or dismiss a suggestion, lift a rule, or have it enforced."""
        return RuleResponse.of(await self._of(caller).change(RuleId(rule_id), **dict(said)))

    def _of(self, caller: Caller) -> RuleService:
        return RuleService(self._sessions(caller))
