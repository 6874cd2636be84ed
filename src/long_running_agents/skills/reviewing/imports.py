"""Which modules a source imports, and whether it may."""

import ast
from collections.abc import Collection, Iterator

from long_running_agents.domain.skill import Finding

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


def outside(tree: ast.Module, allowed: Collection[str]) -> Iterator[Finding]:
    """Imports that are not allowed, anywhere in a source.

    Args:
        tree: The source.
        allowed: Modules; each stands for its submodules, too.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if not _covered(alias.name, allowed):
                    yield _refused(alias.name, node.lineno, allowed)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            yield from _from(node, node.module or "", allowed)


def unclear(tree: ast.Module) -> Iterator[Finding]:
    """Imports that do not say what they import."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            yield Finding(
                message="A relative import has nothing to be relative to: a tool is one source.",
                repair="Put what it needs into the same source.",
                line=node.lineno,
            )
        if any(alias.name == "*" for alias in node.names):
            yield Finding(
                message=f"'from {node.module or '.'} import *' does not say what is imported.",
                repair="Name what is needed.",
                line=node.lineno,
            )


def names(tree: ast.Module) -> frozenset[str]:
    """What imported things are called in a source."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _from(node: ast.ImportFrom, module: str, allowed: Collection[str]) -> Iterator[Finding]:
    if _covered(module, allowed):
        return
    wrong = [alias for alias in node.names if not _covered(f"{module}.{alias.name}", allowed)]
    if wrong:
        yield _refused(module, node.lineno, allowed)


def _covered(module: str, allowed: Collection[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in allowed for length in range(1, len(parts) + 1))


def _refused(module: str, line: int, allowed: Collection[str]) -> Finding:
    inside = sorted(name for name in allowed if name.startswith(f"{module}."))
    top = module.partition(".")[0]
    if inside:
        repair = f"Import {' or '.join(inside)} instead."
    elif top in _INSTEAD:
        repair = f"Instead, {_INSTEAD[top]}."
    else:
        repair = f"Do without, or use one of: {', '.join(sorted(allowed)) or 'none'}."
    return Finding(message=f"The module {module} may not be imported.", repair=repair, line=line)
