"""Which names mean something of a function's own, and are no built-ins."""

import ast
from collections.abc import Iterator

from long_running_agents.skills.bindings import (
    Comprehension,
    Function,
    bound,
    declared,
    outside,
    parameters,
)


def loose_names(tree: ast.Module) -> Iterator[ast.Name]:
    """Names that are read and that no function around them has bound.

    Python never looks among the built-ins for a name that a function binds; for one that only a
    module or a class binds, it may.
    """
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, own = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield node
        outer, inner = _parts(node)
        waiting.extend((child, own) for child in outer)
        if inner:
            within = own | _bound(node)
            waiting.extend((child, within) for child in inner)


def misplaced_awaits(tree: ast.Module) -> Iterator[ast.AST]:
    """Every await that is in no async function."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, allowed = waiting.pop()
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) and not allowed:
            yield node
        outer, inner = _parts(node)
        waiting.extend((child, allowed) for child in outer)
        in_async = isinstance(node, ast.AsyncFunctionDef)
        within = allowed if isinstance(node, Comprehension) else in_async
        waiting.extend((child, within) for child in inner)


def _parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The parts that are looked up around a node, and those that are looked up inside it."""
    if isinstance(node, Function):
        return list(outside(node)), list(node.body)
    if isinstance(node, ast.Lambda):
        return list(outside(node)), [node.body]
    if isinstance(node, Comprehension):
        first, *others = node.generators
        rest = [part for part in ast.iter_child_nodes(node) if part is not first]
        return [first.iter], [*rest, first.target, *first.ifs, *others]
    return list(ast.iter_child_nodes(node)), []


def _bound(node: ast.AST) -> frozenset[str]:
    """The names that are a function's own, or a comprehension's."""
    if isinstance(node, Function | ast.Lambda):
        given = {each.arg for each in parameters(node)}
        body = [] if isinstance(node, ast.Lambda) else node.body
        return frozenset((bound(body) | given) - declared(body))
    targets = [part.target for part in getattr(node, "generators", [])]
    return frozenset(name for target in targets for name in _stored(target))


def _stored(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
