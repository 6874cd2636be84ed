"""Runs foreign code: cells, each in a fork of the last good state, and calls of functions.

The fork is made beforehand, and waits for the cell. A cell that ends well leaves its process as the
new state, and the supervisor ends the old one. A cell that hangs, crashes or is killed leaves the
old process, which still is as it was.

The supervisor says when to fork (GO), and hears when the fork is there (READY) or dead (DIED).
"""

from __future__ import annotations

import _ast
import _socket
import binascii
import builtins
import gc
import io
import os
import struct
import sys

from .frames import HEAD, LARGEST, Broken, parse, suppress, write_frame
from .process import apply_limits, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, NoReturn

    from .frames import Message
    from .process import KernelConfig

_STREAMS = struct.Struct("3i")
"""Descriptors that come with a request: standard output, standard error, the answer."""
GO = b"g"
READY = b"r"
DIED = b"d"

# Bound now: a cell may replace the functions of any module.
_fork = os.fork
_waitpid = os.waitpid


def serve(channel: _socket.socket, config: KernelConfig) -> NoReturn:
    """Run one cell after the other, for ever."""
    apply_limits(config)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    cells = Cells()
    while _told_to_go(channel):
        if config.transactional and not _forked(channel):
            continue
        channel.send(READY)
        cells.warm_up()
        try:
            request, streams = _receive(channel)
        except (Broken, OSError):
            break
        _run(cells, request, streams, config.workspace)
    os._exit(0)


def _told_to_go(channel: _socket.socket) -> bool:
    """Wait for the word; a request whose fork died before it came is passed over."""
    while said := channel.recv(1 << 16):
        if said.endswith(GO):
            return True
    return False


def _forked(channel: _socket.socket) -> bool:
    """Let a child go on; the parent stays as it is, and comes back only if the child has died."""
    # Without this the collector would touch every object, and so copy every page.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = _fork()
    if not child:
        return True
    _waitpid(child, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    channel.send(DIED)
    return False


def _run(cells: Cells, request: Message, streams: list[int], workspace: str) -> None:
    begin(streams[0], streams[1], workspace)
    answer = cells.run(str(request["code"]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The killed children of a living process would stay as zombies and use up the process limit.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with suppress(OSError):
        write_frame(streams[2], {**answer, "process": os.getpid()})
    os.close(streams[2])
    nowhere = os.open("/dev/null", os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def begin(out: int, err: int, workspace: str) -> None:
    """Make this process ready for foreign code, with these as its streams."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    # Last, and only here: a json.py that somebody puts there is not the supervisor's to import.
    if workspace not in sys.path:
        sys.path.append(workspace)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def listening_streams() -> None:
    """Let prints go out line by line, so that a killed cell has said what it said."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace", encoding="utf-8")


def send_with(channel: _socket.socket, content: bytes, streams: list[int]) -> int:
    """Send bytes, and descriptors beside them; how many bytes went."""
    beside = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _STREAMS.pack(*streams))
    return channel.sendmsg([content], [beside])


def _receive(channel: _socket.socket) -> tuple[Message, list[int]]:
    begun, beside, _, _ = channel.recvmsg(1 << 16, _socket.CMSG_SPACE(_STREAMS.size))
    if len(begun) < HEAD.size or len(beside) != 1 or len(beside[0][2]) != _STREAMS.size:
        raise Broken
    streams = list(_STREAMS.unpack(beside[0][2]))
    size: int = HEAD.unpack(begun[: HEAD.size])[0]
    if size > LARGEST:
        raise Broken
    body = bytearray(begun[HEAD.size :])
    while len(body) < size:
        part = channel.recv(min(1 << 20, size - len(body)))
        if not part:
            raise Broken
        body += part
    return parse(bytes(body)), streams


_LONGEST_MESSAGE = 4000
_LONGEST_TRACEBACK = 8000
_COROUTINE = 0x80
"""The mark of code that awaits (inspect.CO_COROUTINE)."""
_TOOL = "<tool>"
_TOO_MUCH: Message = {
    "error": {"name": "MemoryError", "message": "it used more memory than it may", "traceback": ""}
}
"""Made before it is needed: there may be no memory left to make it with."""
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
    found: Message
    try:
        found = {"value": _called(module.__dict__, source, function, arguments)}
    except MemoryError as raised:
        # First let go of all that was taken: an interpreter that has no memory left to handle an
        # exception with tries again for ever.
        raised.__traceback__ = raised.__context__ = None
        module.__dict__.clear()
        found = _TOO_MUCH
    except BaseException as raised:  # noqa: BLE001 - foreign code may raise anything
        found = {"error": describe(raised, {_TOOL: source})}
    flush()
    return found


def _called(names: dict[str, Any], source: str, function: str, arguments: dict[str, Any]) -> Any:
    code = compile(source, _TOOL, "exec", _ANNOTATIONS, dont_inherit=True)
    exec(code, names)  # noqa: S102 - this is what the sandbox is for
    if function not in names:
        raise NameError(f"the source defines no {function!r}")
    value = names[function](**shaped(names[function], arguments))
    return _awaited(value) if hasattr(value, "__await__") else value


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


_RICH = (
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
)
_LARGEST_TEXT = 200_000
_LARGEST_RICH = 4 << 20
_MOST = 100


class Display:
    """Collects what a cell shows."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, *values: Any) -> None:
        """Show values; cells know this as `display`."""
        for value in values:
            self._add(bundle(value))

    def figures(self) -> None:
        """Show the plots that are open, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.figure(number).savefig(picture, format="png")
            self._add({"image/png": _base64(picture.getvalue())})
        pyplot.close("all")

    def _add(self, found: dict[str, str]) -> None:
        if len(self.shown) < _MOST:
            self.shown.append(found)


def bundle(value: Any) -> dict[str, str]:
    """A value in every form that it offers."""
    found = {"text/plain": _text(value)}
    for method, media in _RICH:
        rich = _rich(value, method)
        # Half a picture is none, so what is too large is left out as a whole.
        if rich and len(rich) <= _LARGEST_RICH:
            found[media] = rich
    return found


def _text(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - foreign code; the cell goes on without it
        return f"<{type(value).__name__}: its repr failed with {type(error).__name__}>"
    return text if len(text) <= _LARGEST_TEXT else text[:_LARGEST_TEXT] + " …"


def _rich(value: Any, method: str) -> str:
    # A class has the methods of its instances, and cannot be shown by them.
    if isinstance(value, type):
        return ""
    try:
        made: object = getattr(value, method)()
    except Exception:  # noqa: BLE001 - foreign code; the other forms remain
        return ""
    if isinstance(made, bytes):
        return _base64(made)
    return made if isinstance(made, str) else ""


def _base64(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode()


_SIGNS = str.maketrans("[],|", "    ")
_AS_THEY_ARE = frozenset(
    {"str", "int", "float", "bool", "None", "list", "dict", "List", "Dict", "Optional", "Union"}
    | {"Any", "object"}
)
"""Words of hints that ask for nothing but JSON."""
_GROUPS = frozenset({"set", "frozenset", "tuple"})


def shaped(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with a dataclass, an enumeration, a set or a tuple where a hint says so."""
    hints = _hints(function)
    return {
        name: _shape(hints[name], value) if name in hints else value
        for name, value in arguments.items()
    }


def _hints(function: Any) -> dict[str, Any]:
    told = getattr(function, "__annotations__", {})
    if all(_plain(hint) for name, hint in told.items() if name != "return"):
        return {}
    from typing import get_type_hints  # noqa: PLC0415 - takes as long as all the rest

    try:
        return get_type_hints(function)
    except Exception:  # noqa: BLE001 - foreign hints; most functions do without
        return {}


def _plain(hint: object) -> bool:
    return isinstance(hint, str) and not set(hint.translate(_SIGNS).split()) - _AS_THEY_ARE


def _shape(hint: Any, value: Any) -> Any:
    from typing import get_args, get_origin  # noqa: PLC0415 - as above

    origin = get_origin(hint)
    if origin is not None:
        return _of_parts(getattr(origin, "__name__", ""), get_args(hint), value)
    if not isinstance(hint, type):
        return value
    kind: Any = hint
    if _is(value, dict) and hasattr(kind, "__annotations__"):
        return _fields(kind, value)
    if hasattr(kind, "__members__") or (_is(value, list) and kind.__name__ in _GROUPS):
        return kind(value)
    return value


def _fields(kind: Any, value: dict[str, Any]) -> Any:
    """An object of a class with fields; of a typed dict, the dict."""
    from typing import get_type_hints  # noqa: PLC0415 - as above

    hints = get_type_hints(kind)
    found = {key: _shape(hints.get(key), inner) for key, inner in value.items()}
    return kind(**found) if hasattr(kind, "__dataclass_fields__") else found


def _of_parts(name: str, parts: tuple[Any, ...], value: Any) -> Any:
    """A value for a hint that is made of others."""
    if name in ("Union", "UnionType"):
        return _either(parts, value)
    if _is(value, dict) and len(parts) == 2:  # noqa: PLR2004 - keys and values
        return {key: _shape(parts[1], inner) for key, inner in value.items()}
    if _is(value, list) and parts:
        return _group(name, parts, value)
    return value


def _group(name: str, parts: tuple[Any, ...], value: list[Any]) -> Any:
    if name == "tuple" and parts[-1] is not ...:
        return tuple(map(_shape, parts, value))
    items = [_shape(parts[0], item) for item in value]
    if name == "tuple":
        return tuple(items)
    if name == "frozenset":
        return frozenset(items)
    return set(items) if name in ("set", "Set", "MutableSet") else items


def _either(parts: tuple[Any, ...], value: Any) -> Any:
    """What the first part makes of a value that makes something of it."""
    for part in parts:
        try:
            found = _shape(part, value)
        except (TypeError, ValueError):
            continue
        if found is not value:
            return found
    return value


def _is(value: object, kind: type) -> bool:
    # Not narrowed: what is inside is anything.
    return isinstance(value, kind)
