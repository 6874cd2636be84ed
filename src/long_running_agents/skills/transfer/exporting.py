"""Writing skills into one module that anybody can import, with nothing of ours."""

import ast
import builtins
import json
import keyword
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from long_running_agents.domain.skill import NAME, Kind, Version
from long_running_agents.errors import NotPython, UsageError
from long_running_agents.skills.bindings import binding, bound
from long_running_agents.skills.parsing import parsed
from long_running_agents.skills.transfer.renaming import renamed, used
from long_running_agents.skills.transfer.sections import (
    About,
    Allowed,
    Hoisted,
    Tried,
    digest_of_section,
)

_FUTURE = "from __future__ import annotations"
_BUILTINS = frozenset(dir(builtins))


@dataclass(slots=True)
class _Section:
    """A skill on its way into the module."""

    version: Version
    source: str
    """Without its imports from the future."""
    hoisted: list[Hoisted]
    annotations: bool
    """Whether its annotations are not to be evaluated."""
    tree: ast.Module
    bindings: dict[str, tuple[str, ...]]
    """The names of the module, and what they stand for: equal where they are the same import."""
    renames: dict[str, str] = field(default_factory=dict[str, str])


def exported(versions: Sequence[Version], *, now: datetime) -> str:
    """One plain module with the functions of these versions, each under its tool's name.

    What two of them call by the same name is renamed, so that none breaks another. Guides are
    not functions, and are only mentioned.

    Args:
        versions: What to export; each skill once.
        now: When.

    Raises:
        UsageError: One of them is there twice, or cannot be written.
    """
    functions = [each for each in versions if each.kind is Kind.FUNCTION]
    names = [each.name for each in functions]
    for name in names:
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a tool.", hint="Leave it out.")
        if names.count(name) > 1:
            raise UsageError(f"{name} is there twice.", hint="Export one version of each skill.")
    sections = [_section(each) for each in functions]
    try:
        _choose(sections)
    except RecursionError as error:
        raise UsageError("One is nested too deeply.", hint="Export them one by one.") from error
    text = "\n\n\n".join(
        [_beginning(versions, sections, now), *(_written(each) for each in sections)]
    )
    try:
        parsed(text)
    except NotPython as error:
        raise UsageError("They make no module.", hint="Export them one by one.") from error
    return f"{text}\n"


def _beginning(versions: Sequence[Version], sections: Sequence[_Section], now: datetime) -> str:
    guides = ", ".join(each.name for each in versions if each.kind is Kind.GUIDE)
    lines = [
        f'"""Skills, exported at {now.isoformat(timespec="seconds")}.',
        "",
        "Import this module and call its functions. The lines that begin with # --- say what a",
        "section is; they are needed to import it into an agent again, and hold a sha256 of what",
        "follows, so that a change is noticed.",
        *(["", f"Guides are not functions, and not in here: {guides}."] if guides else []),
        '"""',
        *(["", _FUTURE] if any(each.annotations for each in sections) else []),
    ]
    return "\n".join(lines)


def _section(version: Version) -> _Section:
    source = version.source.replace("\r\n", "\n").replace("\r", "\n")
    try:
        source, hoisted, annotations = _without_future(source)
        tree = parsed(source)
        bindings = _bindings(tree)
    except (UsageError, RecursionError) as error:
        raise UsageError(
            f"{version.name} cannot be exported. {error}", hint="Leave it out."
        ) from error
    if version.interface.function not in bindings:
        raise UsageError(f"{version.name} has no such function.", hint="Leave it out.")
    return _Section(version, source, hoisted, annotations, tree, bindings)


def _without_future(source: str) -> tuple[str, list[Hoisted], bool]:
    """A source without its imports from the future, and what they were."""
    tree = parsed(source)
    lines = source.split("\n")
    hoisted: list[Hoisted] = []
    annotations = False
    nodes = [
        each
        for each in tree.body
        if isinstance(each, ast.ImportFrom) and each.module == "__future__"
    ]
    # From the last one on, so that the places of the others stay right.
    for node in reversed(nodes):
        annotations |= any(alias.name == "annotations" for alias in node.names)
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        begin = len(lines[first].encode()[: node.col_offset].decode())
        end = len(lines[last].encode()[: node.end_col_offset].decode())
        before, after = lines[first][:begin], lines[last][end:]
        left = "" if not (before.strip() or after.strip(" \t;")) and ";" not in after else "pass"
        text = "\n".join([*lines[first:last], lines[last][:end]])[begin:]
        lines[first : last + 1] = [before + left + after]
        hoisted.insert(0, Hoisted(line=first + 1, column=begin, left=left, text=text))
    return "\n".join(lines), hoisted, annotations


def _bindings(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """What a module binds; only names that are nothing but an import can be the same elsewhere."""
    names = bound(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            names |= set(node.names)
    imports: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            name = binding(alias)
            if isinstance(node, ast.ImportFrom):
                imports[name].add(("from", "." * node.level + (node.module or ""), alias.name))
            else:
                imports[name].add(("import", alias.name if alias.asname else name))
    rest = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    changed = bound(rest) | {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    return {
        name: next(iter(imports[name]))
        if len(imports[name]) == 1 and name not in changed
        else ("own",)
        for name in names
    }


def _choose(sections: Sequence[_Section]) -> None:
    """Decide what is called otherwise in which section."""
    if not sections:
        return
    taken = _words(sections)
    tools = {each.version.name for each in sections}
    holders: dict[str, list[_Section]] = defaultdict(list)
    for section in sections:
        for name in section.bindings:
            holders[name].append(section)
    for section in sections:
        clashing = {
            name for name in section.bindings if _clashes(section, name, holders[name], tools)
        }
        # A tool may be called as a builtin is; the others go on to mean the builtin.
        hidden = (tools & _BUILTINS) - section.bindings.keys()
        for name in sorted(clashing | (used(section.tree, hidden) if hidden else set())):
            new = f"_{section.version.name}__{name.lstrip('_')}"
            while new in taken:
                new = f"{new}_"
            taken.add(new)
            section.renames[name] = new


def _clashes(section: _Section, name: str, holders: Sequence[_Section], tools: set[str]) -> bool:
    """Whether a name cannot stay as it is in a section."""
    if name in tools:
        return name != section.version.name or name != section.version.interface.function
    kinds = {holder.bindings[name] for holder in holders}
    own = section.bindings[name]
    if own == ("import", name):
        # It means the same wherever it is written like this; the others are renamed.
        return False
    if len(holders) > 1 and (len(kinds) > 1 or own == ("own",)):
        return True
    return name in _BUILTINS


def _words(sections: Sequence[_Section]) -> set[str]:
    """Everything that any section calls anything."""
    words = {each.version.name for each in sections}
    for section in sections:
        for node in ast.walk(section.tree):
            for each in ("id", "name", "asname", "arg", "attr", "rest"):
                word = getattr(node, each, None)
                if isinstance(word, str):
                    words.add(word)
        words |= section.bindings.keys()
    return words


def _written(section: _Section) -> str:
    version, renames = section.version, section.renames
    function = version.interface.function
    try:
        source = renamed(section.source, renames)
    except UsageError as error:
        raise UsageError(
            f"{version.name} cannot stand beside the others. {error}", hint="Export it alone."
        ) from error
    before = [
        f"from builtins import {name} as {new}"
        for name, new in renames.items()
        if name not in section.bindings
    ]
    after = _alias(version.name, renames.get(function, function))
    body = [*before, *source.split("\n"), *after]
    try:
        about = _about(section, len(body), len(before), len(after), renames)
        lines = [f"# {json.dumps(about.model_dump())}", *body]
    except ValueError as error:
        raise UsageError(
            f"What is known of {version.name} cannot be written.", hint="Leave it out."
        ) from error
    marker = f"# --- skill: {version.name} · version {version.number}"
    return "\n".join([f"{marker} · sha256: {digest_of_section(lines)}", *lines])


def _alias(name: str, function: str) -> list[str]:
    """What makes a function known by the name of its tool."""
    if name == function:
        return []
    return [
        f'globals()["{name}"] = {function}' if keyword.iskeyword(name) else f"{name} = {function}"
    ]


def _about(
    section: _Section, lines: int, before: int, after: int, renames: Mapping[str, str]
) -> About:
    version = section.version
    return About(
        function=version.interface.function,
        limits=Allowed(timeout=version.limits.timeout, memory=version.limits.memory),
        safe_mode=version.safe_mode,
        allowed_imports=version.allowed_imports,
        examples=tuple(
            Tried(args=each.args, result=each.result, checked=each.checked, derived=each.derived)
            for each in version.examples
        ),
        label=version.label,
        description=version.interface.description,
        lines=lines,
        before=before,
        after=after,
        renamed=dict(renames),
        hoisted=tuple(section.hoisted),
    )
