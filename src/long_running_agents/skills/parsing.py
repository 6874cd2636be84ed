"""Python text, parsed and never run."""

import ast
import warnings

from long_running_agents.errors import NotPython


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        NotPython: It has none; the message says where.
    """
    try:
        with warnings.catch_warnings():
            # What its author should mend is not for our log.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise NotPython(f"It is not Python: {where}{error.msg}.", hint="Mend it.") from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise NotPython(
            "It cannot be read as Python.", hint="Look for odd characters and deep nesting."
        ) from error


def functions(tree: ast.Module) -> list[str]:
    """The functions of a module, in their order."""
    return [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
