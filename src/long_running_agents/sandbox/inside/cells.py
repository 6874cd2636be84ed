"""Runs a piece of foreign code in this process, and says what came of it."""

from __future__ import annotations

import _ast
import builtins
import sys

from .display import Display
from .frames import parse
from .shapes import shaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, NoReturn

    from .frames import Message

_LONGEST_MESSAGE = 4000
_LONGEST_TRACEBACK = 8000
_COROUTINE = 0x80
"""The mark of code that awaits (inspect.CO_COROUTINE)."""
_TOOL = "<tool>"
_TOO_MUCH = "it used more memory than it may"
_ANNOTATIONS = 0x1000000
"""Hints are not evaluated (__future__.annotations): they were read before, and name anything."""
_HERE = __file__.rpartition("/")[0]


class Cells:
    """A namespace that lives from cell to cell."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        builtins.exit = builtins.quit = _leave
        builtins.help = _help
        self._count = 0
        self._sources: dict[str, str] = {}

    def run(self, code: str) -> Message:
        """Run a cell: what it showed, and why it failed if it did."""
        display = Display()
        self.names["display"] = display
        error = None
        try:
            self._run(code, display)
        except BaseException as raised:  # noqa: BLE001 - foreign code may raise anything
            error = describe(raised, self._sources)
        flush()
        return {"display": display.shown, "error": error}

    def warm_up(self) -> None:
        """Touch what every cell touches: after a fork each page is copied when it is first used."""
        Cells().run("0")
        parse(b'{"do": "execute"}')

    def _run(self, code: str, display: Display) -> None:
        self._count += 1
        name = f"<cell {self._count}>"
        self._sources[name] = code
        body, last = _split(_parsed(code, name))
        _evaluate(_compiled(body, name, "exec"), self.names)
        if last is not None:
            value = _evaluate(_compiled(last, name, "eval"), self.names)
            if value is not None:
                self.names["_"] = value
                display(value)
        display.figures()


def call(source: str, function: str, arguments: dict[str, Any]) -> Message:
    """Define a function in an empty namespace and call it."""
    # A module, because dataclasses look theirs up.
    module = sys.modules["__tool__"] = type(sys)("__tool__")
    names = module.__dict__
    found: Message
    try:
        code = compile(source, _TOOL, "exec", _ANNOTATIONS, dont_inherit=True)
        exec(code, names)  # noqa: S102 - this is what the sandbox is for
        if function not in names:
            raise NameError(f"the source defines no {function!r}")  # noqa: TRY301 - as any other
        value = names[function](**shaped(names[function], arguments))
        found = {"value": _awaited(value) if hasattr(value, "__await__") else value}
    except MemoryError:
        # To say more would take more: the traceback holds on to all that was taken.
        found = {"error": {"name": "MemoryError", "message": _TOO_MUCH, "traceback": ""}}
    except BaseException as raised:  # noqa: BLE001 - foreign code may raise anything
        found = {"error": describe(raised, {_TOOL: source})}
    flush()
    return found


def _leave(code: Any = None) -> NoReturn:
    """What `exit` and `quit` are in a cell."""
    raise SystemExit(code)


def _help(*about: Any) -> None:
    """What `help` is in a cell."""
    import pydoc  # noqa: PLC0415 - large, and rarely wanted

    pydoc.help(*about)


def _parsed(code: str, name: str) -> _ast.Module:
    flags = _ast.PyCF_ONLY_AST | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    # What this file imports from the future is not for the code it runs.
    return compile(code, name, "exec", flags, dont_inherit=True)


def _split(tree: _ast.Module) -> tuple[_ast.Module, _ast.Expression | None]:
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _ast.Expr):
        tree.body.pop()
        return tree, _ast.Expression(last.value)
    return tree, None


def _compiled(tree: _ast.Module | _ast.Expression, name: str, mode: str) -> CodeType:
    return compile(tree, name, mode, _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _evaluate(code: CodeType, names: dict[str, Any]) -> Any:
    value = eval(code, names)  # noqa: S307 - this is what the sandbox is for
    return _awaited(value) if code.co_flags & _COROUTINE else value


def _awaited(value: Any) -> Any:
    # Not at the top: it takes as long to import as all the rest together.
    import asyncio  # noqa: PLC0415

    return asyncio.run(value)


def describe(raised: BaseException, sources: dict[str, str]) -> dict[str, str]:
    """An exception in words, with the lines it came from and without our own frames."""
    import linecache  # noqa: PLC0415 - most cells do not fail
    import traceback  # noqa: PLC0415 - as above

    for place, code in sources.items():
        linecache.cache[place] = (len(code), None, code.splitlines(keepends=True), place)
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
