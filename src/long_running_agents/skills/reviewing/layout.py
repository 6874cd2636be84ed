"""How a source is laid out: what is at its top, and which function is the tool."""

import ast
from collections.abc import Iterator, Sequence

from long_running_agents.domain.skill import Finding
from long_running_agents.skills.bindings import Function, own
from long_running_agents.skills.reviewing.scopes import misplaced_awaits
from long_running_agents.skills.reviewing.syntax import shown

_QUIET = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
    ast.AnnAssign, ast.AugAssign, ast.Pass,
)  # fmt: skip
_WRAPPERS = frozenset({"cache", "lru_cache", "wraps"})
_DECORATORS = _WRAPPERS | {
    "dataclass", "staticmethod", "classmethod", "property", "cached_property", "abstractmethod",
    "overload", "setter", "total_ordering", "contextmanager", "asynccontextmanager", "unique",
    "final",
}  # fmt: skip


def target(tree: ast.Module, *, function: str, name: str) -> Function | Finding:
    """The function that is the tool.

    Args:
        tree: The source.
        function: The one that was named; empty when none was.
        name: What the tool is to be called, if that was said.
    """
    found = [node for node in tree.body if isinstance(node, Function)]
    public = [node for node in found if not node.name.startswith("_")]
    if function:
        chosen = [node for node in found if node.name == function]
        if not chosen:
            return _no_such(function, found)
    else:
        chosen = [node for node in public if node.name == name] or public[-1:]
        chosen = [node for node in public if node.name == chosen[0].name] if chosen else []
    if not chosen:
        return Finding(
            message="The source has no function that could be the tool.",
            repair="Write one at the top level: def name(argument: str) -> str: …",
        )
    bodies = [node for node in chosen if "overload" not in map(_called, node.decorator_list)]
    if len(bodies) > 1:
        return Finding(
            message=f"The function {bodies[0].name} is defined {len(bodies)} times.",
            repair="Keep one of them, and give the others names of their own.",
            line=bodies[1].lineno,
        )
    return (bodies or chosen)[-1]


def running(tree: ast.Module) -> Iterator[Finding]:
    """Statements that would run when the tool is defined."""
    yield from _statements(tree.body, "the tool is defined")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _statements(node.body, f"the class {node.name} is defined")


def decorators(tree: ast.Module, chosen: Function | None) -> Iterator[Finding]:
    """Decorators that are not known, or that make a tool something else."""
    for node in ast.walk(tree):
        if not isinstance(node, Function | ast.ClassDef):
            continue
        known = _WRAPPERS if node is chosen else _DECORATORS
        for decorator in node.decorator_list:
            if _called(decorator) not in known:
                yield Finding(
                    message=f"The decorator @{shown(decorator)} of {node.name} may not be used.",
                    repair="Remove it: it would run when the tool is defined."
                    if node is not chosen
                    else "Remove it: only cache, lru_cache and wraps leave a tool what it is.",
                    line=decorator.lineno,
                )


def flow(tree: ast.Module, chosen: Function | None) -> Iterator[Finding]:
    """An await where none can be, and a tool that yields."""
    for node in misplaced_awaits(tree):
        yield Finding(
            message="'await', 'async for' or 'async with' is outside of an async function.",
            repair="Write 'async def' for the function around it.",
            line=getattr(node, "lineno", 0),
        )
    for node in own(chosen.body) if chosen else ():
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield Finding(
                message=f"The function {chosen.name if chosen else ''} yields its results.",
                repair="Collect them in a list, and return that.",
                line=node.lineno,
            )
            return


def _statements(body: Sequence[ast.stmt], when: str) -> Iterator[Finding]:
    for statement in body:
        if not _at_rest(statement):
            yield _runs(statement, when)


def _at_rest(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=value)):
            return isinstance(value, str) or value is ...
        case ast.If(test=test, body=body, orelse=orelse) if _type_checking(test):
            return all(map(_at_rest, [*body, *orelse]))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            handled = [inner for handler in handlers for inner in handler.body]
            parts = [*body, *handled, *orelse, *finalbody]
            return all(isinstance(part, ast.Import | ast.ImportFrom) for part in body) and all(
                map(_at_rest, parts)
            )
        case _:
            # A "type" statement is only known to newer Pythons.
            return isinstance(statement, _QUIET) or type(statement).__name__ == "TypeAlias"


def _type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _runs(statement: ast.stmt, when: str) -> Finding:
    shape = type(statement).__name__.lower()
    if isinstance(statement, ast.If) and "__name__" in shown(statement.test):
        message = "The part under 'if __name__ == …' is for programs, and this is a tool."
        repair = "Remove it; put a call into the docstring as an example: >>> name(1)"
    elif isinstance(statement, ast.Expr):
        message = f"The statement {shown(statement)} runs when {when}."
        repair = "Remove it, or move it into the function."
    else:
        message = f"A statement ({shape}) runs when {when}."
        repair = "Move it into a function; only imports, definitions and assignments stand here."
    return Finding(message=message, repair=repair, line=statement.lineno)


def _no_such(function: str, found: Sequence[Function]) -> Finding:
    names = ", ".join(dict.fromkeys(node.name for node in found))
    there = f"There is: {names}." if names else "There is none at the top level."
    return Finding(
        message=f"The source has no function {function}.", repair=f"{there} Name one of the source."
    )


def _called(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
