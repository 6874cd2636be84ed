"""A tool call as the gate sees it: what it is about, read from its arguments."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import dirname
from typing import cast
from urllib.parse import urlsplit

from long_running_agents.domain import hazards, shell
from long_running_agents.domain.hazards import Hazard
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.domain.workspace import WORKSPACE

_COMMAND = ("command", "cmd")
_CODE = ("code", "source_code")
_FOLDER = ("directory", "folder")
_PATH = ("path", "file", "filename", "file_path", "destination", "target", *_FOLDER)
_URL = ("url", "urls", "link", "links", "uri")
_PACKAGES = ("packages", "package")
_QUERY = ("query", "search")
_LONGEST = 200


# Without slots: what is read from the arguments is read once, and kept.
@dataclass(frozen=True, kw_only=True)
class Call:
    """One call, before it runs."""

    tool: str
    args: Mapping[str, object] = field(default_factory=dict[str, object])
    effect: Effect = Effect.ONCE
    powers: frozenset[Power] = frozenset()
    foreign: bool = False
    """Whether its result is somebody else's words."""

    @cached_property
    def script(self) -> shell.Script | None:
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
        rest = [value for name, value in self.args.items() if name not in _URL]
        return any(isinstance(value, (list, dict)) or _is_words(value) for value in rest)

    @property
    def source(self) -> str:
        """What its result comes from, in the words of its arguments."""
        for names in (_URL, _PATH, _QUERY):
            if found := list(self._texts(names)):
                return ", ".join(found)[:_LONGEST]
        return f"the tool {self.tool}"

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
