"""The words of a shell command, cut as a shell would cut them. Nothing is run or expanded."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


HOLE = "\0"
"""Stands in a word for what only a running shell would know."""


class NotShellError(ValueError):
    """A text that a shell would not take: a quote or a bracket has no end."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word without its quotes."""

    text: str
    inner: tuple[str, ...] = ()
    """The scripts that run to make the word: ``$(…)``, backticks, ``<(…)``."""
    quoted: bool = False
    """Whether any of it was quoted: then it is no keyword."""


@dataclass(frozen=True, slots=True)
class Operator:
    """What stands between commands."""

    text: str


@dataclass(slots=True)
class Redirection:
    """A file that a command reads or writes. Its body is read when the line has ended."""

    operator: str
    target: Word
    body: str = ""

    @property
    def writes(self) -> bool:
        """Whether the file is written."""
        return ">" in self.operator and not self.operator.endswith("&")


Token = Word | Operator | Redirection

_REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)(?!\()|(&>>|&>)")
_OPERATOR = re.compile(r"\n|&&|\|\||;;&?|;&|\|&|[;&|()]")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_PLAIN = re.compile(r"[^\s;&|()<>\\'\"$`]+")
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?!$-])")
_ENDS = " \t\r\n;&|()<>"


def tokens(text: str) -> list[Token]:
    """Cut a text into words, operators and redirections.

    Raises:
        NotShellError: A quote or a bracket has no end.
    """
    return _Scanner(text).tokens()


def substitutions(text: str) -> tuple[str, ...]:
    """The scripts that run inside a text that is expanded as if between double quotes."""
    scanner = _Scanner(text)
    word = _Making()
    while scanner.at < len(text):
        scanner.quoted_piece(word)
    return tuple(word.inner)


@dataclass(slots=True)
class _Making:
    """A word in the making."""

    text: list[str] = field(default_factory=list[str])
    inner: list[str] = field(default_factory=list[str])
    quoted: bool = False

    def hole(self, *inner: str) -> None:
        self.text.append(HOLE)
        self.inner.extend(inner)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._awaited: list[Redirection] = []
        self._pieces: dict[str, Callable[[_Making], None]] = {
            "\\": self._escape,
            "'": self._single,
            '"': self._double,
            "$": self._dollar,
            "`": self._backtick,
        }

    def tokens(self) -> list[Token]:
        found: list[Token] = []
        while self.at < len(self._text):
            if blank := _BLANK.match(self._text, self.at) or _COMMENT.match(self._text, self.at):
                self.at = blank.end()
            else:
                found.append(self._token())
        return found

    def _token(self) -> Token:
        if match := _REDIRECTION.match(self._text, self.at):
            self.at = match.end()
            return self._redirection(match[1] or match[2])
        if match := _OPERATOR.match(self._text, self.at):
            self.at = match.end()
            if match[0] == "\n":
                self._read_bodies()
            return Operator(match[0])
        return self._word()

    def _redirection(self, operator: str) -> Redirection:
        if blank := _BLANK.match(self._text, self.at):
            self.at = blank.end()
        found = Redirection(operator, self._word())
        if operator in ("<<", "<<-"):
            self._awaited.append(found)
        return found

    def _read_bodies(self) -> None:
        for awaited in self._awaited:
            lines: list[str] = []
            while self.at < len(self._text):
                end = self._text.find("\n", self.at)
                line = self._text[self.at : len(self._text) if end < 0 else end]
                self.at = min(self.at + len(line) + 1, len(self._text))
                if (line.lstrip("\t") if awaited.operator == "<<-" else line) == (
                    awaited.target.text
                ):
                    break
                lines.append(line)
            awaited.body = "\n".join(lines)
            if not awaited.target.quoted:
                inner = substitutions(awaited.body)
                awaited.target = Word(awaited.target.text, inner)
        self._awaited.clear()

    def _word(self) -> Word:
        word = _Making()
        begun = self.at
        while self.at < len(self._text):
            character = self._text[self.at]
            if self._text.startswith(("<(", ">("), self.at):
                self.at += 1
                word.hole(self._between("(", ")"))
            elif character in _ENDS:
                break
            elif character in self._pieces:
                self._pieces[character](word)
            else:
                self._plain(word)
        if self.at == begun:
            raise NotShellError(f"a word is missing at {begun}")
        return Word("".join(word.text), tuple(word.inner), word.quoted)

    def _plain(self, word: _Making) -> None:
        match = _PLAIN.match(self._text, self.at)
        # Blanks that are none to a shell, such as a no-break space, are letters to it.
        end = match.end() if match else self.at + 1
        word.text.append(self._text[self.at : end])
        self.at = end

    def _escape(self, word: _Making) -> None:
        if self.at + 1 >= len(self._text):
            raise NotShellError("the text ends with a backslash")
        following = self._text[self.at + 1]
        if following != "\n":
            word.text.append(following)
            word.quoted = True
        self.at += 2

    def _single(self, word: _Making) -> None:
        word.quoted = True
        word.text.append(self._until("'"))

    def _double(self, word: _Making) -> None:
        word.quoted = True
        self.at += 1
        while self.at < len(self._text) and self._text[self.at] != '"':
            self.quoted_piece(word)
        if self.at >= len(self._text):
            raise NotShellError("a double quote has no end")
        self.at += 1

    def quoted_piece(self, word: _Making) -> None:
        """Read on between double quotes."""
        character = self._text[self.at]
        if character == "\\" and self._text[self.at + 1 : self.at + 2] in tuple('$`"\\\n'):
            self._escape(word)
        elif character in "$`":
            self._pieces[character](word)
        else:
            word.text.append(character)
            self.at += 1

    def _backtick(self, word: _Making) -> None:
        end = self.at + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise NotShellError("a backtick has no end")
        word.hole(re.sub(r"\\([`$\\])", r"\1", self._text[self.at + 1 : end]))
        self.at = end + 1

    def _dollar(self, word: _Making) -> None:
        following = self._text[self.at + 1 : self.at + 2]
        self.at += 1
        if following == "(":
            script = self._between("(", ")")
            arithmetic = script.startswith("(") and script.endswith(")")
            word.hole(*(substitutions(script) if arithmetic else [script]))
        elif following == "{":
            word.hole(*substitutions(self._between("{", "}")))
        elif following == "'":
            word.quoted = True
            word.text.append(_decoded(self._until("'", escapes=True)))
        elif following == '"':
            self._double(word)
        elif match := _VARIABLE.match(self._text, self.at - 1):
            self.at = match.end()
            word.hole()
        else:
            word.text.append("$")

    def _until(self, mark: str, *, escapes: bool = False) -> str:
        """What stands between here, at a mark, and the next one."""
        begun = end = self.at + 1
        while end < len(self._text) and self._text[end] != mark:
            end += 2 if escapes and self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise NotShellError("a quote has no end")
        self.at = end + 1
        return self._text[begun:end]

    def _between(self, opening: str, closing: str) -> str:
        """What stands between here, at a bracket, and the one that closes it."""
        begun, depth = self.at + 1, 0
        aside = _Making()
        while self.at < len(self._text):
            character = self._text[self.at]
            if character in "\\'\"`":
                self._pieces[character](aside)
                continue
            self.at += 1
            depth += (character == opening) - (character == closing)
            if depth == 0:
                return self._text[begun : self.at - 1]
        raise NotShellError(f"{opening!r} has no end")


_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))"
)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
_LAST = 0x10FFFF


def _decoded(text: str) -> str:
    """Text between ``$'`` and ``'`` as the shell understands it."""

    def meant(match: re.Match[str]) -> str:
        for place in (1, 2, 3):
            if match[place]:
                return chr(min(int(match[place], 16), _LAST))
        return chr(int(match[4], 8)) if match[4] else _LETTERS.get(match[5], match[5])

    return _ESCAPE.sub(meant, text)
