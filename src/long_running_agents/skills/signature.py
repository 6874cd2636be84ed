"""What a function says of itself: its signature as JSON Schemas, and its docstring."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from long_running_agents.domain.skill import Finding, Json, SkillExample
from long_running_agents.skills import python_ast
from long_running_agents.skills.annotations import SchemaReader, UnknownHint, object_schema
from long_running_agents.skills.python_ast import Function

if TYPE_CHECKING:
    from griffe import DocstringSection


_CONTEXTS = ("ctx", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes and returns."""

    parameters: Json
    returns: Json
    """Empty when it can be anything."""
    context: str
    names: tuple[str, ...]
    """The parameters that can be given by their place, in their order, then the others."""
    findings: tuple[Finding, ...]


class SignatureReader:
    """Reads the signature of a function, with what its docstring says of its arguments."""

    def __init__(self, tree: ast.Module, function: Function, described: Mapping[str, str]) -> None:
        self._function = function
        self._described = described
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._aliases = dict(_aliases(tree))
        self._findings: list[Finding] = []

    def read(self) -> Signature:
        """What it takes and returns, and what is wrong with that."""
        given = self._function.args
        self._kinds(given)
        context, parameters = self._context([*given.posonlyargs, *given.args])
        defaults = _defaults(given)
        properties: Json = {}
        required: list[str] = []
        for argument in [*parameters, *given.kwonlyargs]:
            properties[argument.arg] = self._parameter(argument, defaults.get(argument.arg))
            if argument.arg not in defaults:
                required.append(argument.arg)
        return Signature(
            parameters=object_schema(properties, required),
            returns=self._returns(),
            context=context,
            names=tuple(properties),
            findings=tuple(self._findings),
        )

    def _kinds(self, given: ast.arguments) -> None:
        name = self._function.name
        for star, sign, kind in ((given.vararg, "*", "list"), (given.kwarg, "**", "dict")):
            if star:
                message = f"The function {name} takes {sign}{star.arg}, which no schema can tell."
                self._say(message, f"Name every parameter, or take a {kind}.", star)
        for first in given.posonlyargs[:1]:
            why = "has parameters before '/', which cannot be given by name"
            self._say(f"The function {name} {why}.", "Remove the '/'.", first)

    def _context(self, parameters: list[ast.arg]) -> tuple[str, list[ast.arg]]:
        if parameters and parameters[0].arg in _CONTEXTS:
            return parameters[0].arg, parameters[1:]
        for argument in [*parameters, *self._function.args.kwonlyargs]:
            if argument.arg in _CONTEXTS and argument.annotation is None:
                message = f"The context ({argument.arg}) is not the first parameter."
                repair = "Put it first, or give it a type hint if it is an ordinary one."
                self._say(message, repair, argument)
        return "", parameters

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> Json:
        found = self._hinted(argument)
        words = self._described.get(argument.arg, "")
        if words:
            found = {**found, "description": words}
        if default is None:
            return found
        try:
            value: Any = python_ast.literal(default)
        except python_ast.NotPlain as error:
            shown = f"The default of {argument.arg} ({python_ast.shown(default)})"
            repair = "Write a plain value, or None and compute it in the function."
            self._say(f"{shown} cannot stand in a schema: {error}.", repair, default)
            return found
        if value is None and found and not _takes_none(found):
            found = _or_none(found)
        return {**found, "default": value}

    def _hinted(self, argument: ast.arg) -> Json:
        if argument.annotation is not None:
            return self._schema(argument.annotation)
        name = argument.arg
        if name not in _CONTEXTS:
            repair = f"Write its type, such as {name}: str."
            self._say(f"The parameter {name} has no type hint.", repair, argument)
        return {}

    def _returns(self) -> Json:
        if self._function.returns is not None:
            return self._schema(self._function.returns)
        message = f"The function {self._function.name} does not say what it returns."
        self._say(message, "Write it after an arrow, such as -> str.", self._function)
        return {}

    def _schema(self, hint: ast.expr) -> Json:
        try:
            return SchemaReader(self._classes, self._aliases, hint.lineno).read(hint)
        except UnknownHint as error:
            self._findings.append(error.finding)
            return {}

    def _say(self, message: str, repair: str, node: ast.AST) -> None:
        line = getattr(node, "lineno", 0)
        self._findings.append(Finding(message, repair, line))


def _defaults(given: ast.arguments) -> dict[str, ast.expr]:
    positional = [*given.posonlyargs, *given.args]
    with_default = positional[len(positional) - len(given.defaults) :]
    found = {
        argument.arg: value for argument, value in zip(with_default, given.defaults, strict=True)
    }
    for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if value is not None:
            found[argument.arg] = value
    return found


def _aliases(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def _takes_none(schema: Json) -> bool:
    kinds = [branch.get("type") for branch in schema.get("anyOf", [schema])]
    return "null" in kinds or None in schema.get("enum", [])


def _or_none(schema: Json) -> Json:
    words = {key: schema[key] for key in ("description",) if key in schema}
    rest = {key: value for key, value in schema.items() if key not in words}
    branches = rest["anyOf"] if set(rest) == {"anyOf"} else [rest]
    return {"anyOf": [*branches, {"type": "null"}], **words}


_LONGEST = 20_000
"""Characters of a docstring that are read."""
_MOST_EXAMPLES = 20
_LONGEST_EXAMPLE = 4000

_PROMPT = re.compile(r"[ \t]*>>>(?:[ \t](.*))?")
_MORE = re.compile(r"[ \t]*\.\.\.(?:[ \t](.*))?")
_SPHINX = re.compile(r"^[ \t]*:(?:param|parameter|arg|type|returns?|rtype|raises)\b", re.MULTILINE)
_NUMPY = re.compile(
    r"^[ \t]*(?:Parameters|Returns|Examples|Raises)[ \t]*\n[ \t]*-{3,}", re.MULTILINE
)
_HEADING = re.compile(r"\s*(?:Examples?|Usage)\s*:{0,2}\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocstring:
    """What a docstring tells."""

    description: str
    arguments: Mapping[str, str]
    """What is said about each argument that is mentioned."""


def read_docstring(docstring: str) -> ParsedDocstring:
    """Read a docstring in the style of Google, NumPy or Sphinx."""
    text = docstring[:_LONGEST]
    arguments: dict[str, str] = {}
    paragraphs: list[str] = []
    for section in _sections(text):
        kind = section.kind.value
        if kind == "text":
            paragraphs.append(_without_examples(str(section.value)))
        elif kind == "admonition" and section.value.kind not in ("example", "examples", "usage"):
            paragraphs.append(f"{section.title}: {_without_examples(section.value.contents)}")
        elif kind in ("parameters", "other parameters"):
            for parameter in section.value:
                words = " ".join(str(parameter.description).split())
                arguments.setdefault(str(parameter.name).lstrip("*"), words)
    description = "\n\n".join(filter(None, (paragraph.strip() for paragraph in paragraphs)))
    return ParsedDocstring(description=description, arguments=arguments)


def examples_in(
    docstring: str, function: str, parameters: Sequence[str], *, context: str = ""
) -> tuple[SkillExample, ...]:
    """The calls that a docstring shows; those that are not written out are passed over."""
    found: list[SkillExample] = []
    for call, expected in _shown_calls(docstring[:_LONGEST]):
        example = _example(call, expected, function, parameters, context)
        if example is not None and example not in found:
            found.append(example)
    return tuple(found[:_MOST_EXAMPLES])


def _sections(text: str) -> "Sequence[DocstringSection]":
    import griffe  # noqa: PLC0415 - takes a while, and only a review needs it

    docstring = griffe.Docstring(text)
    try:
        # Its own way to tell the styles apart overlooks a single ":param".
        if _SPHINX.search(text):
            return griffe.parse_sphinx(docstring, warnings=False)
        if _NUMPY.search(text):
            return griffe.parse_numpy(docstring, warnings=False)
        return griffe.parse_google(docstring, warnings=False)
    except Exception:  # noqa: BLE001 - a foreign parser on foreign text; the text itself is enough
        return [griffe.DocstringSectionText(text)]


def _without_examples(text: str) -> str:
    """A text without its calls, their results, and the heading above them."""
    kept: list[str] = []
    in_example = False
    for line in text.split("\n"):
        if _PROMPT.fullmatch(line):
            if not in_example:
                while kept and (not kept[-1].strip() or _HEADING.fullmatch(kept[-1])):
                    kept.pop()
            in_example = True
        elif not line.strip():
            in_example = False
            kept.append("")
        elif not in_example:
            kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _shown_calls(text: str) -> Iterator[tuple[str, str]]:
    """Each statement after a prompt, with what is printed below it."""
    statement: list[str] | None = None
    printed: list[str] = []
    for line in [*text.split("\n"), ""]:
        prompt, more = _PROMPT.fullmatch(line), _MORE.fullmatch(line)
        if statement is not None and more and not printed:
            statement.append(more[1] or "")
        elif statement is not None and not prompt and line.strip():
            printed.append(line.strip())
        else:
            if statement is not None:
                yield "\n".join(statement), "\n".join(printed)
            statement, printed = ([prompt[1] or ""] if prompt else None), []


def _example(
    call: str, expected: str, function: str, parameters: Sequence[str], context: str
) -> SkillExample | None:
    if max(len(call), len(expected)) > _LONGEST_EXAMPLE or not expected:
        return None
    node = python_ast.expression(call)
    node = node.value if isinstance(node, ast.Await) else node
    result = python_ast.expression(expected)
    if not isinstance(node, ast.Call) or result is None or getattr(node.func, "id", "") != function:
        return None
    try:
        args = _arguments(node, parameters, context)
        return SkillExample(args=args, result=python_ast.literal(result), checked=True)
    except python_ast.NotPlain:
        return None


def _arguments(node: ast.Call, parameters: Sequence[str], context: str) -> dict[str, Any]:
    given = node.args
    if context and given and getattr(given[0], "id", "") in (context, "ctx", "context"):
        given = given[1:]
    if len(given) > len(parameters):
        raise python_ast.NotPlain("more is given than is taken")
    found = {
        name: python_ast.literal(value) for name, value in zip(parameters, given, strict=False)
    }
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in parameters or keyword.arg in found:
            raise python_ast.NotPlain("an argument is not known, or is there twice")
        found[keyword.arg] = python_ast.literal(keyword.value)
    return found
