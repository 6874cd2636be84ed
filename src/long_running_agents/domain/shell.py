"""Which programs a shell command runs, as far as that can be read without running it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import basename, dirname, join, normpath

from long_running_agents.domain.shell_lexer import (
    HOLE,
    NotShellError,
    Operator,
    Redirection,
    Token,
    Word,
    tokens,
)
from long_running_agents.domain.workspace import WORKSPACE

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")

SILENT: Mapping[str, tuple[str, int]] = {
    "env": ("uCS", 0), "nohup": ("", 0), "nice": ("n", 0), "ionice": ("cnp", 0), "time": ("of", 0),
    "timeout": ("sk", 1), "stdbuf": ("ioe", 0), "setsid": ("", 0), "command": ("", 0),
    "builtin": ("", 0), "exec": ("a", 0), "busybox": ("", 0), "toybox": ("", 0),
}  # fmt: skip
"""Programs that only run another one: their options with a value, and words before the program."""

HEARD: Mapping[str, tuple[str, int]] = {
    "sudo": ("ughpCDRTUrt", 0), "doas": ("uC", 0), "xargs": ("InPLdaEs", 0), "chroot": ("", 1),
    "watch": ("n", 0), "flock": ("wE", 1), "strace": ("eopsu", 0),
}  # fmt: skip
"""The same, for those that change what the other can do."""


def asks_only(name: str, arguments: Sequence[Word]) -> bool:
    """Whether a wrapper only says what it would run."""
    return name == "command" and any(word.text in ("-v", "-V") for word in arguments[:1])


def beyond(
    arguments: Sequence[Word], valued: str, leading: int
) -> tuple[Sequence[Word], tuple[str, ...]]:
    """The words after a wrapper's own, and the variables that it sets."""
    settings: list[str] = []
    place = 0
    while place < len(arguments):
        text = arguments[place].text
        if text == "--":
            place += 1
            break
        if match := ASSIGNMENT.match(text):
            settings.append(match[1])
        elif len(text) > 1 and text.startswith("-"):
            place += text[1:] in tuple(valued)
        elif leading:
            leading -= 1
        else:
            break
        place += 1
    return arguments[place:], tuple(settings)


def operands(arguments: Sequence[Word]) -> Iterator[str]:
    """The arguments that are no options."""
    return (word.text for word in arguments if not word.text.startswith("-"))


def option(arguments: Sequence[Word], letter: str) -> str:
    """The value of an option, also of one among others such as -lc."""
    for place, word in enumerate(arguments[:-1]):
        text = word.text
        if text.startswith("-") and not text.startswith("--") and text.endswith(letter):
            return arguments[place + 1].text
    return ""


def executed(arguments: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The commands that find runs for what it has found."""
    # What it found stands for the braces; where that was is its own first word.
    where = next(operands(arguments), ".")
    place = 0
    while place < len(arguments):
        place += 1
        if arguments[place - 1].text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        begun = place
        while place < len(arguments) and arguments[place].text not in (";", "+"):
            place += 1
        yield [Word(where) if each.text == "{}" else each for each in arguments[begun:place]]


UNKNOWN = "?"
"""A program that only a running shell would know."""

INTERPRETERS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

_USUAL = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"})
_FAMILIES = frozenset(
    {"git", "docker", "podman", "npm", "pnpm", "yarn", "pip", "pip3", "uv", "cargo", "go", "apt"}
    | {"apt-get", "kubectl", "systemctl", "gh", "poetry", "conda"}
)
"""Programs whose first word says what they do."""

_OPENING = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "coproc"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_HEADS = frozenset({"for", "select", "case"})

_DEPTH = 8
_LEVELS = 12
_MOST = 500
_LONGEST = 200_000
"""How deep and how long a command may be to be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program with its arguments."""

    program: str
    """Its name, with a path unless it is a usual one; ``git push``; or UNKNOWN."""
    arguments: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    """The variables that are set for it."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    """Files that are redirected into it, or out of it."""
    folder: str = WORKSPACE
    """Where it runs; empty when that is not known."""
    fed_by: str = ""
    """The program whose words it is given to read."""

    @property
    def name(self) -> str:
        """The program without what it is told to do."""
        return self.program.partition(" ")[0]

    def path(self, text: str) -> str:
        """An argument as a whole path."""
        return resolved(self.folder, text)


@dataclass(frozen=True, slots=True)
class ShellScript:
    """All commands of a text, in the order in which they stand."""

    commands: tuple[Command, ...] = ()
    understood: bool = True
    """Whether these are all programs that run."""
    functions: frozenset[str] = frozenset()
    endless: bool = False
    """Whether reading was given up: it is longer or deeper than anybody writes by hand."""

    @property
    def programs(self) -> frozenset[str]:
        """What runs; a variable that is set for a program counts, since it may change it."""
        names = {command.program for command in self.commands if command.program}
        names |= {f"{name}=" for command in self.commands for name in command.assignments}
        return frozenset(names if self.understood else names | {UNKNOWN})


def read(text: str) -> ShellScript:
    """Read a command; what cannot be read is not understood, and no error."""
    reader = _Reader()
    reader.read(text, WORKSPACE)
    return ShellScript(
        tuple(reader.commands),
        reader.understood and not reader.endless,
        frozenset(reader.functions),
        reader.endless,
    )


def resolved(folder: str, text: str) -> str:
    """A path without dots; one that is not known has a hole in it."""
    if HOLE in text or not (folder or text.startswith(("/", "~"))):
        return HOLE
    if text.startswith("~"):
        user, _, rest = text.partition("/")
        return normpath(join("/home", user[1:] or "user", rest))
    # Two slashes at the beginning are kept by normpath, and mean one.
    return re.sub("^//", "/", normpath(join(folder, text)))


@dataclass(slots=True)
class _Pending:
    """A command as far as it was read."""

    words: list[Word] = field(default_factory=list[Word])
    redirections: list[Redirection] = field(default_factory=list[Redirection])

    tests: int = 0
    """How many ``[[`` are open: what looks like an operator in one is none."""

    def add(self, token: Word | Redirection) -> None:
        if isinstance(token, Word):
            self.words.append(token)
            if not token.quoted:
                self.tests += (token.text == "[[") - (token.text == "]]")
        else:
            self.redirections.append(token)


class _Reader:
    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.functions: set[str] = set()
        self.understood = True
        self.endless = False
        self._folder = WORKSPACE
        self._depth = 0
        self._runs = 0
        self._levels = 0

    def read(self, text: str, folder: str) -> str:
        """Read a text and say which program comes last."""
        if self._depth >= _DEPTH or len(text) > _LONGEST:
            self.endless = True
            return UNKNOWN
        outside, self._folder = self._folder, folder
        self._depth += 1
        before = len(self.commands)
        try:
            self._read(tokens(text))
        except NotShellError:
            self.understood = False
        except RecursionError:
            # Brackets in brackets, a thousand deep.
            self.endless = True
        self._depth -= 1
        self._folder = outside
        return self.commands[-1].program if len(self.commands) > before else ""

    def _read(self, found: Sequence[Token]) -> None:
        pending, folders, fed_by, patterns = _Pending(), list[str](), "", False
        for place, token in enumerate([*found, Operator(";")]):
            if not isinstance(token, Operator):
                pending.add(token)
                continue
            if pending.tests > 0:
                continue
            if self.endless:
                return
            following = found[place + 1 : place + 2]
            named = token.text == "(" and self._defines(pending, following)
            # What stands before the bracket of a case is a pattern, or several.
            patterns = patterns or _begins_case(pending.words)
            if named or (patterns and token.text in ("|", ")")):
                self._substituted(pending)
            else:
                last = self._end(pending, fed_by)
                fed_by = last if token.text in ("|", "|&") else ""
            patterns = token.text.startswith(";;") or (patterns and token.text == "|")
            pending = _Pending()
            self._nest(token.text, folders)

    def _nest(self, operator: str, folders: list[str]) -> None:
        """Come back from a subshell to the folder where it began."""
        if operator == "(":
            folders.append(self._folder)
        elif operator == ")" and folders:
            self._folder = folders.pop()

    def _defines(self, pending: _Pending, following: Sequence[Token]) -> bool:
        """Whether a bracket is that of a function's name."""
        if len(pending.words) != 1 or list(following) != [Operator(")")]:
            return False
        self.functions.add(pending.words[0].text)
        return True

    def _end(self, pending: _Pending, fed_by: str) -> str:
        """Take a command that is complete, and say which program it was."""
        words = self._stripped(pending.words)
        # What a substitution says becomes a word: a shell that is given it may run it.
        fed_by = self._substituted(pending) or fed_by
        assignments: list[str] = []
        while len(assignments) < len(words) and (
            match := ASSIGNMENT.match(words[len(assignments)].text)
        ):
            assignments.append(match[1])
        words = words[len(assignments) :]
        frame = Command(
            program="",
            assignments=tuple(assignments) if words else (),
            reads=tuple(
                each.target.text
                for each in pending.redirections
                if each.operator in ("<", "<>") and not each.target.inner
            ),
            writes=tuple(each.target.text for each in pending.redirections if each.writes),
            folder=self._folder,
            fed_by=fed_by,
        )
        bodies = [each.body for each in pending.redirections if each.body]
        return self._run(words, frame, bodies)

    def _substituted(self, pending: _Pending) -> str:
        """Read what runs to make a command's words, and say which program comes last."""
        last = ""
        for word in [*pending.words, *(each.target for each in pending.redirections)]:
            for script in word.inner:
                last = self.read(script, self._folder) or last
        return last

    def _stripped(self, words: Sequence[Word]) -> Sequence[Word]:
        """A command without the keywords before it."""
        place = 0
        while place < len(words) and not words[place].quoted:
            first = words[place].text
            if first in _HEADS:
                return ()
            if first == "function":
                self.functions.update(word.text for word in words[place + 1 : place + 2])
                place += 2
            elif first in _OPENING or first in _CLOSING:
                place += 1
            else:
                break
        return words[place:]

    def _run(self, words: Sequence[Word], frame: Command, bodies: Sequence[str] = ()) -> str:
        if not words:
            if frame.writes:
                self.commands.append(frame)
            return ""
        self._runs += 1
        self._levels += 1
        self.endless = self.endless or self._runs > _MOST or self._levels > _LEVELS
        last = UNKNOWN if self.endless else self._take(words, frame, bodies)
        self._levels -= 1
        return last

    def _take(self, words: Sequence[Word], frame: Command, bodies: Sequence[str]) -> str:
        name, arguments = _program(words[0]), words[1:]
        if name in SILENT and not asks_only(name, arguments):
            return self._inside(arguments, SILENT[name], frame, bodies)
        command = _named(name, arguments, frame)
        self.commands.append(command)
        self._note(command, arguments, bodies)
        if name in HEARD:
            return self._inside(arguments, HEARD[name], frame, bodies) or name
        if name == "find":
            for part in executed(arguments):
                self._run(part, replace(frame, fed_by=name, reads=(), writes=()))
        return command.program

    def _inside(
        self,
        arguments: Sequence[Word],
        shape: tuple[str, int],
        frame: Command,
        bodies: Sequence[str],
    ) -> str:
        """Take the command that another one runs."""
        rest, settings = beyond(arguments, *shape)
        if any(word.text.startswith("-S") for word in arguments[: len(arguments) - len(rest)]):
            self.understood = False
        assignments = (*frame.assignments, *settings)
        return self._run(rest, replace(frame, assignments=assignments), bodies)

    def _note(self, command: Command, arguments: Sequence[Word], bodies: Sequence[str]) -> None:
        """See what a command does to how the rest is read."""
        match command.name:
            case "cd" | "pushd":
                self._folder = command.path(next(operands(arguments), "~"))
                if HOLE in self._folder:
                    self._folder = ""
            case "eval":
                self._text(" ".join(word.text for word in arguments), command)
            case "su":
                self._text(option(arguments, "c"), command)
            case program if program in INTERPRETERS:
                self._text(option(arguments, "c"), command)
                for body in bodies:
                    self.read(body, command.folder)
            case program if program == UNKNOWN:
                self.understood = False
            case _:
                pass

    def _text(self, script: str, command: Command) -> None:
        if HOLE in script:
            self.understood = False
        elif script:
            self.read(script, command.folder)


def _begins_case(words: Sequence[Word]) -> bool:
    return any(word.text == "case" and not word.quoted for word in words[:2])


def _program(word: Word) -> str:
    if HOLE in word.text or not word.text:
        return UNKNOWN
    return basename(word.text) if dirname(word.text) in _USUAL else word.text


def _named(name: str, arguments: Sequence[Word], frame: Command) -> Command:
    texts = tuple(word.text for word in arguments)
    program = name
    if name in _FAMILIES:
        options = [text for text in texts if text.startswith("-")]
        # A setting on the command line can name a program that git then runs.
        said = "-c" if "-c" in options or any(o.startswith("--config-env") for o in options) else ""
        program = f"{name} {said or _verb(texts)}".strip()
    return replace(frame, program=program, arguments=texts)


def _verb(texts: Sequence[str]) -> str:
    skip = False
    for text in texts:
        if skip or text.startswith("-"):
            skip = text in ("-C", "--git-dir", "--work-tree", "--prefix", "-H", "--context")
        else:
            return text
    return ""
