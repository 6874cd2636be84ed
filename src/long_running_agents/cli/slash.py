"""The commands inside a conversation: one registry."""

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from long_running_agents.cli import slash_memory, slash_skills
from long_running_agents.cli.failures import OK
from long_running_agents.cli.live import LeaveError
from long_running_agents.cli.offering import SMALL
from long_running_agents.cli.output import moment
from long_running_agents.cli.render import one_line
from long_running_agents.domain.ids import session_id
from long_running_agents.domain.task import outline
from long_running_agents.domain.turn import RETRYABLE
from long_running_agents.errors import NotFound, StorageFailed, UsageError
from long_running_agents.models.names import LOCAL

if TYPE_CHECKING:
    from long_running_agents.cli.conversation import Conversation

Act = Callable[["Conversation", str], Awaitable[None]]

_LISTED = 10
_FORMATS = ("md", "jsonl")
SKILLS = "/skills"
"""The command about skills: beside a chat that owns its home, 'lra skills' can change nothing."""


@dataclass(frozen=True, slots=True)
class Slash:
    """A command as it was typed."""

    act: Act
    rest: str


@dataclass(frozen=True, slots=True)
class _Entry:
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


async def _help(talk: "Conversation", _: str) -> None:
    lines = [f"  {entry.usage:<18} {entry.help}" for entry in REGISTRY.values()]
    keys = "Enter sends, Esc-Enter or Ctrl-J begins a line, Ctrl-C stops, Ctrl-D leaves."
    await talk.screen.note("\n".join([*lines, keys]))


async def _new(talk: "Conversation", _: str) -> None:
    await talk.begin_new()
    await talk.screen.note(f"new session {talk.session_id}")


async def _sessions(talk: "Conversation", search: str) -> None:
    found = await talk.desk.sessions.previews(limit=_LISTED, search=search)
    lines = [
        f"{'*' if each.session.id == talk.session_id else ' '} {each.session.id}"
        f"  {moment(each.session.updated_at)}  {one_line(each.session.title, 50)}"
        for each in found
    ]
    await talk.screen.note("\n".join(lines) or "no sessions yet")


async def _tasks(talk: "Conversation", _: str) -> None:
    if not await _exists(talk):
        await talk.screen.note("no tasks")
        return
    await talk.screen.note(outline(await talk.desk.sessions.tasks(talk.session_id)) or "no tasks")


async def _model(talk: "Conversation", name: str) -> None:
    if not name:
        await talk.show_models()
        return
    # Refused now rather than in the middle of the turn.
    await talk.desk.check_model(name)
    if await _exists(talk):
        # Stored, and heard at the next step; the session is what knows its model from here on.
        talk.model = None
        await talk.desk.sessions.choose_model(talk.session_id, name)
    else:
        talk.model = name
        await talk.screen.note(f"model: {name}")
    if name.partition(":")[0] == LOCAL:
        await talk.screen.note(SMALL.format(name=name))


async def _stop(talk: "Conversation", _: str) -> None:
    await talk.stop()


async def _retry(talk: "Conversation", _: str) -> None:
    turn = await talk.desk.turns.retry(talk.session_id)
    await talk.screen.note(f"again: {one_line(turn.prompt)}")
    talk.watch(turn.id)


async def _continue(talk: "Conversation", chosen: str) -> None:
    """Go on with what was left undone here, or else in another session."""
    here = talk.session_id
    told = await talk.desk.sessions.turns(here) if await _exists(talk) else ()
    if not chosen and told and told[-1].status in RETRYABLE:
        await _retry(talk, "")
        return
    found = await talk.desk.sessions.previews(limit=_LISTED, search="")
    others = [each.session.id for each in found if each.session.id != here]
    if chosen:
        others = [(await talk.desk.sessions.get(session_id(chosen))).id]
    if not others:
        raise NotFound("There is no other session.", hint="Say something to begin this one.")
    await talk.screen.note(f"going on in {others[0]}")
    await talk.enter(others[0])


async def _title(talk: "Conversation", title: str) -> None:
    await talk.desk.sessions.rename(talk.session_id, title)
    await talk.screen.note(f"title: {title}")


async def _fork(talk: "Conversation", _: str) -> None:
    session = await talk.desk.sessions.fork(talk.session_id)
    await talk.screen.note(f"forked {talk.session_id} as {session.id}; what you say goes there")
    await talk.enter(session.id)


async def _export(talk: "Conversation", form: str) -> None:
    form = form or "md"
    if form not in _FORMATS:
        raise UsageError(f"Format {form!r} not understood:", hint="use md or jsonl.")
    text = await talk.desk.sessions.export(talk.session_id, form)
    path = talk.desk.home.sessions / f"{talk.session_id}.{form}"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}.") from error
    await talk.screen.note(f"written to {path}")


async def _quit(_: "Conversation", __: str) -> None:
    raise LeaveError(OK)


REGISTRY: dict[str, _Entry] = {
    "help": _Entry(_help, "/help", "this list"),
    "new": _Entry(_new, "/new", "begin a new session"),
    "sessions": _Entry(_sessions, "/sessions [words]", "list sessions"),
    "tasks": _Entry(_tasks, "/tasks", "show this session's tasks"),
    "model": _Entry(_model, "/model [name]", "list models, or switch at the next step"),
    "memory": _Entry(slash_memory.search, "/memory words", "search what is remembered"),
    "remember": _Entry(slash_memory.remember, "/remember words", "remember something"),
    "forget": _Entry(slash_memory.forget, "/forget number", "forget a memory"),
    "skills": _Entry(slash_skills.skills, "/skills [approve …]", "list, approve or disable skills"),
    "stop": _Entry(_stop, "/stop", "stop the turn, as Ctrl-C does"),
    "retry": _Entry(_retry, "/retry", "let a stopped or failed turn go on"),
    "continue": _Entry(_continue, "/continue [id]", "go on: the last turn, or another session"),
    "title": _Entry(_title, "/title words", "name this session"),
    "fork": _Entry(_fork, "/fork", "go on in a copy of this session"),
    "export": _Entry(_export, "/export [md|jsonl]", "write this session to a file"),
    "quit": _Entry(_quit, "/quit", "leave"),
}
"""Everything that can follow a slash."""


async def _exists(talk: "Conversation") -> bool:
    """Whether anything was said in this session yet."""
    return await talk.desk.find(talk.session_id) is not None
