"""Skills as one module that anybody can import with nothing of ours: written, and read again."""

import ast
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, Field

from long_running_agents.domain.skill import (
    NAME,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    Version,
)
from long_running_agents.errors import Altered, NotFound, NotPython, TooLarge, UsageError
from long_running_agents.skills.python_ast import (
    Function,
    ModuleNames,
    binding,
    module_names,
    parsed,
)

MARKER = re.compile(
    rf"# --- skill: (?P<name>{NAME.pattern}) · version (?P<number>[0-9]{{1,9}}) · "
    r"sha256: (?P<digest>[0-9a-f]{64})"
)
"""The line that a section begins with."""


class _Limits(BaseModel):
    timeout: float = Field(gt=0, allow_inf_nan=False)
    memory: int = Field(gt=0)


class _Hoisted(BaseModel):
    """An import from the future, which has to stand at the top of the module."""

    line: int = Field(ge=1)
    column: int = Field(ge=0)
    left: str
    """What stands there instead."""
    text: str


class _About(BaseModel):
    """What is known of a skill, as the comment below its marker has it."""

    function: str
    """The name in the source."""
    limits: _Limits
    safe_mode: bool
    allowed_imports: tuple[str, ...]
    examples: tuple[SkillExample, ...]
    label: str
    description: str
    lines: int = Field(ge=1)
    """How many lines of the section follow."""
    after: int = Field(default=0, ge=0)
    """How many of them were put after it."""
    hoisted: list[_Hoisted] = []


def _digest_of(lines: list[str]) -> str:
    """The sha256 of a section, from the line below its marker on."""
    text = "\n".join(lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_FUTURE = "from __future__ import annotations"
_MOST_CLASHES = 10
"""Names that an error lists."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A skill on its way into the module."""

    version: Version
    source: str
    """Without its imports from the future."""
    hoisted: list[_Hoisted]
    annotations: bool
    """Whether its annotations are not to be evaluated."""
    names: ModuleNames
    imports: dict[str, tuple[str, ...]]
    """What it imports, by name: names that stand for the same import can be shared."""


def exported(versions: Sequence[Version], *, now: datetime) -> str:
    """One plain module with the functions of these versions, each under its tool's name.

    Guides are not functions, and are only mentioned.

    Raises:
        UsageError: One of them is there twice or cannot be written, or two of them use the same
            name for different things.
    """
    functions = [each for each in versions if each.kind is SkillKind.FUNCTION]
    names = [each.name for each in functions]
    for name in names:
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name of a tool.", hint="Leave it out.")
        if names.count(name) > 1:
            raise UsageError(f"{name} is there twice.", hint="Export one version of each skill.")
    sections = [_section(each) for each in functions]
    if clashes := list(_clashes(sections)):
        more = len(clashes) - _MOST_CLASHES
        listed = "; ".join(clashes[:_MOST_CLASHES]) + (f"; and {more} more" if more > 0 else "")
        raise UsageError(
            f"Names clash in one module: {listed}.",
            hint="Export these skills one at a time, or rename it in one of them.",
        )
    text = "\n\n\n".join(
        [_beginning(versions, sections, now), *(_written(each) for each in sections)]
    )
    try:
        parsed(text)
    except NotPython as error:
        raise UsageError("They make no module.", hint="Export them one by one.") from error
    return f"{text}\n"


def _beginning(versions: Sequence[Version], sections: Sequence[_Section], now: datetime) -> str:
    guides = ", ".join(each.name for each in versions if each.kind is SkillKind.GUIDE)
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
        tree, names = parsed(source), module_names(source)
        imports = _imports(tree, names)
    except (UsageError, SyntaxError, RecursionError) as error:
        raise UsageError(
            f"{version.name} cannot be exported. {error}", hint="Leave it out."
        ) from error
    if version.interface.function not in names.bound:
        raise UsageError(f"{version.name} has no such function.", hint="Leave it out.")
    return _Section(version, source, hoisted, annotations, names, imports)


def _without_future(source: str) -> tuple[str, list[_Hoisted], bool]:
    """A source without its imports from the future, and what they were."""
    tree = parsed(source)
    lines = source.split("\n")
    hoisted: list[_Hoisted] = []
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
        hoisted.insert(0, _Hoisted(line=first + 1, column=begin, left=left, text=text))
    return "\n".join(lines), hoisted, annotations


def _imports(tree: ast.Module, names: ModuleNames) -> dict[str, tuple[str, ...]]:
    """What the names that are nothing but an import stand for."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = "." * node.level + (node.module or "")
                found[binding(alias)].add(("from", module, alias.name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = binding(alias)
                found[name].add(("import", alias.name if alias.asname else name))
    return {
        name: meanings.pop()
        for name, meanings in found.items()
        if len(meanings) == 1 and name not in names.assigned
    }


def _clashes(sections: Sequence[_Section]) -> Iterator[str]:
    """The names that would mean something else in one module than in the skills' own."""
    for name in sorted({name for each in sections for name in _bound(each)}):
        holders = [each for each in sections if name in _bound(each)]
        # A name that one binds hides the builtin that another means.
        others = [each for each in sections if each not in holders and name in each.names.used]
        meanings = {each.imports.get(name) for each in holders}
        if others or (len(holders) > 1 and (len(meanings) > 1 or None in meanings)):
            yield f"{name} (in {', '.join(each.version.name for each in [*holders, *others])})"


def _bound(section: _Section) -> frozenset[str]:
    return section.names.bound | {section.version.name}


def _written(section: _Section) -> str:
    version = section.version
    function = version.interface.function
    after = [] if version.name == function else [f"{version.name} = {function}"]
    body = [*section.source.split("\n"), *after]
    try:
        about = _About(
            function=function,
            limits=_Limits(timeout=version.limits.timeout, memory=version.limits.memory),
            safe_mode=version.safe_mode,
            allowed_imports=version.allowed_imports,
            examples=version.examples,
            label=version.label,
            description=version.interface.description,
            lines=len(body),
            after=len(after),
            hoisted=section.hoisted,
        )
        lines = [f"# {json.dumps(about.model_dump())}", *body]
    except ValueError as error:
        raise UsageError(
            f"What is known of {version.name} cannot be written.", hint="Leave it out."
        ) from error
    marker = f"# --- skill: {version.name} · version {version.number}"
    return "\n".join([f"{marker} · sha256: {_digest_of(lines)}", *lines])


LARGEST = 8 << 20
"""Characters that an exported module may have."""
LARGEST_ORDINARY = 256 << 10
"""Characters that any other may have: each of its functions takes most of it along."""
MOST = 200
"""Functions that are taken from an ordinary module."""

_BROUGHT = SkillOrigin(origin=SkillCreator.IMPORT)


def imported(text: str) -> list[SkillDraft]:
    """The skills of a module, parsed and never run; one that we did not export gives each function.

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
    drafts: list[SkillDraft] = []
    at = first
    while at < len(lines):
        draft, at = _from_section(lines, at)
        drafts.append(draft)
    return drafts


def extracted(text: str, function: str) -> str:
    """One function of an ordinary module, with what it needs of the rest."""
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


def _from_section(lines: list[str], at: int) -> tuple[SkillDraft, int]:
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
    if end > len(lines) or _digest_of(lines[at + 1 : end]) != marker["digest"]:
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


def _about(line: str, name: str) -> _About:
    try:
        return _About.model_validate(json.loads(line.removeprefix("# ")))
    except (ValueError, RecursionError) as error:
        # What fails to be validated is a ValueError, too.
        raise _altered(name) from error


def _draft(name: str, about: _About, lines: list[str]) -> SkillDraft:
    source = "\n".join(lines[: len(lines) - about.after])
    return SkillDraft(
        source=_with_future(source, about),
        brought=_BROUGHT,
        name=name,
        function=about.function,
        description=about.description,
        examples=about.examples,
        limits=SkillLimits(timeout=about.limits.timeout, memory=about.limits.memory),
        safe_mode=about.safe_mode,
        allowed_imports=about.allowed_imports,
        label=about.label,
    )


def _with_future(source: str, about: _About) -> str:
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


def _from_ordinary(text: str) -> list[SkillDraft]:
    if len(text) > LARGEST_ORDINARY:
        raise TooLarge(
            f"It has more than {LARGEST_ORDINARY} characters.", hint="Import parts of it."
        )
    tree = parsed(text)
    public = {name: None for node in tree.body if (name := _public(node))}
    if not public:
        raise UsageError(
            "There is no public function in it.", hint="A skill is a function at the top level."
        )
    if len(public) > MOST:
        raise TooLarge(f"It has more than {MOST} functions.", hint="Import parts of it.")
    calls = {id(node): _called(node, public) for node in tree.body}
    return [
        SkillDraft(
            source=_alone(text, tree, name, calls), brought=_BROUGHT, name=name, function=name
        )
        for name in public
    ]


def _called(node: ast.stmt, names: Collection[str]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in names}


def _public(node: ast.stmt) -> str:
    """The name of a public function; empty when it is none."""
    return node.name if isinstance(node, Function) and not node.name.startswith("_") else ""


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
        if _public(node) not in {"", *needed} or _is_script(node):
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
        if not _public(node) and not _is_script(node):
            needed |= calls[id(node)]
    before: set[str] = set()
    while needed != before:
        before = set(needed)
        for node in tree.body:
            if _public(node) in before:
                needed |= calls[id(node)]
    return needed
