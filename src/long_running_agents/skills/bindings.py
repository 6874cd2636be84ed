"""The scopes of Python: which names belong to which."""

import ast
from collections.abc import Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef
"""Something with a name that can be called."""
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
"""A scope inside of an expression."""


def bound(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names that statements bind in their own scope."""
    found: set[str] = set()
    for node in own(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                found |= {binding(alias) for alias in node.names if alias.name != "*"}
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                found.add(name)
            case _:
                pass
    return found


def binding(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


def declared(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names that statements declare to be the module's."""
    return {name for node in own(nodes) if isinstance(node, ast.Global) for name in node.names}


def own(nodes: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a scope, without what is inside of the scopes in it."""
    stack: list[tuple[ast.AST, bool]] = [(node, False) for node in nodes]
    while stack:
        node, inner = stack.pop()
        if inner and not isinstance(node, ast.NamedExpr):
            # Inside of a comprehension only := binds something out here.
            stack.extend((child, True) for child in _children(node))
            continue
        yield node
        if isinstance(node, ast.NamedExpr):
            stack.append((node.target, False))
            stack.append((node.value, inner))
        elif isinstance(node, Function | ast.Lambda):
            stack.extend((child, False) for child in outside(node))
        elif isinstance(node, ast.ClassDef):
            around = [*node.decorator_list, *node.bases, *node.keywords]
            stack.extend((child, False) for child in around)
        else:
            inside = isinstance(node, Comprehension)
            stack.extend((child, inside) for child in ast.iter_child_nodes(node))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    return iter(()) if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node)


def outside(node: Function | ast.Lambda) -> Iterator[ast.AST]:
    """The parts of a function that belong to the scope around it."""
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list
        if node.returns:
            yield node.returns
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default)
    yield from (each.annotation for each in parameters(node) if each.annotation)


def parameters(node: Function | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function."""
    args = node.args
    several = [each for each in (args.vararg, args.kwarg) if each]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *several]
