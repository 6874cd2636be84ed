"""From what a person types to the source of a tool; nothing of it is run."""

import ast
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from long_running_agents.errors import NotPython
from long_running_agents.skills.parsing import has_function, parsed

if TYPE_CHECKING:
    from long_running_agents.domain.skill import Draft


def skeleton(name: str, does: str, arguments: Sequence[str], returns: str) -> str:
    """The beginning of a function: its head and its docstring.

    Args:
        name: What it is called.
        does: What it does, in a sentence.
        arguments: Each with its type, such as 'text: str' or 'period: int = 14'.
        returns: The type of its result.
    """
    # Quotes and backslashes of a person must not end the docstring, or mean something in it.
    told = does.strip().replace("\\", "\\\\").replace('"', '\\"')
    return f'def {name}({", ".join(arguments)}) -> {returns}:\n    """{told}"""\n'


def whole(head: str, typed: str) -> str:
    """What was typed, or a function around it when it is only the body of one.

    Args:
        head: The beginning of the function.
        typed: What a person wrote after having seen it.
    """
    code = textwrap.dedent(typed)
    try:
        is_whole = has_function(parsed(code))
    except NotPython:
        # The review says what is wrong, and where; a body is what was asked for.
        is_whole = False
    return f"{code}\n" if is_whole else f"{head}{textwrap.indent(code, '    ')}\n"


def complaint_about_argument(text: str) -> str:
    """What is wrong with an argument as it was typed; empty when nothing is."""
    try:
        function, *others = parsed(f"def tool({text}): ...").body
    except NotPython:
        return "That is no argument of a Python function."
    if others or not isinstance(function, ast.FunctionDef):
        return "That is no argument of a Python function."
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if len(found) != 1 or given.vararg or given.kwarg:
        return "Give one argument at a time."
    return "" if found[0].annotation else f"Say what {found[0].arg} is, such as '{text}: str'."


def complaint_about_type(text: str) -> str:
    """What is wrong with the type of a result as it was typed; empty when nothing is."""
    try:
        parsed(f"def tool() -> {text}: ...")
    except NotPython:
        return "That is no type."
    return "" if "\n" not in text and ":" not in text else "That is no type."


def draft_of(source: str, *, function: str = "", name: str = "") -> "Draft":
    """What a person wishes to be a tool.

    Args:
        source: The text of a module.
        function: The function in it; what it does not need is left out then.
        name: What the tool is to be called.
    """
    from long_running_agents.domain.skill import Brought, Draft, Origin

    if function:
        from long_running_agents.skills.transfer import importing

        # What cannot be taken apart is left to the review, which says what is wrong and where.
        with suppress(NotPython):
            source = importing.extracted(source, function)
    return Draft(source=source, function=function, name=name, brought=Brought(origin=Origin.PERSON))
