"""Strings that name a place outside of the workspace."""

import ast
import re
from collections.abc import Iterator
from posixpath import normpath

from long_running_agents.domain.skill import Finding

_ALONE = ("etc", "proc", "sys", "dev", "root")
"""Folders that nothing but a path names."""
_WITH_MORE = ("home", "var", "usr", "opt", "mnt", "boot", "srv", "run", "bin", "sbin", "lib",
              "lib64", "Users")  # fmt: skip
"""Folders that a route on the web could be called, too, if nothing followed."""

_PATH = re.compile(r"/[\w.@+:,~*?= -]*(?:/[\w.@+:,~*?= -]*)*")
"""No regular expression, and no sentence."""
_OUTSIDE = re.compile(rf"/(?:(?:{'|'.join(_ALONE)})(?:/.*)?|(?:{'|'.join(_WITH_MORE)})/.+)")
_HOME = re.compile(r"~[\w-]*/")
_FILE = re.compile(r"\s*file:/", re.IGNORECASE)
_FIELD = re.compile(r"\{[^{}]{0,200}[.\[]__\w{1,80}__")
_HARMLESS = ("/dev/null",)
_LONGEST = 4096


def places(tree: ast.Module) -> Iterator[Finding]:
    """Strings that are paths outside, and templates that look inside of objects."""
    passed_over = _prose(tree) | _endings(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in passed_over:
            continue
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if isinstance(text, str):
            yield from _text(text, node.lineno)


def _text(text: str, line: int) -> Iterator[Finding]:
    if _FIELD.search(text):
        yield Finding(
            message="A template looks into Python's insides (a field with __ in it).",
            repair="Put the value itself into the text, with an f-string.",
            line=line,
        )
    if _leads_out(text[:_LONGEST]):
        yield Finding(
            message=f"The path {text[:_LONGEST][:60]!r} is outside of /workspace and /tmp.",
            repair="Take the path as a parameter, or use one in /workspace.",
            line=line,
        )


def _leads_out(text: str) -> bool:
    if _FILE.match(text) or _HOME.match(text):
        return True
    if not text.startswith("/") or len(text) == 1 or not _PATH.fullmatch(text):
        return False
    path = "/" + normpath(text).lstrip("/")
    return path not in _HARMLESS and bool(_OUTSIDE.fullmatch(path))


def _prose(tree: ast.Module) -> set[int]:
    """Strings that stand alone: docstrings, and notes beneath fields."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _endings(tree: ast.Module) -> set[int]:
    """Strings that follow something else, such as the path after the host of an address."""
    found = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.update(id(part) for part in node.values[1:])
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and not isinstance(node.left, ast.Constant)
        ):
            found.add(id(node.right))
    return found
