"""Python text, parsed and never run: its tree, its names, and the plain values in it."""

import ast
import math
import re
import symtable
import unicodedata
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from long_running_agents.domain.skill import Finding
from long_running_agents.errors import NotPython

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What the parser raises when a text is no Python, or too much of it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""Something with a name that can be called."""

# Filters of warnings belong to the whole process: two that put them back in the wrong order would
# leave them changed for ever.
_QUIET = Lock()


def parsed(text: str) -> ast.Module:
    """The tree of a text; NotPython says where it has none."""
    found = _tree(text)
    if isinstance(found, Finding):
        where = f"line {found.line}: " if found.line else ""
        raise NotPython(f"{where}{found.message}", hint=found.repair)
    return found


@contextmanager
def quietly() -> Generator[None]:
    """Parse without a word about odd escapes and the like: that is for the author to mend."""
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def last_name(node: ast.expr) -> str:
    """A name without what stands before its last dot; empty when it is none."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def called(node: ast.expr) -> str:
    """The last name of what is called, or stands there without a call, as a decorator does."""
    return last_name(node.func if isinstance(node, ast.Call) else node)


def has_function(tree: ast.Module) -> bool:
    """Whether a module defines a function at its top level."""
    return any(isinstance(node, Function) for node in tree.body)


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The names of a module, as the compiler tells them apart."""

    assigned: frozenset[str]
    """Assigned or defined at the level of the module."""
    bound: frozenset[str]
    """Those, and what is imported there."""
    used: frozenset[str]
    """Looked up there, or among the builtins."""


def module_names(source: str) -> ModuleNames:
    """The names of a source that can be parsed."""
    with quietly():
        tables = [symtable.symtable(source, "<source>", "exec")]
    top = tables[0]
    for table in tables:
        tables.extend(table.get_children())
    symbols = [(table, each) for table in tables for each in table.get_symbols()]
    here = [each for table, each in symbols if table is top or each.is_declared_global()]
    assigned = frozenset(each.get_name() for each in here if each.is_assigned())
    imported = frozenset(each.get_name() for each in here if each.is_imported())
    used = frozenset(
        each.get_name()
        for table, each in symbols
        if each.is_referenced() and (each.is_global() or table.get_type() in ("module", "class"))
    )
    return ModuleNames(assigned, assigned | imported, used)


def binding(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


LARGEST = 64_000
"""Bytes of a source."""
MOST_LINES = 2000
DEEPEST = 200
"""How deep its parts may be nested; what reads them calls itself for every level."""
MOST_NODES = 20_000
"""Parts of a source; each is looked at several times."""
_DEEPEST_VALUE = 30
_LARGEST_INTEGER = 2**63 - 1
_LONGEST_SHOWN = 60
_SMALLER = "Keep one function, and put data into a file it reads."
_MOST_ODD = 20
"""Lines with odd characters that are named."""

_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8 = ("utf-8", "utf8", "utf_8", "ascii", "us-ascii")
_ODD = re.compile(
    "[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\x85\\u200b\\u2028-\\u202e\\u2060\\u2066-\\u2069\\ufeff"
    "\\ud800-\\udfff]|\\r(?!\\n)"
)
"""Letters that are not seen, that turn the direction of others, or that are only half of one."""


class NotPlain(ValueError):
    """A value that is not written out, or that JSON does not have."""


def read(source: str) -> tuple[ast.Module | None, tuple[Finding, ...]]:
    """The tree of a source, or what keeps it from being one."""
    if len(source) > LARGEST or len(source.encode("utf-8", "surrogatepass")) > LARGEST:
        return None, (Finding(f"The source has more than {LARGEST // 1000} kB.", _SMALLER),)
    if len(source.splitlines()) > MOST_LINES:
        return None, (Finding(f"The source has more than {MOST_LINES} lines.", _SMALLER),)
    if problems := tuple(_characters(source)):
        return None, problems
    found = _tree(source)
    if isinstance(found, ast.Module) and (problem := _too_much(found)):
        found = problem
    return (None, (found,)) if isinstance(found, Finding) else (found, ())


def _tree(source: str) -> ast.Module | Finding:
    try:
        with quietly():
            return ast.parse(source)
    except SyntaxError as error:
        return no_python(error)
    except (RecursionError, MemoryError):
        return _too_deep(0)
    except UNREADABLE as error:
        return Finding(f"This is no Python: {error}.", "Correct it.")


def expression(text: str) -> ast.expr | None:
    """A text as one expression; None when it is none, or far too deep."""
    try:
        with quietly():
            tree = ast.parse(text.strip(), mode="eval")
    except UNREADABLE:
        return None
    return None if _too_much(tree) else tree.body


def literal(node: ast.expr) -> Any:
    """The value that an expression writes out, as JSON has it; else it is NotPlain."""
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise NotPlain("it is not written out") from None
    return plain(value)


def plain(value: object, depth: int = 0) -> Any:
    """A value as JSON has it: tuples become lists.

    Raises:
        NotPlain: JSON has no such value, or not every reader takes it.
    """
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise NotPlain("it has half a character in it")
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise NotPlain("it has more than 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise NotPlain("it is no finite number")
    if value is None or isinstance(value, str | int | float):
        return value
    return _plain_group(value, depth + 1)


def _plain_group(value: object, depth: int) -> Any:
    if depth > _DEEPEST_VALUE:
        raise NotPlain("it is nested too deeply")
    if isinstance(value, list | tuple):
        return [plain(item, depth) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        table = cast("dict[object, object]", value)
        if not all(isinstance(key, str) for key in table):
            raise NotPlain("a key of it is no string")
        return {plain(key): plain(item, depth) for key, item in table.items()}
    raise NotPlain(f"JSON has no {type(value).__name__}")


def shown(node: ast.AST) -> str:
    """A piece of source for a message: in one line, and short."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (ValueError, RecursionError):
        text = "…"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _characters(source: str) -> Iterator[Finding]:
    """Characters that make a source read otherwise than it looks."""
    seen = set[int]()
    for match in _ODD.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if line not in seen:
            seen.add(line)
            yield _odd_character(match[0], line)
        if len(seen) == _MOST_ODD:
            break
    # Python looks for it there.
    for number, line in enumerate(source.split("\n", 2)[:2], start=1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower() not in _UTF8:
            yield Finding(
                f"The source claims to be written in {cookie[1]}, but it is UTF-8.",
                "Remove the coding comment.",
                number,
            )


def _odd_character(letter: str, line: int) -> Finding:
    code = f"U+{ord(letter):04X}"
    if "\ud800" <= letter <= "\udfff":
        message = f"Half of a character ({code}) is in the source; no file can hold it."
    elif letter == "\r":
        message = "A carriage return is in the middle of a line; what follows would be hidden."
    else:
        name = unicodedata.name(letter, "a control character").lower()
        message = f"A character that cannot be seen is in the source: {code}, {name}."
    repair = f"Remove it, or write it as an escape such as \\u{ord(letter):04x} in a string."
    return Finding(message, repair, line)


def no_python(error: SyntaxError) -> Finding:
    """What is said about a text that is no Python."""
    reason = (error.msg or "it cannot be read").rstrip(".")
    if isinstance(error, IndentationError):
        repair = "Indent each block by 4 spaces more than the line that begins it."
    elif "Exceeds the limit" in reason:
        reason, repair = "a number has too many digits", "Compute it, or write it as a string."
    elif "nested" in reason:
        repair = "Split it into several statements or functions."
    else:
        repair = "Correct this line, or the one before it."
    return Finding(f"This is no Python: {reason}.", repair, max(error.lineno or 0, 0))


def _too_deep(line: int) -> Finding:
    return Finding(
        f"The source is nested too deeply (more than {DEEPEST} levels).",
        "Split it into several statements or functions.",
        line,
    )


def _too_much(tree: ast.AST) -> Finding | None:
    """What is said about a tree that is too deep or too large."""
    level, count = [tree], 0
    for _ in range(DEEPEST + 1):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        count += len(level)
        if count > MOST_NODES:
            return Finding(
                f"The source has more than {MOST_NODES} names, numbers and signs.",
                "Put data into a file that the function reads.",
            )
        if not level:
            return None
    return _too_deep(next((getattr(node, "lineno", 0) for node in level), 0))
