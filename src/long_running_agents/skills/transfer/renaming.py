"""Renaming what a module calls its own, in its text: comments and layout stay as they are."""

import ast
import io
import re
import sys
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from long_running_agents.errors import NotPython, UsageError
from long_running_agents.skills.bindings import (
    Comprehension,
    Function,
    binding,
    bound,
    declared,
    outside,
    own,
    parameters,
)
from long_running_agents.skills.parsing import parsed

_Place = tuple[int, int]
"""A line, from 1, and a column in characters."""


def used(tree: ast.Module, names: set[str]) -> set[str]:
    """Which of these names a module looks up among its own."""
    search = _Search({name: name for name in names})
    search.module(tree)
    return search.seen


def renamed(source: str, names: Mapping[str, str]) -> str:
    """A source with other names for some that it has at the level of the module.

    What is renamed is checked against the tree of the source. Where the text cannot be changed
    that way, such as in unusual f-strings, it is written anew from the tree, without comments.

    Raises:
        NotPython: It cannot be parsed.
        UsageError: One of the names means two things in the body of a class.
    """
    if not names:
        return source
    tree = parsed(source)
    search = _Search(names)
    try:
        search.module(tree)
        wanted = ast.dump(tree)
        text = _changed(source, search, names)
        if text is not None and _is(text, wanted):
            return text
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except RecursionError as error:
        raise UsageError("It is nested too deeply to be renamed.", hint="Split it.") from error


def _is(text: str, tree: str) -> bool:
    """Whether a text has a tree."""
    try:
        return ast.dump(parsed(text)) == tree
    except NotPython:
        return False


def _unclear(body: list[ast.stmt]) -> set[str]:
    """The names of a class that are looked up in its body where they may not be bound yet."""
    local = bound(body) - declared(body)
    settled: set[str] = set()
    unclear: set[str] = set()
    for node in body:
        loaded = {
            each.id
            for each in own([node])
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
        }
        unclear |= (loaded & local) - settled
        if isinstance(node, Function | ast.ClassDef | ast.Assign | ast.Import | ast.ImportFrom):
            settled |= bound([node])
    return unclear


class _Search:
    """Walks a tree, renames in it, and notes where in the text that was."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.seen: set[str] = set()
        self.sites: list[tuple[ast.AST, str, str]] = []
        """A node, the name to look for in it, and what of it: name, first, last, all or alias."""
        self._in_string = 0
        self._in_class = 0

    def module(self, tree: ast.Module) -> None:
        """Rename in all of a module."""
        for node in tree.body:
            self._visit(node, frozenset(), frozenset())

    def _mine(self, name: str | None, hidden: frozenset[str]) -> bool:
        if name is None or name not in self.names or name in hidden:
            return False
        # Python itself gives such a name another one inside of classes.
        if self._in_class and name.startswith("__") and not name.endswith("__"):
            return False
        self.seen.add(name)
        return True

    def _note(self, node: ast.AST, name: str, what: str) -> str:
        # Before 3.12 no node inside of an f-string knows where it is.
        if not self._in_string or sys.version_info >= (3, 12):
            self.sites.append((node, name, what))
        return self.names[name]

    def _visit(self, node: ast.AST, here: frozenset[str], below: frozenset[str]) -> None:
        """Rename in a node.

        Args:
            node: The node.
            here: The names that are not the module's where the node is.
            below: The same for functions in it, which do not see the names of a class.
        """
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._callable(node, here, below)
            case ast.ClassDef():
                self._class(node, here, below)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, here, below)
            case ast.JoinedStr():
                self._in_string += 1
                self._all(ast.iter_child_nodes(node), here, below)
                self._in_string -= 1
            case _:
                self._names(node, here)
                self._all(ast.iter_child_nodes(node), here, below)

    def _all(self, nodes: Iterator[ast.AST], here: frozenset[str], below: frozenset[str]) -> None:
        for node in nodes:
            self._visit(node, here, below)

    def _names(self, node: ast.AST, here: frozenset[str]) -> None:
        match node:
            case ast.Name() if self._mine(node.id, here):
                node.id = self._note(node, node.id, "name")
            case ast.Global():
                for place, name in enumerate(node.names):
                    if self._mine(name, frozenset()):
                        node.names[place] = self._note(node, name, "all")
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    if self._mine(binding(alias), here):
                        self._alias(alias)
            case _:
                self._captures(node, here)

    def _captures(self, node: ast.AST, here: frozenset[str]) -> None:
        match node:
            case ast.ExceptHandler(name=str(name)) if self._mine(name, here):
                node.name = self._note(node, name, "handler")
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) if self._mine(
                name, here
            ):
                node.name = self._note(node, name, "last")
            case ast.MatchMapping(rest=str(name)) if self._mine(name, here):
                node.rest = self._note(node, name, "last")
            case _:
                pass

    def _alias(self, alias: ast.alias) -> None:
        name = binding(alias)
        if alias.asname is None and "." in alias.name:
            raise UsageError(
                f"The import of {alias.name} cannot have another name.",
                hint="Import it with 'as', or export the skill alone.",
            )
        new = self._note(alias, name, "alias")
        alias.asname = None if new == alias.name else new

    def _callable(
        self, node: Function | ast.Lambda, here: frozenset[str], below: frozenset[str]
    ) -> None:
        if not isinstance(node, ast.Lambda) and self._mine(node.name, here):
            node.name = self._note(node, node.name, "first")
        self._all(outside(node), here, below)
        body = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        local = {each.arg for each in parameters(node)} | bound(body)
        hidden = (below | local) - declared(body)
        self._all(iter(body), hidden, hidden)

    def _class(self, node: ast.ClassDef, here: frozenset[str], below: frozenset[str]) -> None:
        if self._mine(node.name, here):
            node.name = self._note(node, node.name, "first")
        self._all(iter([*node.decorator_list, *node.bases, *node.keywords]), here, below)
        if unclear := sorted(_unclear(node.body) & (self.names.keys() - below)):
            raise UsageError(
                f"{unclear[0]} means two things in a class.",
                hint="Give one of them another name, or export the skill alone.",
            )
        local = bound(node.body) - declared(node.body)
        self._in_class += 1
        self._all(iter(node.body), below | local, below)
        self._in_class -= 1

    def _comprehension(
        self, node: Comprehension, here: frozenset[str], below: frozenset[str]
    ) -> None:
        first, *_ = node.generators
        self._visit(first.iter, here, below)
        targets = [each.target for each in node.generators]
        local = {
            name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
        }
        hidden = below | local
        for each in node.generators:
            parts = [each.target, *each.ifs, *([] if each is first else [each.iter])]
            self._all(iter(parts), hidden, hidden)
        value = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._all(iter(value), hidden, hidden)


def _changed(source: str, search: _Search, names: Mapping[str, str]) -> str | None:
    """The source with its names changed; None when its tokens cannot be told."""
    lines = source.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source, newline="\n").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    words = [each for each in tokens if each.type == tokenize.NAME]
    starts = [each.start for each in words]
    edits: dict[_Place, tuple[_Place, str]] = {}
    for node, name, what in search.sites:
        begin, end = _span(node, lines)
        inside = words[bisect_left(starts, begin) : bisect_left(starts, end)]
        chosen = _chosen([each for each in inside if each.string == name], node, what, lines)
        if what == "alias" and isinstance(node, ast.alias):
            edits[begin] = (end, node.name + (f" as {node.asname}" if node.asname else ""))
            continue
        for each in chosen:
            edits[each.start] = (each.end, names[name])
    if search.seen:
        edits |= _string_edits(tokens, names)
    return _applied(lines, edits)


def _chosen(
    words: list[tokenize.TokenInfo], node: ast.AST, what: str, lines: list[str]
) -> list[tokenize.TokenInfo]:
    match what:
        case "all":
            return words
        case "last":
            return words[-1:]
        case "handler" if isinstance(node, ast.ExceptHandler) and node.type:
            after = _span(node.type, lines)[1]
            return [each for each in words if each.start >= after][:1]
        case _:
            return words[:1]


def _span(node: ast.AST, lines: list[str]) -> tuple[_Place, _Place]:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    last, end = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
    return (line, _characters(lines[line - 1], column)), (last, _characters(lines[last - 1], end))


def _characters(line: str, column: int) -> int:
    """A column as people count, from one that counts bytes."""
    return len(line.encode()[:column].decode(errors="ignore"))


def _string_edits(
    tokens: list[tokenize.TokenInfo], names: Mapping[str, str]
) -> dict[_Place, tuple[_Place, str]]:
    """What to change in f-strings, where they are a single token; it is only a guess."""
    word = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)")
    edits: dict[_Place, tuple[_Place, str]] = {}
    for each in tokens:
        if each.type == tokenize.STRING and "f" in each.string.split(each.string[-1], 1)[0].lower():
            parts = re.split(r"(\{\{|\}\}|[{}])", each.string)
            text, depth = parts[0], 0
            for mark, part in zip(parts[1::2], parts[2::2], strict=True):
                depth += {"{": 1, "}": -1}.get(mark, 0)
                text += mark + (word.sub(lambda m: names[m.group()], part) if depth > 0 else part)
            edits[each.start] = (each.end, text)
    return edits


def _applied(lines: list[str], edits: Mapping[_Place, tuple[_Place, str]]) -> str:
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    text = "\n".join(lines)
    places = [
        (begins[start[0] - 1] + start[1], begins[end[0] - 1] + end[1], new)
        for start, (end, new) in sorted(edits.items())
    ]
    ends = [0, *(end for _, end, _ in places)]
    starts = [*(begin for begin, _, _ in places), len(text)]
    news = [*(new for _, _, new in places), ""]
    pairs = zip(ends, starts, news, strict=True)
    return "".join(text[end:start] + new for end, start, new in pairs)
