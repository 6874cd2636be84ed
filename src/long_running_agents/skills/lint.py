"""The lint of a skill's source: imports, builtins, insides of Python, and paths outside.

No wall: the sandbox is that. What is found here is what a careful reader would stop at.
"""

import ast
import re
from collections.abc import Collection, Iterator
from posixpath import normpath

from long_running_agents.domain.skill import Finding
from long_running_agents.skills.python_ast import binding, last_name, shown

_INSTEAD = {
    "os": "use pathlib for paths in /workspace",
    "sys": "leave it out; a tool has no command line",
    "subprocess": "leave it out; a tool starts no programs",
    "socket": "leave it out; a tool has no network",
    "requests": "take the text as a parameter; the agent has tools to fetch pages",
    "httpx": "take the text as a parameter; the agent has tools to fetch pages",
    "aiohttp": "take the text as a parameter; the agent has tools to fetch pages",
    "pickle": "use json",
    "shutil": "use pathlib",
    "threading": "use asyncio, or none",
}


def imports(tree: ast.Module, allowed: Collection[str] | None) -> Iterator[Finding]:
    """Imports that are not among the allowed (None allows all), or do not say what they import."""
    for node in ast.walk(tree):
        wrong: list[str] = []
        if isinstance(node, ast.Import):
            wrong = [alias.name for alias in node.names if not _covered(alias.name, allowed)]
        elif isinstance(node, ast.ImportFrom):
            yield from _unclear(node)
            wrong = [node.module or ""] if _refuses(node, allowed) else []
        for module in wrong:
            yield _refused(module, getattr(node, "lineno", 0), allowed or ())


def _unclear(node: ast.ImportFrom) -> Iterator[Finding]:
    if node.level:
        message = "A relative import has nothing to be relative to: a tool is one source."
        yield Finding(message, "Put what it needs into the same source.", node.lineno)
    if any(alias.name == "*" for alias in node.names):
        message = f"'from {node.module or '.'} import *' does not say what is imported."
        yield Finding(message, "Name what is needed.", node.lineno)


def _refuses(node: ast.ImportFrom, allowed: Collection[str] | None) -> bool:
    module = node.module or ""
    if node.level or module == "__future__":
        return False
    names = [f"{module}.{alias.name}" for alias in node.names]
    return not (_covered(module, allowed) or all(_covered(name, allowed) for name in names))


def _covered(module: str, allowed: Collection[str] | None) -> bool:
    parts = module.split(".")
    beginnings = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return allowed is None or any(each in allowed for each in beginnings)


def _refused(module: str, line: int, allowed: Collection[str]) -> Finding:
    inside = sorted(name for name in allowed if name.startswith(f"{module}."))
    top = module.partition(".")[0]
    if inside:
        repair = f"Import {' or '.join(inside)} instead."
    elif top in _INSTEAD:
        repair = f"Instead, {_INSTEAD[top]}."
    else:
        repair = f"Do without, or use one of: {', '.join(sorted(allowed)) or 'none'}."
    return Finding(f"The module {module} may not be imported.", repair, line)


_BUILTINS = {
    "eval": "Compute it with ordinary code; json.loads reads data.",
    "exec": "Write the code itself.",
    "compile": "Write the code itself; re.compile is fine.",
    "__import__": "Write an import statement at the top.",
    "globals": "Use a dict of your own.",
    "locals": "Use a dict of your own.",
    "vars": "Name the fields, or use dataclasses.asdict.",
    "breakpoint": "Remove it; nobody is there to debug.",
    "input": "Take it as a parameter; nobody is there to type.",
}

_BY_NAME = frozenset({"getattr", "setattr", "delattr", "attrgetter"})

_METHODS = (
    "init post_init new repr str format bytes eq ne lt le gt ge hash bool len iter next reversed "
    "contains getitem setitem delitem missing call enter exit aenter aexit aiter anext await add "
    "sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor neg pos abs invert "
    "radd rsub rmul rmatmul rtruediv rfloordiv rmod rpow rand ror rxor iadd isub imul itruediv "
    "ifloordiv imod ipow iand ior ixor int float complex index round trunc floor ceil copy "
    "deepcopy length_hint"
)
_DESCRIBING = "name qualname doc slots all version author match_args debug"
_HARMLESS = frozenset(f"__{name}__" for name in f"{_METHODS} {_DESCRIBING}".split())

_MODULES = frozenset(
    {
        "os", "_os", "sys", "_sys", "builtins", "modules", "environ", "environb", "subprocess",
        "ctypes", "importlib", "posix", "_posixsubprocess", "socket", "_socket", "_io", "pickle",
        "_pickle", "marshal", "multiprocessing", "pty", "shutil", "_shutil", "fcntl", "threading",
        "_thread", "inspect", "platform", "tempfile", "gc", "code", "runpy", "ctypeslib", "f2py",
        "distutils", "linecache", "tokenize", "traceback", "warnings", "selectors", "ssl", "mmap",
        "resource", "codecs", "concurrent",
    }
)  # fmt: skip
"""What a module may have imported itself, and is not to be had by way of it."""
_STARTING = frozenset(
    {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
)
_INSIDES = frozenset(
    {"f_globals", "f_locals", "f_builtins", "f_back", "f_code", "gi_frame", "gi_code", "cr_frame",
     "cr_code", "ag_frame", "ag_code", "tb_frame", "tb_next", "func_globals", "co_code",
     "co_consts"}
)  # fmt: skip


def reaching(tree: ast.Module, used: Collection[str]) -> Iterator[Finding]:
    """What reaches for builtins (among the used names), modules or insides of Python."""
    imported = frozenset(
        binding(alias)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )
    for node in ast.walk(tree):
        for name, of_module in _fields(node, imported):
            yield from _attribute(name, getattr(node, "lineno", 0), of_module=of_module)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in used:
            yield from _name(node.id, node.lineno)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield from _changed(node, node.value, imported)
        elif isinstance(node, ast.Call):
            yield from _by_name(node, imported)


def _fields(node: ast.AST, imported: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The fields that a node names, and whether they are those of a module."""
    match node:
        case ast.Attribute(attr=name):
            yield name, _root(node) in imported
        case ast.MatchClass(kwd_attrs=names):
            yield from ((name, False) for name in names)
        case ast.ImportFrom(module=module) if module != "__future__":
            yield from ((alias.name, True) for alias in node.names)
        case _:
            pass


def _name(name: str, line: int) -> Iterator[Finding]:
    if name in _BUILTINS:
        yield Finding(f"'{name}' may not be used.", _BUILTINS[name], line)
    elif _dunder(name) and name not in _HARMLESS:
        yield _inside(name, line)


def _attribute(name: str, line: int, *, of_module: bool) -> Iterator[Finding]:
    if name in _INSIDES or (_dunder(name) and name not in _HARMLESS):
        yield _inside(name, line)
    elif name in _STARTING:
        repair = "Leave it out; the agent has a tool to run commands."
        yield Finding(f"'{name}' starts a program.", repair, line)
    elif of_module and name in _MODULES:
        message = f"'.{name}' steps through a module to another one."
        yield Finding(message, "Use what the module itself offers.", line)


def _changed(node: ast.expr, changed: ast.expr, imported: frozenset[str]) -> Iterator[Finding]:
    """What changes a module, and so everybody else who uses it."""
    if isinstance(changed, ast.Name) and changed.id in imported:
        message = f"'{shown(node)}' changes {changed.id} for everybody."
        yield Finding(message, "Write a function of your own, and call that.", node.lineno)


def _by_name(node: ast.Call, imported: frozenset[str]) -> Iterator[Finding]:
    """Fields that are read or changed by a name in a string."""
    function = last_name(node.func)
    if function not in _BY_NAME:
        return
    if function in ("setattr", "delattr") and node.args:
        yield from _changed(node, node.args[0], imported)
    for place in (node.args if function == "attrgetter" else node.args[1:2]) or [node]:
        if not (isinstance(place, ast.Constant) and isinstance(place.value, str)):
            message = f"'{shown(node)}' takes the name of a field that nobody can read here."
            repair = "Name the field itself, or keep the values in a dict."
            yield Finding(message, repair, node.lineno)
        else:
            for name in place.value.split("."):
                yield from _attribute(name, node.lineno, of_module=False)


def _inside(name: str, line: int) -> Finding:
    instead = {
        "__class__": "Use type(value).",
        "__dict__": "Name the fields, or use dataclasses.asdict.",
        "__file__": "Use a path in /workspace.",
    }
    repair = instead.get(name, "Do without; ordinary fields and methods are enough.")
    return Finding(f"'{name}' leads into Python's insides.", repair, line)


def _dunder(name: str) -> bool:
    return len(name) > len("____") and name.startswith("__") and name.endswith("__")


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


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
_HARMLESS_PLACES = ("/dev/null",)
_LONGEST = 4096


def places(tree: ast.Module) -> Iterator[Finding]:
    """Strings that are paths outside, and templates that look inside of objects."""
    passed_over = {id(part) for node in ast.walk(tree) for part in _no_paths(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in passed_over:
            continue
        text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        if isinstance(text, str):
            yield from _text(text, node.lineno)


def _no_paths(node: ast.AST) -> list[ast.expr]:
    """Strings that stand alone, as docstrings do, or follow something else, such as a host."""
    match node:
        case ast.Expr(value=ast.Constant() as value):
            return [value]
        case ast.JoinedStr(values=values):
            return values[1:]
        case ast.BinOp(left=left, op=ast.Add(), right=right) if not isinstance(left, ast.Constant):
            return [right]
        case _:
            return []


def _text(text: str, line: int) -> Iterator[Finding]:
    if _FIELD.search(text):
        message = "A template looks into Python's insides (a field with __ in it)."
        yield Finding(message, "Put the value itself into the text, with an f-string.", line)
    if _leads_out(text[:_LONGEST]):
        message = f"The path {text[:60]!r} is outside of /workspace and /tmp."
        repair = "Take the path as a parameter, or use one in /workspace."
        yield Finding(message, repair, line)


def _leads_out(text: str) -> bool:
    if _FILE.match(text) or _HOME.match(text):
        return True
    if not text.startswith("/") or len(text) == 1 or not _PATH.fullmatch(text):
        return False
    path = "/" + normpath(text).lstrip("/")
    return path not in _HARMLESS_PLACES and bool(_OUTSIDE.fullmatch(path))
