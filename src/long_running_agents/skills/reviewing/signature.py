"""The signature of a function as JSON Schemas."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from long_running_agents.domain.skill import Finding, Json
from long_running_agents.skills import bindings
from long_running_agents.skills.bindings import Function
from long_running_agents.skills.reviewing import syntax
from long_running_agents.skills.reviewing.annotations import UnknownHint, schema_of
from long_running_agents.skills.validating import complaints

_CONTEXTS = ("ctx", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes and returns."""

    parameters: Json
    returns: Json | None
    context: str
    names: tuple[str, ...]
    """The parameters that can be given by their place, in their order, then the others."""
    findings: tuple[Finding, ...]


def signature_of(tree: ast.Module, function: Function, described: Mapping[str, str]) -> Signature:
    """Read a signature.

    Args:
        tree: The source that the function is in.
        function: The function.
        described: What its docstring says about its arguments.
    """
    return _Signature(tree, function, described).read()


class _Signature:
    def __init__(self, tree: ast.Module, function: Function, described: Mapping[str, str]) -> None:
        self._function = function
        self._described = described
        self._classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._aliases = dict(_aliases(tree))
        self._findings: list[Finding] = []

    def read(self) -> Signature:
        given = self._function.args
        self._kinds(given)
        context, parameters = self._context([*given.posonlyargs, *given.args])
        defaults = _defaults(given)
        properties: Json = {}
        required: list[str] = []
        for argument in [*parameters, *given.kwonlyargs]:
            if argument.arg in properties or argument.arg == context:
                self._say(f"The parameter {argument.arg} is there twice.", "Rename one.", argument)
            properties[argument.arg] = self._parameter(argument, defaults.get(argument.arg))
            if argument.arg not in defaults:
                required.append(argument.arg)
        schema: Json = {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }
        return Signature(
            parameters=schema,
            returns=self._returns(),
            context=context,
            names=tuple(properties),
            findings=tuple(self._findings),
        )

    def _kinds(self, given: ast.arguments) -> None:
        name = self._function.name
        for star, sign in ((given.vararg, "*"), (given.kwarg, "**")):
            if star:
                kind = "list" if sign == "*" else "dict"
                self._say(
                    f"The function {name} takes {sign}{star.arg}, which no schema can tell.",
                    f"Name every parameter, or take a {kind}.",
                    star,
                )
        if given.posonlyargs:
            self._say(
                f"The function {name} has parameters before '/', which cannot be given by name.",
                "Remove the '/'.",
                given.posonlyargs[0],
            )

    def _context(self, parameters: list[ast.arg]) -> tuple[str, list[ast.arg]]:
        if parameters and parameters[0].arg in _CONTEXTS:
            return parameters[0].arg, parameters[1:]
        for argument in bindings.parameters(self._function):
            if argument.arg in _CONTEXTS and argument.annotation is None:
                self._say(
                    f"The context ({argument.arg}) is not the first parameter.",
                    "Put it first, or give it a type hint if it is an ordinary one.",
                    argument,
                )
        return "", parameters

    def _parameter(self, argument: ast.arg, default: ast.expr | None) -> Json:
        found = self._hinted(argument)
        words = self._described.get(argument.arg, "")
        if words:
            found = {**found, "description": words}
        if default is None:
            return found
        try:
            value: Any = syntax.literal(default)
        except syntax.NotPlain as error:
            self._say(
                f"The default of {argument.arg} ({syntax.shown(default)}) cannot stand in a "
                f"schema: {error}.",
                "Write a plain value, or None and compute it in the function.",
                default,
            )
            return found
        if value is None and found and not _takes_none(found):
            found = _or_none(found)
        return {**found, "default": value}

    def _hinted(self, argument: ast.arg) -> Json:
        if argument.annotation is None:
            if argument.arg not in _CONTEXTS:
                self._say(
                    f"The parameter {argument.arg} has no type hint.",
                    f"Write its type, such as {argument.arg}: str.",
                    argument,
                )
            return {}
        return self._schema(argument.annotation)

    def _returns(self) -> Json | None:
        if self._function.returns is None:
            self._say(
                f"The function {self._function.name} does not say what it returns.",
                "Write it after an arrow, such as -> str.",
                self._function,
            )
            return None
        return self._schema(self._function.returns) or None

    def _schema(self, hint: ast.expr) -> Json:
        try:
            return schema_of(hint, self._classes, self._aliases)
        except UnknownHint as error:
            self._findings.append(error.finding)
            return {}

    def _say(self, message: str, repair: str, node: ast.AST) -> None:
        line = getattr(node, "lineno", 0)
        self._findings.append(Finding(message=message, repair=repair, line=line))


def misfits(parameters: Json, line: int) -> Iterator[Finding]:
    """Defaults that are not what the schema of their parameter says."""
    for name, schema in parameters["properties"].items():
        if "default" in schema and complaints(schema, schema["default"]):
            yield Finding(
                message=f"The default of {name} does not fit its type.",
                repair="Correct the default or the type hint.",
                line=line,
            )


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
