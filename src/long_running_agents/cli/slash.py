"""The slash commands of a conversation, and the table of them."""

import difflib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from long_running_agents.cli.chat import AUTO, SMALL
from long_running_agents.cli.live import LeaveError
from long_running_agents.cli.main import OK
from long_running_agents.cli.output import (
    block,
    cells,
    moment,
    number_of,
    rule_cells,
    rule_outcome,
    visible,
)
from long_running_agents.cli.render import one_line
from long_running_agents.cli.skill_output import about, problems_line, state_line, waiting_line
from long_running_agents.cli.skills import BY, checked
from long_running_agents.cli.works import told
from long_running_agents.domain.agent import AgentStage
from long_running_agents.domain.ids import session_id
from long_running_agents.domain.memory import (
    Memory,
    MemoryDraft,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
)
from long_running_agents.domain.rule import RuleId, RuleState
from long_running_agents.domain.session import Mode, SessionOrigin
from long_running_agents.domain.task import outline
from long_running_agents.domain.turn import RETRYABLE
from long_running_agents.errors import Busy, Denied, NotFound, UsageError, storing
from long_running_agents.models.names import LOCAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from long_running_agents.api import MemoryApi, SkillApi
    from long_running_agents.cli.conversation import ChatLoop
    from long_running_agents.domain.skill import Version
    from long_running_agents.domain.turn import Turn


async def _exists(talk: "ChatLoop") -> bool:
    """Whether anything was said in this session yet."""
    return await talk.agent.find(talk.session_id) is not None


async def _turns(talk: "ChatLoop") -> "Sequence[Turn]":
    if not await _exists(talk):
        raise NotFound("Nothing was said in this session yet.", hint="Type a message first.")
    return await talk.agent.sessions.turns(talk.session_id)


async def _usage(talk: "ChatLoop", _: str) -> None:
    spent = [turn.spent for turn in await _turns(talk) if not turn.steer]
    read, written = sum(s.input_tokens for s in spent), sum(s.output_tokens for s in spent)
    calls, cost = sum(s.tool_calls for s in spent), sum(s.cost for s in spent)
    paid = f", ${cost:.4f}" if cost else ""
    await talk.screen.note(
        f"{len(spent)} turns, {calls} tool calls, {read:,} tokens in, {written:,} out{paid}"
    )


async def _context(talk: "ChatLoop", _: str) -> None:
    await _turns(talk)
    await talk.screen.note(context_lines(await talk.agent.context(talk.session_id)))


def context_lines(found: "Mapping[str, Any]") -> str:
    """What the next request contains, and what each part takes."""
    window = f" of {found['window']:,}" if found["window"] else ""
    lines = [f"{found['model']}: about {found['total']:,}{window} tokens in the next request"]
    lines += [f"  {name:<13}{tokens:>8,}" for name, tokens in found["shares"].items() if tokens]
    return "\n".join(lines)


async def _compact(talk: "ChatLoop", _: str) -> None:
    await _turns(talk)
    fold = await talk.agent.compact(talk.session_id)
    how = "a summary" if fold.text else "a line each"
    await talk.screen.note(f"turns {fold.first} to {fold.last} are shown as {how} from now on")


async def _clear(talk: "ChatLoop", _: str) -> None:
    await _turns(talk)
    await talk.agent.sessions.clear(talk.session_id)
    await talk.screen.note("context cleared; the history is kept")


async def _tools(talk: "ChatLoop", _: str) -> None:
    await talk.screen.note(", ".join(await talk.agent.tools()) or "no tools")


async def _copy(talk: "ChatLoop", _: str) -> None:
    answer = next((turn.answer for turn in reversed(await _turns(talk)) if turn.answer), "")
    if not answer:
        raise NotFound("There is no answer to copy yet.")
    await talk.screen.copy(answer)
    await talk.screen.note(f"copied {len(answer):,} characters, if your terminal allows it")


_LISTED = 10
_OWN_AGENT = "-"
_DECIDED = re.compile(r"(#\d+|\+)\s+(.+)", re.DOTALL)


async def _search(talk: "ChatLoop", words: str) -> None:
    memories, viewer = _memory_of(talk)
    if not words:
        raise UsageError("Nothing says what to look for:", hint="write '/memory words'.")
    found = await memories.find(viewer, Query(text=words, limit=_LISTED))
    lines = [_line(hit.memory) for hit in found.hits] or ["nothing like that is remembered"]
    if found.degraded:
        lines.append(f"only a part was searched: {found.degraded}")
    await talk.screen.note("\n".join(lines))


async def _remember(talk: "ChatLoop", words: str) -> None:
    """Remember something; '#12 …' replaces a memory, '+ …' stands beside what is similar."""
    memories, viewer = _memory_of(talk)
    decided = _DECIDED.fullmatch(words)
    sign, text = (decided[1], decided[2]) if decided else ("", words)
    # Of no session: whatever was said in one is not recalled in it, and this was not said.
    draft = MemoryDraft(content=text)
    written = await memories.write(
        viewer,
        draft,
        supersedes=number_of(sign) if sign.startswith("#") else None,
        keep_both=sign == "+",
    )
    await talk.screen.note(_written(written, text))


async def _forget(talk: "ChatLoop", text: str) -> None:
    memories, viewer = _memory_of(talk)
    number = number_of(text)
    gone = await memories.forget(viewer.owner, Selection(ids=frozenset({number})))
    if not gone.memories:
        raise NotFound(f"No memory #{number}.", hint="'/memory words' shows numbers.")
    lines = [f"forgot {_line(memory)}" for memory in gone.memories]
    lines.append(f"after this chat, 'lra memory undo {gone.batch}' brings it back")
    await talk.screen.note("\n".join(lines))


def _memory_of(talk: "ChatLoop") -> "tuple[MemoryApi, Viewer]":
    agent = talk.agent
    memories = agent.memories
    if memories is None:
        raise UsageError("Memory is switched off:", hint="set memory.enabled to use it.")
    return memories, Viewer(owner=agent.owner, agent=agent.name, session_id=talk.session_id)


def _written(written: Written, text: str) -> str:
    match written:
        case Stored(memory, old):
            number = "" if old is None else f", in place of #{old.id}"
            return f"remembered as #{memory.id}{number}"
        case Merged(memory):
            return f"known already, as #{memory.id}"
        case Similar(known):
            short = one_line(text, 40)
            one, both = f"/remember #{known[0].id} {short}", f"/remember + {short}"
            lines = [_line(memory) for memory in known]
            advice = f"'{one}' replaces it, '{both}' keeps both"
            return "\n".join(["not written: it is similar to", *lines, advice])
        case Refused(reason):
            raise Denied(f"Not written: {reason}.")


def _line(memory: Memory) -> str:
    return "  ".join(one_line(cell) for cell in cells(memory))


_WAYS = "write '/skills', or '/skills' with show, approve or disable and a NAME."


async def _skills(talk: "ChatLoop", rest: str) -> None:
    library = talk.agent.skills
    if library is None:
        raise UsageError("Skills are switched off:", hint="set agent.tools.enable.skills.")
    match rest.split():
        case []:
            await talk.screen.note(await _listed(library))
        case ["show", name]:
            await talk.screen.note(_shown(await library.version(checked(name))))
        case ["approve", name]:
            await _approve(talk, library, checked(name))
        case ["disable", name]:
            await talk.screen.note(
                f"skill {state_line(await library.disable(checked(name), by=BY))}"
            )
        case _:
            raise UsageError(f"'/skills {one_line(rest)}' is not understood:", hint=_WAYS)


async def _listed(library: "SkillApi") -> str:
    found = await library.every()
    lines = [
        f"  {each.name}  {each.state}, version {each.version or each.newest}, {each.calls} calls"
        f"  {one_line(each.description, 60)}"
        for each in found
    ]
    further = (waiting_line(found, SKILLS), problems_line(len(await library.problems())))
    return "\n".join([*lines, *(line for line in further if line)]) or "no skills yet"


async def _approve(talk: "ChatLoop", library: "SkillApi", name: str) -> None:
    """Show what waits, and let it be used: whoever types this means the newest that waits."""
    waits = (await library.get(name)).proposed
    if waits is None:
        raise Busy(f"No version of {name!r} waits for an answer.", hint="'/skills' shows them.")
    version = await library.version(name, waits)
    await talk.screen.note(_shown(version))
    approved = await library.approve(name, waits, by=BY)
    await talk.screen.note(f"skill {state_line(approved)}")


def _shown(version: "Version") -> str:
    lines = [visible(line) for line in about(version)]
    return "\n".join([f"{version.name}, version {version.number}", *lines, block(version.source)])


_BECOMES = {"accept": RuleState.ACTIVE, "dismiss": RuleState.DISMISSED, "lift": RuleState.LIFTED}


async def _pin(talk: "ChatLoop", text: str) -> None:
    """Pin a text, or what was said last."""
    said = None if text else (await _turns(talk))[-1]
    words, turn_id = (said.prompt, said.id) if said else (text, None)
    pinned = await talk.agent.rules.pin(words, session_id=talk.session_id, turn_id=turn_id)
    await talk.screen.note(visible(rule_outcome(pinned, RULES)))


async def _rules(talk: "ChatLoop", rest: str) -> None:
    service = talk.agent.rules
    word, _, number = rest.partition(" ")
    if not rest:
        found = await service.every(talk.session_id if await _exists(talk) else None)
        lines = [
            f"  #{rule.id}  {', '.join(rule_cells(rule))}  {one_line(rule.text, 120)}"
            for rule in found
        ]
        await talk.screen.note("\n".join(lines) or "no rules: '/pin words' pins one")
        return
    if word not in (*_BECOMES, "enforce"):
        hint = "write '/rules', or '/rules' with accept, dismiss, lift or enforce and a number."
        raise UsageError(f"'/rules {one_line(rest)}' is not understood:", hint=hint)
    key, enforced = RuleId(number_of(number, "rule")), True if word == "enforce" else None
    changed = await service.change(key, state=_BECOMES.get(word), enforced=enforced)
    await talk.screen.note(visible(rule_outcome(changed, RULES)))


Act = Callable[["ChatLoop", str], Awaitable[None]]

_FORMATS = ("md", "jsonl")
RULES = "/rules"
SKILLS = "/skills"
"""The command about skills: beside a chat that owns its home, 'lra skills' can change nothing."""


class Slash(NamedTuple):
    """A command as it was typed."""

    act: Act
    rest: str


class _Entry(NamedTuple):
    act: Act
    usage: str
    help: str


def parse(text: str) -> Slash | None:
    """Recognise a command; None for an ordinary message, such as one that begins with a path."""
    word, _, rest = text.strip().partition(" ")
    if not word.startswith("/") or "/" in word[1:] or "\n" in word:
        return None
    entry = REGISTRY.get(word[1:].lower())
    if entry is None:
        near = difflib.get_close_matches(word[1:], REGISTRY, n=1)
        hint = f"Did you mean /{near[0]}?" if near else "/help lists them."
        raise UsageError(f"There is no command {word}.", hint=hint)
    return Slash(entry.act, rest.strip())


async def _help(talk: "ChatLoop", _: str) -> None:
    lines = [f"  {entry.usage:<18} {entry.help}" for entry in REGISTRY.values()]
    keys = (
        "Enter sends, Esc-Enter or Ctrl-J begins a line, Ctrl-C stops, Ctrl-D leaves.\n"
        "While a turn runs, Enter queues a message, and Ctrl-G gives it to that turn."
    )
    await talk.screen.note("\n".join([*lines, keys]))


async def _new(talk: "ChatLoop", _: str) -> None:
    await talk.begin_new()
    await talk.screen.note(f"new session {talk.session_id}")


async def _sessions(talk: "ChatLoop", search: str) -> None:
    own = SessionOrigin.OWN
    found = await talk.agent.sessions.previews(limit=_LISTED, search=search, origin=own)
    lines = [
        f"{'*' if each.session.id == talk.session_id else ' '} {each.session.id}"
        f"  {moment(each.session.updated_at)}  {one_line(each.session.title, 50)}"
        for each in found
    ]
    await talk.screen.note("\n".join(lines) or "no sessions yet")


async def _tasks(talk: "ChatLoop", _: str) -> None:
    tasks = await talk.agent.sessions.tasks(talk.session_id) if await _exists(talk) else ()
    await talk.screen.note(outline(tasks) or "no tasks")


async def _model(talk: "ChatLoop", name: str) -> None:
    if not name:
        await talk.show_models()
        return
    # Refused now rather than in the middle of the turn.
    await talk.agent.check_model(name)
    if await _exists(talk):
        # Stored, and heard at the next step; the session is what knows its model from here on.
        talk.model = None
        await talk.agent.sessions.choose_model(talk.session_id, name)
    else:
        talk.model = name
        await talk.screen.note(f"model: {name}")
    if name.partition(":")[0] == LOCAL:
        await talk.screen.note(SMALL.format(name=name))


async def _agent(talk: "ChatLoop", name: str) -> None:
    """Say who answers, or have another one answer from the next message on."""
    service = talk.agent.agents
    if name in (AUTO, _OWN_AGENT):
        talk.answering = AUTO if name == AUTO else ""
    elif name:
        spec = await service.get(name)
        if spec.stage is not AgentStage.PUBLISHED:
            hint = f"'lra agents publish {spec.name}' lets it be used."
            raise UsageError(f"{spec.label} is {spec.stage}.", hint=hint)
        talk.answering = name
    session = await talk.agent.find(talk.session_id)
    held = session.agent if session and talk.answering is None else talk.answering
    lines = [f"agent: {held or talk.agent.name}"]
    if not name:
        found = [each for each in await service.every() if each.stage is AgentStage.PUBLISHED]
        lines += [f"  /agent {each.name}  {one_line(each.description, 60)}" for each in found]
        lines += [f"  /agent {AUTO}  whoever a message is for", f"  /agent {_OWN_AGENT}  our own"]
    await talk.screen.note("\n".join(lines))


async def _steer(talk: "ChatLoop", words: str) -> None:
    await talk.send(words, steer=True)


async def _deep(talk: "ChatLoop", goal: str) -> None:
    if not goal:
        raise UsageError("Nothing says what the goal is:", hint="write '/deep goal'.")
    await talk.send(goal, mode=Mode.DEEP_WORK)


async def _plan(talk: "ChatLoop", words: str) -> None:
    """Show this session's work, or approve, revise, decline, pause, resume or abandon it."""
    works = talk.agent.works
    found = await works.every(limit=1, session_id=talk.session_id) if await _exists(talk) else ()
    if not found:
        raise NotFound("This session has no work.", hint="'/deep goal' begins one.")
    verb, _, rest = words.partition(" ")
    work_id = found[0].id
    match verb:
        case "":
            await talk.screen.note(told(await works.get(work_id)))
        case "report":
            await talk.screen.note(await works.report(work_id))
        case "revise":
            await works.revise(work_id, rest)
        case "resume":
            await works.resume(work_id, message=rest)
        case "approve" | "decline" | "pause" | "abandon":
            await getattr(works, verb)(work_id)
        case _:
            verbs = "approve, revise, decline, pause, resume, abandon or report"
            raise UsageError(f"'/plan {verb}' not understood:", hint=f"use {verbs}.")


async def _stop(talk: "ChatLoop", _: str) -> None:
    await talk.stop()


async def _retry(talk: "ChatLoop", _: str) -> None:
    turn = await talk.agent.turns.retry(talk.session_id)
    await talk.screen.note(f"again: {one_line(turn.prompt)}")
    talk.watch(turn.id)


async def _continue(talk: "ChatLoop", chosen: str) -> None:
    """Go on with what was left undone here, or else in another session."""
    here = talk.session_id
    told = await talk.agent.sessions.turns(here) if await _exists(talk) else ()
    turns = [turn for turn in told if not turn.steer]
    if not chosen and turns and turns[-1].status in RETRYABLE:
        await _retry(talk, "")
        return
    found = await talk.agent.sessions.previews(limit=_LISTED, origin=SessionOrigin.OWN)
    others = [each.session.id for each in found if each.session.id != here]
    if chosen:
        others = [(await talk.agent.sessions.get(session_id(chosen))).id]
    if not others:
        raise NotFound("There is no other session.", hint="Say something to begin this one.")
    await talk.screen.note(f"going on in {others[0]}")
    await talk.enter(others[0])


async def _title(talk: "ChatLoop", title: str) -> None:
    await talk.agent.sessions.rename(talk.session_id, title)
    await talk.screen.note(f"title: {title}")


async def _fork(talk: "ChatLoop", _: str) -> None:
    session = await talk.agent.sessions.fork(talk.session_id)
    await talk.screen.note(f"forked {talk.session_id} as {session.id}; what you say goes there")
    await talk.enter(session.id)


async def _export(talk: "ChatLoop", form: str) -> None:
    form = form or "md"
    if form not in _FORMATS:
        raise UsageError(f"Format {form!r} not understood:", hint="use md or jsonl.")
    text = await talk.agent.sessions.export(talk.session_id, form)
    path = talk.agent.home.sessions / f"{talk.session_id}.{form}"
    with storing(path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    await talk.screen.note(f"written to {path}")


async def _quit(_: "ChatLoop", __: str) -> None:
    raise LeaveError(OK)


REGISTRY: dict[str, _Entry] = {
    "help": _Entry(_help, "/help", "this list"),
    "new": _Entry(_new, "/new", "begin a new session"),
    "sessions": _Entry(_sessions, "/sessions [words]", "list your own sessions"),
    "tasks": _Entry(_tasks, "/tasks", "show this session's tasks"),
    "model": _Entry(_model, "/model [name]", "list models, or switch at the next step"),
    "agent": _Entry(_agent, "/agent [name]", "list agents, or switch at the next message"),
    "memory": _Entry(_search, "/memory words", "search what is remembered"),
    "remember": _Entry(_remember, "/remember words", "remember something"),
    "forget": _Entry(_forget, "/forget number", "forget a memory"),
    "pin": _Entry(_pin, "/pin [words]", "pin a rule, or your last message as one"),
    "rules": _Entry(_rules, "/rules [lift …]", "list, accept, lift or enforce rules"),
    "skills": _Entry(_skills, "/skills [approve …]", "list, approve or disable skills"),
    "deep": _Entry(_deep, "/deep goal", "plan and work until every task is proven"),
    "plan": _Entry(_plan, "/plan [approve …]", "show, approve, revise or pause the work"),
    "usage": _Entry(_usage, "/usage", "tokens and cost of this session"),
    "context": _Entry(_context, "/context", "what the next request contains"),
    "compact": _Entry(_compact, "/compact", "sum up all turns but the last one"),
    "clear": _Entry(_clear, "/clear", "clear the model's context, keep the history"),
    "tools": _Entry(_tools, "/tools", "list the tools the model may call"),
    "copy": _Entry(_copy, "/copy", "copy the last answer to the clipboard"),
    "steer": _Entry(_steer, "/steer words", "give the running turn a message, as Ctrl-G does"),
    "stop": _Entry(_stop, "/stop", "stop the turn, as Ctrl-C does"),
    "retry": _Entry(_retry, "/retry", "let a stopped or failed turn go on"),
    "continue": _Entry(_continue, "/continue [id]", "go on: the last turn, or another session"),
    "title": _Entry(_title, "/title words", "name this session"),
    "fork": _Entry(_fork, "/fork", "go on in a copy of this session"),
    "export": _Entry(_export, "/export [md|jsonl]", "write this session to a file"),
    "quit": _Entry(_quit, "/quit", "leave"),
}
"""Everything that can follow a slash."""
