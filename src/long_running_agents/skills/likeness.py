"""How much two sources are alike, whatever they call things."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import cast
from zlib import crc32

from long_running_agents.skills.bindings import Function
from long_running_agents.skills.reviewing import syntax

ALIKE = 0.8
"""From here on, one is a copy of the other."""

_WIDTH = 3
_PASSED_OVER = frozenset({"returns", "annotation", "type_comment", "ctx", "kind", "type_ignores"})


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
    for node in tree.body:
        prose = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not prose and not isinstance(node, ast.Import | ast.ImportFrom):
            found.update(_shingles(node, shared))
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
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update({one.asname: one.name for one in node.names if one.asname})
        elif isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: one.name for one in node.names})
        elif isinstance(node, Function | ast.ClassDef):
            found[node.name] = "own"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found.update(dict.fromkeys(names, "constant"))
    return found


def _shingles(node: ast.AST, shared: dict[str, str]) -> Iterator[str]:
    """Short runs of neighbouring words of a piece of source."""
    words = ["(", *_Words().of(node, shared), ")"]
    for place in range(max(len(words) - _WIDTH + 1, 1)):
        yield " ".join(words[place : place + _WIDTH])


class _Words:
    """A tree as words, with its own names numbered in their order."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._names: list[int] = []
        """Where names are; what they stand for is known at the end."""
        self._bound: set[str] = set()

    def of(self, top: ast.AST, shared: dict[str, str]) -> list[str]:
        waiting: list[object] = [top]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                self._name(node.id, bound=isinstance(node.ctx, ast.Store))
            elif isinstance(node, ast.Constant):
                self._words.append(f"{type(node.value).__name__}:{_constant(node.value)}")
            elif isinstance(node, ast.AST):
                self._node(node, is_top=node is top)
                waiting.extend(reversed(_parts(node)))
            else:
                self._words.append(str(node))
        numbers: dict[str, str] = {}
        for place in self._names:
            name = self._words[place]
            if name in self._bound:
                self._words[place] = numbers.setdefault(name, f"v{len(numbers)}")
            else:
                self._words[place] = shared.get(name, name)
        return self._words

    def _node(self, node: ast.AST, *, is_top: bool) -> None:
        if not isinstance(node, ast.Expr | ast.arguments):
            self._words.append(type(node).__name__)
        if isinstance(node, ast.arg):
            self._name(node.arg, bound=True)
        elif isinstance(node, ast.keyword) and node.arg:
            self._name(node.arg, bound=False)
        elif isinstance(node, Function | ast.ClassDef) and not is_top:
            self._name(node.name, bound=True)

    def _name(self, name: str, *, bound: bool) -> None:
        self._names.append(len(self._words))
        self._words.append(name)
        if bound:
            self._bound.add(name)


def _constant(value: object) -> str:
    # A number of many digits takes long to write, and Python refuses.
    return hex(value) if isinstance(value, int) else repr(value)


def _parts(node: ast.AST) -> list[object]:
    """What a node consists of, without what does not count."""
    found: list[object] = []
    for field in node._fields:
        if field in _PASSED_OVER:
            continue
        value: object = getattr(node, field, None)
        if isinstance(value, list):
            parts = cast("list[ast.AST]", value)
            found.extend(_without_docstring(node, parts) if field == "body" else parts)
        elif isinstance(value, ast.AST) or (value is not None and field == "attr"):
            found.append(value)
    return found


def _without_docstring(node: ast.AST, body: list[ast.AST]) -> list[ast.AST]:
    first = body[0] if body else None
    if (
        isinstance(node, ast.ClassDef | Function)
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return body[1:]
    return body
