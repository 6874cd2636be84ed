"""How much two sources are alike, whatever they call things."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import cast
from zlib import crc32

from long_running_agents.skills import syntax

ALIKE = 0.8
"""From here on, one is a copy of the other."""

_WIDTH = 3
_PASSED_OVER = frozenset({"returns", "annotation", "type_comment", "ctx", "kind", "type_ignores"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def fingerprint(source: str) -> frozenset[int]:
    """What a source is made of: names, hints, comments and docstrings do not count.

    Args:
        source: Python. What cannot be read has an empty fingerprint, and is like nothing.
    """
    tree, _ = syntax.read(source)
    if tree is None:
        return frozenset()
    shared = _shared(tree)
    found: Counter[str] = Counter()
    loose: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, _Function | ast.ClassDef):
            found.update(_shingles([node], shared))
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            loose.append(node)
    for node in loose:
        found.update(_shingles([node], shared))
    # How often something is there counts, too: two sums are not one.
    return frozenset(
        crc32(f"{text}#{place}".encode("utf-8", "surrogatepass"))
        for text, count in found.items()
        for place in range(count)
    )


def alike(one: frozenset[int], other: frozenset[int]) -> float:
    """How much of two fingerprints is the same, from 0 to 1."""
    if not one or not other:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _shared(tree: ast.Module) -> dict[str, str]:
    """What the names at the top of a source stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({one.asname: one.name for one in node.names if one.asname})
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: one.name for one in node.names})
    for node in tree.body:
        if isinstance(node, _Function | ast.ClassDef):
            found[node.name] = "own"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found.update(dict.fromkeys(names, "constant"))
    return found


def _shingles(nodes: list[ast.AST], shared: dict[str, str]) -> Iterator[str]:
    """Short runs of neighbouring words of a piece of source."""
    words = ["(", *(word for node in nodes for word in _words(node, shared)), ")"]
    for place in range(max(len(words) - _WIDTH + 1, 1)):
        yield " ".join(words[place : place + _WIDTH])


def _words(top: ast.AST, shared: dict[str, str]) -> Iterator[str]:
    """A tree as words, with its own names numbered in their order."""
    own = _own(top)
    waiting: list[object] = [top]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield own.get(node) or shared.get(node, node)
            continue
        if isinstance(node, ast.Constant):
            yield f"{type(node.value).__name__}:{_constant(node.value)}"
            continue
        if not isinstance(node, ast.AST):
            continue
        if not isinstance(node, ast.Name | ast.Load | ast.Store | ast.Expr | ast.arguments):
            yield type(node).__name__
        waiting.extend(reversed(list(_parts(node))))


def _constant(value: object) -> str:
    # A number of many digits takes long to write, and Python refuses.
    return hex(value) if isinstance(value, int) else repr(value)


def _parts(node: ast.AST) -> Iterator[object]:
    if isinstance(node, ast.ClassDef | _Function):
        yield "def"
    for name, value in ast.iter_fields(node):
        if name in _PASSED_OVER or (name == "name" and isinstance(node, ast.ClassDef | _Function)):
            continue
        if isinstance(value, list):
            parts = cast("list[ast.AST]", value)
            yield from _without_docstring(node, parts) if name == "body" else parts
        elif value is not None:
            yield value


def _without_docstring(node: ast.AST, body: list[ast.AST]) -> list[ast.AST]:
    first = body[0] if body else None
    if (
        isinstance(node, ast.ClassDef | _Function)
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return body[1:]
    return body


def _own(top: ast.AST) -> dict[str, str]:
    """The parameters, variables and inner functions of a piece of source."""
    found: dict[str, str] = {}
    for node in ast.walk(top):
        if isinstance(node, ast.arg):
            found.setdefault(node.arg, f"v{len(found)}")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, f"v{len(found)}")
        elif isinstance(node, _Function) and node is not top:
            found.setdefault(node.name, f"v{len(found)}")
    return found
