"""Python text, parsed and never run."""

import ast
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from long_running_agents.errors import NotPython

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What the parser raises when a text is no Python, or too much of it."""

# Filters of warnings belong to the whole process: two that put them back in the wrong order would
# leave them changed for ever.
_QUIET = Lock()


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        NotPython: It has none; the message says where.
    """
    try:
        with quietly():
            return ast.parse(text)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise NotPython(f"It is not Python: {where}{error.msg}.", hint="Mend it.") from error
    except UNREADABLE as error:
        raise NotPython(
            "It cannot be read as Python.", hint="Look for odd characters and deep nesting."
        ) from error


@contextmanager
def quietly() -> Generator[None]:
    """Parse without a word about odd escapes and the like: that is for the author to mend."""
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def has_function(tree: ast.Module) -> bool:
    """Whether a module defines a function at its top level."""
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in tree.body)
