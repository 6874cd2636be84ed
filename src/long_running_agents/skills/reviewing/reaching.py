"""Code that reaches for more than a function is given.

No wall: the sandbox is that. What is found here is what a careful reader would stop at.
"""

import ast
from collections.abc import Iterator

from long_running_agents.domain.skill import Finding
from long_running_agents.skills.bindings import Function
from long_running_agents.skills.reviewing import imports
from long_running_agents.skills.reviewing.scopes import loose_names
from long_running_agents.skills.reviewing.syntax import shown

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
_DESCRIBING = frozenset(
    {"__name__", "__qualname__", "__doc__", "__slots__", "__all__", "__version__", "__author__",
     "__match_args__", "__debug__"}
)  # fmt: skip
_HARMLESS = _DESCRIBING | {f"__{name}__" for name in _METHODS.split()}

_STEPS = frozenset(
    {
        "os", "_os", "sys", "_sys", "builtins", "modules", "environ", "environb", "subprocess",
        "ctypes", "importlib", "posix", "_posixsubprocess", "socket", "_socket", "_io", "pickle",
        "_pickle", "marshal", "multiprocessing", "pty", "shutil", "_shutil", "fcntl",
    }
)  # fmt: skip
_STEPS_OF_MODULES = frozenset(
    {"threading", "_thread", "inspect", "platform", "tempfile", "gc", "code", "runpy",
     "ctypeslib", "f2py", "distutils", "linecache", "tokenize", "traceback", "warnings",
     "selectors", "ssl", "mmap", "resource", "codecs", "concurrent"}
)  # fmt: skip
_STARTING = frozenset(
    {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
)
_INSIDES = frozenset(
    {"f_globals", "f_locals", "f_builtins", "f_back", "f_code", "gi_frame", "gi_code", "cr_frame",
     "cr_code", "ag_frame", "ag_code", "tb_frame", "tb_next", "func_globals", "co_code",
     "co_consts"}
)  # fmt: skip


def reaching(tree: ast.Module) -> Iterator[Finding]:
    """What reaches for built-ins, modules or insides that are not its business."""
    yield from _names(tree)
    imported, fields = imports.names(tree), _fields(tree)
    for node in ast.walk(tree):
        for name, of_module in _steps(node, imported, fields):
            yield from _attribute(name, getattr(node, "lineno", 0), of_module=of_module)
        yield from _changed(node, imported)
        if isinstance(node, Function):
            yield from _definition(node)
        elif isinstance(node, ast.Call):
            yield from _by_name(node)


def _steps(
    node: ast.AST, imported: frozenset[str], fields: frozenset[str]
) -> Iterator[tuple[str, bool]]:
    """The fields that a node reads, and whether they are those of a module."""
    if isinstance(node, ast.Attribute):
        of_module = _root(node) in imported
        if of_module or node.attr not in fields:
            yield node.attr, of_module
    elif isinstance(node, ast.MatchClass):
        yield from ((name, False) for name in node.kwd_attrs if name not in fields)
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        yield from ((alias.name, True) for alias in node.names)


def _names(tree: ast.Module) -> Iterator[Finding]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args}
    for node in loose_names(tree):
        if node.id in _BUILTINS:
            yield Finding(
                message=f"'{node.id}' may not be used.",
                repair=_BUILTINS[node.id],
                line=node.lineno,
            )
        elif node.id in _BY_NAME and id(node) not in called:
            yield Finding(
                message=f"'{node.id}' may only be called, not handed on.",
                repair="Name the field itself, such as value.field.",
                line=node.lineno,
            )
        elif _dunder(node.id) and node.id not in _DESCRIBING:
            yield _inside(node.id, node.lineno)


def _attribute(name: str, line: int, *, of_module: bool) -> Iterator[Finding]:
    if _dunder(name):
        if name not in _HARMLESS:
            yield _inside(name, line)
    elif name in _INSIDES:
        yield _inside(name, line)
    elif name in _STARTING:
        yield Finding(
            message=f"'{name}' starts a program.",
            repair="Leave it out; the agent has a tool to run commands.",
            line=line,
        )
    elif name in _STEPS or (of_module and name in _STEPS_OF_MODULES):
        yield Finding(
            message=f"'.{name}' steps through a module to another one.",
            repair="Use what the module itself offers; give a field of yours another name.",
            line=line,
        )
    elif name == "expanduser":
        yield Finding(
            message="'expanduser' leads to a home, and a tool has none.",
            repair="Use a path in /workspace.",
            line=line,
        )


def _changed(node: ast.AST, imported: frozenset[str]) -> Iterator[Finding]:
    """What changes a module, and so everybody else who uses it."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        module = node.value
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "delattr"):
        module = node.args[0] if node.args else None
    else:
        return
    if isinstance(module, ast.Name) and module.id in imported:
        yield Finding(
            message=f"'{shown(node)}' changes {module.id} for everybody.",
            repair="Write a function of your own, and call that.",
            line=node.lineno,
        )


def _definition(node: Function) -> Iterator[Finding]:
    if _dunder(node.name) and node.name not in _HARMLESS:
        yield Finding(
            message=f"The method {node.name} changes how Python itself works.",
            repair="Write an ordinary method.",
            line=node.lineno,
        )


def _by_name(node: ast.Call) -> Iterator[Finding]:
    function = node.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called not in _BY_NAME:
        return
    places = node.args if called == "attrgetter" else node.args[1:2]
    for place in places or [node]:
        if not (isinstance(place, ast.Constant) and isinstance(place.value, str)):
            yield Finding(
                message=f"'{shown(node)}' takes the name of a field that nobody can read here.",
                repair="Name the field itself, or keep the values in a dict.",
                line=node.lineno,
            )
        else:
            for name in place.value.split("."):
                yield from _attribute(name, node.lineno, of_module=False)


def _inside(name: str, line: int) -> Finding:
    instead = {
        "__class__": "Use type(value).",
        "__dict__": "Name the fields, or use dataclasses.asdict.",
        "__file__": "Use a path in /workspace.",
    }
    return Finding(
        message=f"'{name}' leads into Python's insides.",
        repair=instead.get(name, "Do without; ordinary fields and methods are enough."),
        line=line,
    )


def _dunder(name: str) -> bool:
    return len(name) > len("____") and name.startswith("__") and name.endswith("__")


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _fields(tree: ast.Module) -> frozenset[str]:
    """The fields of the classes of a source: a device may well have an 'os'."""
    found = set[str]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                found.add(inner.target.id)
            elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
                found.add(inner.attr)
    return frozenset(name for name in found if not _dunder(name))
