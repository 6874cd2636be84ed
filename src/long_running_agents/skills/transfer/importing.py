"""Reading skills from a module, one that was exported or one that somebody wrote."""

import ast
import json
from collections.abc import Collection

from long_running_agents.domain.skill import Brought, Draft, Example, Limits, Origin
from long_running_agents.errors import Altered, NotFound, TooLarge, UsageError
from long_running_agents.skills.bindings import Function
from long_running_agents.skills.parsing import parsed
from long_running_agents.skills.transfer.renaming import renamed
from long_running_agents.skills.transfer.sections import MARKER, About, digest_of_section

LARGEST = 8 << 20
"""Characters that an exported module may have."""
LARGEST_ORDINARY = 256 << 10
"""Characters that any other may have: each of its functions takes most of it along."""
MOST = 200
"""Functions that are taken from an ordinary module."""

_BROUGHT = Brought(origin=Origin.IMPORT)


def imported(text: str) -> list[Draft]:
    """The skills of a module; it is parsed, and never run.

    Args:
        text: A module that was exported, or any other: then each public function becomes a
            skill, together with whatever else is in the module.

    Raises:
        Altered: A section was changed after it was exported.
        UsageError: There is no function in it.
        NotPython: It cannot be parsed.
        TooLarge: There is too much of it.
    """
    if len(text) > LARGEST:
        raise TooLarge(f"It has more than {LARGEST} characters.", hint="Import parts of it.")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if MARKER.fullmatch(line)), None)
    if first is None:
        return _from_ordinary(text)
    _check_beginning("\n".join(lines[:first]))
    drafts: list[Draft] = []
    at = first
    while at < len(lines):
        draft, at = _from_section(lines, at)
        drafts.append(draft)
    return drafts


def extracted(text: str, function: str) -> str:
    """One function of an ordinary module, with what it needs of the rest.

    Raises:
        NotFound: The module has no such function.
        NotPython: It cannot be parsed.
        TooLarge: There is too much of it.
    """
    for draft in _from_ordinary(text.removeprefix("\ufeff")):
        if draft.function == function:
            return draft.source
    raise NotFound(
        f"There is no function {function!r} at the top level of the file.",
        hint="Write it there; its name must not begin with _.",
    )


def _check_beginning(text: str) -> None:
    for node in parsed(text).body:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not future and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise Altered(
                f"Line {node.lineno} stands before the first skill, and is part of none.",
                hint="Move it to a module of its own, and import that.",
            )


def _from_section(lines: list[str], at: int) -> tuple[Draft, int]:
    """The draft of the section that begins in a line, and where the next one begins."""
    marker = MARKER.fullmatch(lines[at])
    if marker is None:
        raise Altered(
            f"Line {at + 1} stands between skills, and is part of none.",
            hint="Move it to a module of its own, and import that.",
        )
    name = marker["name"]
    about = _about(lines[at + 1] if at + 1 < len(lines) else "", name)
    end = at + 2 + about.lines
    if end > len(lines) or digest_of_section(lines[at + 1 : end]) != marker["digest"]:
        raise _altered(name)
    draft = _draft(name, about, lines[at + 2 : end])
    while end < len(lines) and not lines[end].strip():
        end += 1
    return draft, end


def _altered(name: str) -> Altered:
    return Altered(
        f"The skill {name} was changed after it was exported.",
        hint="Export it again, or take the lines that begin with # --- out of the module.",
    )


def _about(line: str, name: str) -> About:
    try:
        return About.model_validate(json.loads(line.removeprefix("# ")))
    except (ValueError, RecursionError) as error:
        # What fails to be validated is a ValueError, too.
        raise _altered(name) from error


def _draft(name: str, about: About, lines: list[str]) -> Draft:
    source = "\n".join(lines[about.before : len(lines) - about.after])
    back = {new: old for old, new in about.renamed.items()}
    if not all(word.isidentifier() for words in about.renamed.items() for word in words):
        raise _altered(name)
    return Draft(
        source=_with_future(renamed(source, back), about),
        brought=_BROUGHT,
        name=name,
        function=about.function,
        description=about.description,
        examples=tuple(
            Example(args=each.args, result=each.result, checked=each.checked, derived=each.derived)
            for each in about.examples
        ),
        limits=Limits(timeout=about.limits.timeout, memory=about.limits.memory),
        safe_mode=about.safe_mode,
        allowed_imports=about.allowed_imports,
        label=about.label,
    )


def _with_future(source: str, about: About) -> str:
    """A source with its imports from the future where they were."""
    for each in about.hoisted:
        lines = source.split("\n")
        if each.line > len(lines):
            break
        line = lines[each.line - 1]
        rest = line[each.column :].removeprefix(each.left)
        lines[each.line - 1] = line[: each.column] + each.text + rest
        source = "\n".join(lines)
    return source


def _from_ordinary(text: str) -> list[Draft]:
    if len(text) > LARGEST_ORDINARY:
        raise TooLarge(
            f"It has more than {LARGEST_ORDINARY} characters.", hint="Import parts of it."
        )
    tree = parsed(text)
    public = {
        node.name: node
        for node in tree.body
        if isinstance(node, Function) and not node.name.startswith("_")
    }
    if not public:
        raise UsageError(
            "There is no public function in it.", hint="A skill is a function at the top level."
        )
    if len(public) > MOST:
        raise TooLarge(f"It has more than {MOST} functions.", hint="Import parts of it.")
    calls = {id(node): _called(node, public.keys()) for node in tree.body}
    return [
        Draft(source=_alone(text, tree, name, calls), brought=_BROUGHT, name=name, function=name)
        for name in public
    ]


def _called(node: ast.stmt, names: Collection[str]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in names}


def _is_public(node: ast.stmt) -> bool:
    return isinstance(node, Function) and not node.name.startswith("_")


def _is_script(node: ast.stmt) -> bool:
    """Whether it is only for those who start the module as a program."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == "__name__"
    )


def _alone(text: str, tree: ast.Module, name: str, calls: dict[int, set[str]]) -> str:
    """The module without the public functions that a function does not need."""
    needed = _needed(tree, name, calls)
    lines: list[str | None] = [*text.split("\n")]
    for node in tree.body:
        unneeded = isinstance(node, Function) and _is_public(node) and node.name not in needed
        if unneeded or _is_script(node):
            decorators = node.decorator_list if isinstance(node, Function) else []
            first = min([node.lineno, *(each.lineno for each in decorators)])
            while first > 1 and (lines[first - 2] or "").startswith("#"):
                first -= 1
            lines[first - 1 : node.end_lineno] = [None] * ((node.end_lineno or first) - first + 1)
    return "\n".join(line for line in lines if line is not None).strip("\n") + "\n"


def _needed(tree: ast.Module, name: str, calls: dict[int, set[str]]) -> set[str]:
    """The public functions that a function calls, and those that these call."""
    needed = {name}
    for node in tree.body:
        if not _is_public(node) and not _is_script(node):
            needed |= calls[id(node)]
    before: set[str] = set()
    while needed != before:
        before = set(needed)
        for node in tree.body:
            if isinstance(node, Function) and node.name in before:
                needed |= calls[id(node)]
    return needed
