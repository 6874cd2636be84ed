"""Following one turn from its beginning to its end, and asking a person about its calls."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from long_running_agents.api import TurnApi
from long_running_agents.cli.access import AgentApi
from long_running_agents.cli.main import INTERRUPTED, OK
from long_running_agents.cli.output import block, safe
from long_running_agents.cli.skill_output import COMMAND, finding_line, waiting_line
from long_running_agents.domain import events
from long_running_agents.domain.approval import Approval, GrantDuration
from long_running_agents.domain.ids import ApprovalId, SessionId
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, LimitReached, LraError, kind_of

Show = Callable[[events.EventEnvelope | events.DeltaEnvelope], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to an approval."""

    allowed: bool
    reason: str = ""
    lasting: GrantDuration = GrantDuration.ONCE

    async def give(self, turns: TurnApi, approval_id: ApprovalId) -> None:
        """Answer an approval with it."""
        await turns.answer(
            approval_id, allowed=self.allowed, reason=self.reason, lasting=self.lasting
        )


Ask = Callable[[Approval], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn came to its end."""

    turn: Turn
    closing: events.Event

    @property
    def exit_code(self) -> int:
        """What the shell is told."""
        match self.closing:
            case events.TurnDone():
                return OK
            case events.TurnLimited():
                return LimitReached.exit_code
            case events.TurnFailed(code=code):
                return kind_of(code).exit_code
            case _:
                return INTERRUPTED


def by_rule(agent: AgentApi, *, yes: bool, approved: tuple[str, ...]) -> Ask:
    """Answer questions by what was said on the command line; the rest may be left to wait."""

    async def answer(approval: Approval) -> Verdict:
        if yes or approval.tool in approved:
            return Verdict(allowed=True)
        if agent.waits:
            raise _waiting(approval)
        return Verdict(allowed=False, reason="it was not approved on the command line")

    return answer


async def refuse_if_waiting(agent: AgentApi, session_id: SessionId) -> None:
    """Refuse to queue behind a question that only a person can answer."""
    questions = await agent.turns.open_questions(session_id)
    if questions:
        raise _waiting(questions[0])


def _waiting(approval: Approval) -> Busy:
    return Busy(
        f"Session {approval.session_id!r} waits for an answer: may {approval.tool} run?",
        hint=f"'lra approvals allow {approval.id}' or 'lra approvals deny …' goes on.",
    )


async def follow(
    agent: AgentApi,
    session_id: SessionId,
    begin: Callable[[], Awaitable[Turn]],
    *,
    show: Show,
    ask: Ask,
) -> Ended:
    """Begin a turn, show what happens, answer its approvals, and wait for its end."""
    after = await agent.last_event(session_id)
    begun: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
    # Listen before the turn begins, so that nothing is missed.
    hearing = asyncio.create_task(_hear(agent, session_id, after, begun, show))
    watching: asyncio.Task[Turn] | None = None
    try:
        begun.set_result(await begin())
        watching = asyncio.create_task(_watch(agent, begun.result(), ask))
        closing, turn = await asyncio.gather(hearing, watching)
        return Ended(turn, closing)
    except asyncio.CancelledError:
        # Ctrl-C: a turn that was given up must not go on by itself.
        await agent.turns.stop(session_id)
        raise
    finally:
        for task in (hearing, watching):
            if task is not None:
                task.cancel()


async def _hear(
    agent: AgentApi, session_id: SessionId, after: int, begun: "asyncio.Future[Turn]", show: Show
) -> events.Event:
    async for heard in agent.turns.listen(session_id, after):
        if heard.turn_id != (await begun).id:
            continue
        await show(heard)
        if isinstance(heard, events.EventEnvelope) and isinstance(heard.event, events.CLOSING):
            return heard.event
    raise AssertionError("a session is heard without end")


async def _watch(agent: AgentApi, turn: Turn, ask: Ask) -> Turn:
    # Questions are answered once the turn has come to rest: an answer that arrives while the
    # turn is still putting its things away would be overlooked.
    while True:
        turn = await agent.turns.settled(turn.id)
        if turn.status is not TurnStatus.WAITING:
            return turn
        for approval in await agent.turns.open_questions(turn.session_id):
            if approval.turn_id == turn.id:
                await (await ask(approval)).give(agent.turns, approval.id)


_INLINE = 160
_LINES = 60
"""Lines of a change that are shown."""
_CHOICES = "[y]es / [n]o / reason"
_LASTING = "[y]es / for this [s]ession / [a]lways / [n]o / reason"


def question(approval: Approval) -> str:
    """The question on one line; arguments too long for it are shown by `details`."""
    changed = _change(approval)
    what = "(arguments above)" if changed or not _fits(approval) else safe(approval.args)
    choices = _CHOICES if approval.offer is None else _LASTING
    return f"Allow {approval.tool} {what}? {choices}: "


def details(approval: Approval) -> str:
    """What the person must have seen before answering, or nothing if the question says it all."""
    return "\n".join(part for part in (_arguments(approval), _why(approval)) if part)


def _why(approval: Approval) -> str:
    """Why there is a question, and what a lasting answer would cover."""
    asked = approval.question
    # What a call turns out to need while it runs is asked in whole sentences.
    reason = asked if asked[:1].isupper() else f"It asks because {asked}."
    lines = [reason] if asked else []
    if approval.offer is not None:
        lines.append(f'"Session" and "always" are for: {approval.offer}.')
    return safe("\n".join(lines))


def _change(approval: Approval) -> str:
    """What would become of a file, as lines; empty when the call changes none."""
    match approval.tool, arguments(approval) or {}:
        case "write_file", {"content": str(text), **rest}:
            lines = [f"+ {line}" for line in text.splitlines()]
        case "edit_file", {"diff": str(diff), **rest} if diff:
            lines = diff.splitlines()
        case "edit_file", {"old_text": str(old), "new_text": str(new), **rest}:
            lines = [f"- {line}" for line in old.splitlines()]
            lines += [f"+ {line}" for line in new.splitlines()]
        case _:
            return ""
    told = ", ".join(_argument(name, value) for name, value in rest.items() if value)
    more = len(lines) - _LINES
    shown = block("\n".join(lines[:_LINES]))
    left = f"\n… {more} more lines ('lra approvals list --json' has all)" if more > 0 else ""
    return f"{approval.tool} {told}\n{shown}{left}"


def _arguments(approval: Approval) -> str:
    if changed := _change(approval):
        return changed
    if _fits(approval):
        return ""
    given, parsed = safe(approval.args), arguments(approval)
    if parsed is not None and _of_lines(parsed):
        given = "\n".join(_argument(name, value) for name, value in parsed.items())
    else:
        # The model may have written something that is not JSON; it is shown as it is.
        with suppress(ValueError, RecursionError):
            given = safe(json.dumps(json.loads(approval.args), ensure_ascii=False, indent=2))
    return f"{approval.tool} wants to run with\n{given}"


def arguments(approval: Approval) -> dict[str, Any] | None:
    """The arguments by name; None when they are not what a model should have written."""
    with suppress(ValueError, RecursionError):
        found: object = json.loads(approval.args)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    return None


def _argument(name: str, value: object) -> str:
    """An argument on a line, or text of several lines as it is meant: code is read as code."""
    told = safe(name if name.isidentifier() else json.dumps(name, ensure_ascii=False))
    if isinstance(value, str) and "\n" in value:
        return f"{told}:\n{block(value)}"
    return f"{told}: {safe(json.dumps(value, ensure_ascii=False))}"


def _of_lines(given: dict[str, Any]) -> bool:
    return any(isinstance(value, str) and "\n" in value for value in given.values())


def verdict(text: str, *, lasting: bool = False) -> Verdict | None:
    """What a person's answer means; None when there is none."""
    answer = text.strip()
    match answer.lower():
        case "s" | "session" if lasting:
            return Verdict(allowed=True, lasting=GrantDuration.SESSION)
        case "a" | "always" if lasting:
            return Verdict(allowed=True, lasting=GrantDuration.ALWAYS)
        case "":
            return None
        case "y" | "yes":
            return Verdict(allowed=True)
        case "n" | "no":
            return Verdict(allowed=False)
        case _:
            return Verdict(allowed=False, reason=answer)


def _fits(approval: Approval) -> bool:
    given = safe(approval.args)
    short = len(given) <= _INLINE and "\n" not in given
    return short and not _of_lines(arguments(approval) or {})


_MAKERS = frozenset({"generate_tool", "promote_skill"})


async def waiting_at(agent: AgentApi, command: str = COMMAND) -> str:
    """What waits for approval, on one line; empty when nothing does, or nobody knows."""
    if agent.skills is None:
        return ""
    try:
        return waiting_line(await agent.skills.every(), command)
    except LraError:
        # A server may have them switched off; that is no reason not to talk.
        return ""


async def code_asked_about(agent: AgentApi, approval: Approval) -> str:
    """The code that a question is about, unless its arguments show it; empty when there is none."""
    skills = agent.skills
    if approval.tool not in _MAKERS or skills is None:
        return ""
    try:
        waiting = [
            await skills.version(each.name, each.proposed)
            for each in await skills.every()
            if each.proposed is not None
        ]
    except LraError:
        return ""
    version = next((each for each in waiting if each.brought.call_id == approval.call_id), None)
    if version is None:
        return ""
    given = arguments(approval) or {}
    shown = str(given.get("code", "")).strip() == version.source.strip()
    lines = [f"{version.name}, version {version.number}:"]
    lines += [] if shown else [block(version.source)]
    lines += [finding_line(finding) for finding in version.warnings]
    return "" if len(lines) == 1 else "\n".join(lines)
