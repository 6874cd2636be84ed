"""A tool call: as the ledger knows it, and as the gate judges it."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from posixpath import dirname
from typing import Any, cast
from urllib.parse import urlsplit

from long_running_agents.domain import hazards, shell
from long_running_agents.domain.hazards import Hazard
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.workspace import WORKSPACE


class Effect(StrEnum):
    """What running a tool again would do. Undeclared tools are ONCE."""

    READ = "read"
    """Changes nothing; may be repeated."""
    IDEMPOTENT = "idempotent"
    """Repeating it leaves the same state; may be repeated."""
    ONCE = "once"
    """Repeating it does it twice; never repeated by itself."""


class Power(StrEnum):
    """What a tool can do beyond its own result; the gate asks about some of it."""

    SEND = "send"
    """Can carry data out of this machine."""
    EXECUTE = "execute"
    """Runs foreign code, in a sandbox."""
    CHANGE = "change"
    """Changes files of the workspace."""
    REMEMBER = "remember"
    """Writes what later turns are told."""
    EXTEND = "extend"
    """Adds to what the agent can do by itself: packages, skills, jobs."""


class Claim(StrEnum):
    """What a foreign server says of a tool; one that says nothing can do everything.

    It is believed only as far as a lie gains the server nothing (`domain/taint.py`).
    """

    READS = "reads"
    CHANGES = "changes"
    """Changes something that the server keeps, and tells nobody else of it."""


class CallState(StrEnum):
    """Where a tool call stands."""

    REQUESTED = "requested"
    """The model asked; nothing has run."""
    WAITING = "waiting"
    """An approval is open, or the client runs it."""
    STARTED = "started"
    """It is running, or was when the process died."""
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    UNCERTAIN = "uncertain"
    """It was cut off; whether it took effect is unknown."""

    @property
    def resolved(self) -> bool:
        """Whether the model has, or can be given, an outcome."""
        return self in (CallState.DONE, CallState.FAILED, CallState.DENIED, CallState.UNCERTAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One row of the ledger: the intent, and once known, the outcome."""

    turn_id: TurnId
    session_id: SessionId
    call_id: str
    step: int
    position: int
    tool: str
    args: str
    """The arguments as JSON text."""
    effect: Effect
    state: CallState
    result: str | None = None
    """What the model was told, as JSON text."""
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name; none where the model wrote no object."""
        try:
            given: object = json.loads(self.args)
        except ValueError:
            return {}
        return cast("dict[str, Any]", given) if isinstance(given, dict) else {}

    @property
    def words(self) -> str:
        """What it was given and what came of it, as plain text."""
        # A command that fails says so, and one that does not says nothing.
        ran = self.state is CallState.DONE and any(f'"{name}"' in self.args for name in _RUNNING)
        begun = ["[exit code 0]", self.tool] if ran else [self.tool]
        try:
            told = {"args": json.loads(self.args), "result": json.loads(self.result or "null")}
            return "\n".join([*begun, *(text for _, text in texts_in(told))])
        except (ValueError, RecursionError):
            return "\n".join([*begun, self.args, self.result or ""])


class Replay(StrEnum):
    """What to do with a call that a restarted turn meets again."""

    RUN = "run"
    RETURN_RESULT = "return_result"
    REPORT_UNCERTAIN = "report_uncertain"


def replay(state: CallState, effect: Effect) -> Replay:
    """Decide how a call goes on: finished ones are not repeated, unfinished ONCE ones neither."""
    if state.resolved:
        return Replay.RETURN_RESULT
    if state is CallState.STARTED and effect is Effect.ONCE:
        return Replay.REPORT_UNCERTAIN
    return Replay.RUN


UNCERTAIN_MESSAGE = (
    "UNCERTAIN: {tool} was cut off while it ran, so it may or may not have taken effect. "
    "It has not been run again. Check its effect before you decide what to do."
)


_COMMAND = ("command", "cmd")
_CODE = ("code", "source_code")
_RUNNING = (*_COMMAND, *_CODE)
_FOLDER = ("directory", "folder")
_PATH = ("path", "file", "filename", "file_path", "destination", "target", *_FOLDER)
_URL = ("url", "urls", "link", "links", "uri")
_PACKAGES = ("packages", "package")
_QUERY = ("query", "search")
_TO = (
    "to", "cc", "bcc", "recipient", "recipients", "email", "user_email", "participants",
    "attendees", "channel", "user", "account", "iban", "phone", "chat_id", "room",
)  # fmt: skip
_LONGEST = 200


# Without slots: what is read from the arguments is read once, and kept.
@dataclass(frozen=True, kw_only=True)
class GatedCall:
    """One call, before it runs."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict[str, object])
    effect: Effect = Effect.ONCE
    powers: frozenset[Power] = frozenset()
    foreign: bool = False
    """Whether its result is somebody else's words."""
    server: str = ""
    """The foreign server whose tool it is."""
    claim: Claim | None = None
    """What that server says of the tool."""

    @cached_property
    def script(self) -> shell.ShellScript | None:
        """The shell command it runs, if it runs one."""
        for name in _COMMAND:
            given = self.args.get(name)
            if isinstance(given, str):
                return shell.read(given)
            if isinstance(given, list):
                return shell.read(shlex.join(map(str, cast("list[object]", given))))
        return None

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs it runs, or the packages it fetches."""
        packages = frozenset(text.casefold() for text in self._texts(_PACKAGES))
        return packages if self.script is None else packages | self.script.programs

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The whole paths that a file tool is given."""
        return tuple(shell.resolved(WORKSPACE, text) for text in self._texts(_PATH))

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders that these are in, or are."""
        named = {shell.resolved(WORKSPACE, text) for text in self._texts(_FOLDER)}
        return frozenset(path if path in named else dirname(path) for path in self.files)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All whole paths it names, also in a command."""
        if self.script is None:
            return self.files
        named = [
            command.path(text)
            for command in self.script.commands
            for text in (*command.arguments, *command.reads, *command.writes)
            if not text.startswith("-")
        ]
        return (*self.files, *named)

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        """The URLs it is given, also in a command."""
        given = list(self._texts(_URL))
        if self.script is not None:
            words = [text for command in self.script.commands for text in command.arguments]
            given += [text for text in words if text.startswith(("http://", "https://"))]
        return tuple(given)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts of these; one that cannot be read is a question mark."""
        return frozenset(_host(address) for address in self.addresses)

    @cached_property
    def receivers(self) -> frozenset[str]:
        """Whom it is for, as far as its arguments say so."""
        named = {name: self.args[name] for name in _TO if name in self.args}
        return frozenset(text.casefold() for _, text in texts_in(named))

    @property
    def said(self) -> Mapping[str, object]:
        """What it says beside the URLs it is given."""
        return {name: value for name, value in self.args.items() if name not in _URL}

    @cached_property
    def hazards(self) -> tuple[Hazard, ...]:
        """What is risky about it."""
        changes = self.effect is not Effect.READ
        found = [
            risk for text in self._texts(_PATH) for risk in hazards.of_file(text, changes=changes)
        ]
        found += [risk for text in self._texts(_CODE) for risk in hazards.of_code(text)]
        if self.script is not None:
            found += hazards.of_script(self.script)
        return tuple(dict.fromkeys(found))

    @property
    def says_more(self) -> bool:
        """Whether it has something to say beside the URLs it is given."""
        return any(
            isinstance(value, (list, dict)) or _is_words(value) for value in self.said.values()
        )

    @property
    def source(self) -> str:
        """What its result comes from; the part before the colon says what that is."""
        if self.server:
            return f"mcp:{self.server}/{self.tool}"
        for kind, names in (("web", _URL), ("file", _PATH), (f"tool:{self.tool}", _QUERY)):
            if found := list(self._texts(names)):
                between = "/" if names is _QUERY else ":"
                return f"{kind}{between}{', '.join(found)}"[:_LONGEST]
        return f"tool:{self.tool}"

    def _texts(self, names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            given = self.args.get(name)
            values = cast("list[object]", given) if isinstance(given, list) else [given]
            yield from (value for value in values if isinstance(value, str) and value)


_LONGEST_SWITCH = 16


def _is_words(value: object) -> bool:
    """Whether a value is a text, and not one of a few choices such as 'markdown'."""
    if not isinstance(value, str):
        return False
    return len(value) > _LONGEST_SWITCH or not re.fullmatch("[A-Za-z_]*", value)


def _host(address: str) -> str:
    try:
        return urlsplit(address if "://" in address else f"//{address}").hostname or shell.UNKNOWN
    except ValueError:
        return shell.UNKNOWN


def texts_in(args: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """All texts and figures in arguments, each with its name; what is nested has none."""
    for name, value in args.items():
        if isinstance(value, (list, dict)):
            yield from (("", text) for text in _nested(cast("object", value)))
        elif value is not None and not isinstance(value, bool):
            yield name, str(value)


def _nested(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in cast("dict[object, object]", value).items():
            yield str(name)
            yield from _nested(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _nested(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
