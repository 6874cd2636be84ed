"""Runs a piece of foreign code in this process, and says what came of it."""

import ast
import asyncio
import inspect
import linecache
import sys
import traceback
from types import CodeType
from typing import Any

from .display import Display
from .frames import Message

_LONGEST_MESSAGE = 4000
_LONGEST_TRACEBACK = 8000
_HERE = __file__.rpartition("/")[0]


class Cells:
    """A namespace that lives from cell to cell."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self._count = 0

    def run(self, code: str) -> Message:
        """Run a cell: what it showed, and why it failed if it did."""
        display = Display()
        self.names["display"] = display
        error = None
        try:
            self._run(code, display)
        except BaseException as raised:  # noqa: BLE001 - foreign code may raise anything
            error = describe(raised)
        flush()
        return {"display": display.shown, "error": error}

    def _run(self, code: str, display: Display) -> None:
        self._count += 1
        name = f"<cell {self._count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        body, last = _split(ast.parse(code, name))
        _evaluate(_compiled(body, name, "exec"), self.names)
        if last is not None:
            value = _evaluate(_compiled(last, name, "eval"), self.names)
            if value is not None:
                self.names["_"] = value
                display(value)
        display.figures()


def call(source: str, function: str, arguments: dict[str, Any]) -> Message:
    """Define a function in an empty namespace and call it."""
    names: dict[str, Any] = {"__name__": "__tool__"}
    found: Message
    try:
        name = "<tool>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), names)  # noqa: S102 - this is what the sandbox is for
        if function not in names:
            raise NameError(f"the source defines no {function!r}")  # noqa: TRY301 - as any other
        value = names[function](**arguments)
        found = {"value": asyncio.run(value) if inspect.iscoroutine(value) else value}
    except BaseException as raised:  # noqa: BLE001 - foreign code may raise anything
        found = {"error": describe(raised)}
    flush()
    return found


def _split(tree: ast.Module) -> tuple[ast.Module, ast.Expression | None]:
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        return tree, ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    return tree, None


def _compiled(tree: ast.Module | ast.Expression, name: str, mode: str) -> CodeType:
    return compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _evaluate(code: CodeType, names: dict[str, Any]) -> Any:
    value = eval(code, names)  # noqa: S307 - this is what the sandbox is for
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def describe(raised: BaseException) -> dict[str, str]:
    """An exception in words, without our own frames."""
    if isinstance(raised, KeyboardInterrupt):
        name, message = "TimeoutError", "it took longer than it was given"
    else:
        name, message = type(raised).__name__, _message(raised)
    frames = raised.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_HERE):
        frames = frames.tb_next
    lines = traceback.format_exception(type(raised), raised, frames)
    return {
        "name": name,
        "message": message[:_LONGEST_MESSAGE],
        "traceback": "".join(lines)[-_LONGEST_TRACEBACK:],
    }


def _message(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception:  # noqa: BLE001 - foreign code
        return "its message could not be made"


def flush() -> None:
    """Push out what was printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001, S112 - foreign code may have replaced them
            continue
