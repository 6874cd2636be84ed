"""Which names mean something of a function's own, and are no built-ins."""

import ast
from collections.abc import Iterable, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


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
        within = allowed if isinstance(node, _Comprehension) else _is_async(node)
        waiting.extend((child, within) for child in inner)


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What belongs to a function itself, and not to one inside it."""
    return _nodes(function.body)


def arguments(function: _Function) -> list[ast.arg]:
    """All parameters, in their order."""
    given = function.args
    stars = [star for star in (given.vararg, given.kwarg) if star]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *stars]


def _is_async(node: ast.AST) -> bool:
    return isinstance(node, ast.AsyncFunctionDef)


def _parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The parts that are looked up around a node, and those that are looked up inside it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        hints = [node.returns] if node.returns else []
        return [node.args, *node.decorator_list, *hints], list(node.body)
    if isinstance(node, ast.Lambda):
        return [node.args], [node.body]
    if isinstance(node, _Comprehension):
        first, *others = node.generators
        rest = [part for part in ast.iter_child_nodes(node) if part is not first]
        return [first.iter], [*rest, first.target, *first.ifs, *others]
    return list(ast.iter_child_nodes(node)), []


def _bound(node: ast.AST) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = {argument.arg for argument in arguments(node)}
        found, shared = set[str](), set[str]()
        for inner in _nodes(node.body):
            found.update(_bindings(inner))
            if isinstance(inner, ast.Global):
                shared.update(inner.names)
        return frozenset((found | given) - shared)
    if isinstance(node, ast.Lambda):
        return frozenset(argument.arg for argument in arguments(node))
    targets = [part.target for part in getattr(node, "generators", [])]
    return frozenset(name for target in targets for name in _stored(target))


def _nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope; of the scopes in it, only their heads."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _Scope | _Comprehension):
            continue
        waiting.extend(ast.iter_child_nodes(node))


def _bindings(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case _:
            return []


def _stored(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
