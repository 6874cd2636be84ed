"""The review of a function: what can be said about it from its source alone."""

import ast
import json
import keyword
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import (
    NAME,
    Draft,
    Examined,
    Example,
    Finding,
    Interface,
    Json,
    Severity,
)
from long_running_agents.skills.bindings import Function
from long_running_agents.skills.reviewing import (
    declared,
    deriving,
    docstrings,
    imports,
    layout,
    syntax,
)
from long_running_agents.skills.reviewing.places import places
from long_running_agents.skills.reviewing.reaching import reaching
from long_running_agents.skills.reviewing.signature import Signature, misfits, signature_of
from long_running_agents.skills.validating import complaints

_MOST_FINDINGS = 50
_MOST_EXAMPLES = 50


def review(
    draft: Draft, *, allowed_imports: Collection[str], reserved: Collection[str], redact: Redactor
) -> Examined:
    """Look at a function; nothing of it is run.

    Args:
        draft: What somebody wishes to be a tool.
        allowed_imports: Modules that it may import in safe mode; each with its submodules.
        reserved: Names that no skill may have.
        redact: Knows the secrets that no source may hold.
    """
    return _Review(draft, frozenset(allowed_imports), frozenset(reserved), redact).result()


class _Review:
    def __init__(
        self, draft: Draft, allowed: frozenset[str], reserved: frozenset[str], redact: Redactor
    ) -> None:
        self._draft = draft
        self._allowed = allowed
        self._reserved = reserved
        self._redact = redact
        self._findings: list[Finding] = []

    def result(self) -> Examined:
        tree, problems = syntax.read(self._draft.source)
        self._findings.extend(problems)
        if len(self._draft.source) <= syntax.LARGEST:
            self._findings.extend(_secrets(self._draft, self._redact))
        if tree is None:
            return self._reviewed(self._draft.name, None, ())
        chosen = layout.target(tree, function=self._draft.function, name=self._draft.name)
        function = None if isinstance(chosen, Finding) else chosen
        if isinstance(chosen, Finding):
            self._findings.append(chosen)
        self._findings.extend(self._whole(tree, function))
        if function is None:
            return self._reviewed(self._draft.name, None, ())
        return self._function(tree, function)

    def _whole(self, tree: ast.Module, function: Function | None) -> Iterator[Finding]:
        """What is wrong anywhere in the source."""
        yield from layout.running(tree)
        yield from layout.decorators(tree, function)
        yield from layout.flow(tree, function)
        yield from imports.unclear(tree)
        safe = self._draft.safe_mode
        if safe:
            yield from imports.outside(tree, self._allowed)
        severity = Severity.ERROR if safe else Severity.WARNING
        for finding in [*reaching(tree), *places(tree)]:
            yield replace(finding, severity=severity)

    def _function(self, tree: ast.Module, function: Function) -> Examined:
        name = self._draft.name or function.name
        self._findings.extend(_name_problems(name, function.lineno, self._reserved))
        docstring = ast.get_docstring(function) or ""
        told = docstrings.told(docstring)
        signature = signature_of(tree, function, told.arguments)
        self._findings.extend(signature.findings)
        self._findings.extend(_promises(self._draft, function, signature))
        description = self._draft.description.strip() or told.description
        if not description:
            self._error(
                f"The function {function.name} has no docstring: nobody knows what it is for.",
                'Begin it with """What it does, in a sentence."""',
                function.lineno,
            )
        interface = Interface(
            function=function.name,
            description=description,
            parameters=self._parameters(signature, function.lineno),
            returns=self._returns(signature),
            is_async=isinstance(function, ast.AsyncFunctionDef),
            context=signature.context,
        )
        shown = docstrings.examples(
            docstring, function.name, signature.names, context=signature.context
        )
        return self._reviewed(name, interface, shown)

    def _parameters(self, signature: Signature, line: int) -> Json:
        found = signature.parameters
        if self._draft.input_schema is not None:
            found = self._joined(found, self._draft.input_schema, "input schema")
        self._findings.extend(misfits(found, line))
        return found

    def _returns(self, signature: Signature) -> Json | None:
        if self._draft.output_schema is None:
            return signature.returns
        return self._joined(signature.returns or {}, self._draft.output_schema, "output schema")

    def _joined(self, ours: Json, given: Json, what: str) -> Json:
        looked = declared.looked_at(given, what)
        if isinstance(looked, Finding):
            self._findings.append(looked)
            return ours
        try:
            if what == "input schema":
                return declared.joined_input(ours, looked)
            return declared.joined(ours, looked, "the result")
        except declared.Disagreement as error:
            message = f"The declared {what} and the signature disagree: {error}."
            self._error(message, "Change one of them, or leave the schema out.")
            return ours

    def _examples(self, interface: Interface, shown: tuple[Example, ...]) -> tuple[Example, ...]:
        given: list[Example] = []
        for example in [*self._draft.examples, *shown][:_MOST_EXAMPLES]:
            if all(example.args != other.args for other in given):
                given.append(example)
        made = deriving.derived(interface.parameters)
        fresh = [one for one in made if all(one.args != other.args for other in given)]
        return (*given, *fresh)

    def _own_examples(self, interface: Interface) -> Iterator[Finding]:
        """Calls of the draft that the function cannot be called with."""
        for number, example in enumerate(self._draft.examples, start=1):
            why = _unusable(example) or complaints(interface.parameters, example.args)
            if why:
                yield Finding(
                    message=f"Example {number} does not fit the function: {why}.",
                    repair="Give the arguments by the names and types of the signature.",
                )

    def _error(self, message: str, repair: str, line: int = 0) -> None:
        self._findings.append(Finding(message=message, repair=repair, line=line))

    def _reviewed(
        self, name: str, interface: Interface | None, shown: tuple[Example, ...]
    ) -> Examined:
        if interface is not None and not self._has_errors():
            self._findings.extend(self._own_examples(interface))
        findings = _in_order(self._findings, self._redact)
        if interface is None or any(one.severity is Severity.ERROR for one in findings):
            return Examined(name=name, interface=None, findings=findings)
        examples = self._examples(interface, shown)
        return Examined(name=name, interface=interface, findings=findings, examples=examples)

    def _has_errors(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self._findings)


def _name_problems(name: str, line: int, reserved: frozenset[str]) -> Iterator[Finding]:
    if not NAME.fullmatch(name):
        yield Finding(
            message=f"{name[:80]!r} cannot be the name of a tool.",
            repair="Use 2 to 64 small letters, digits and _, beginning with a letter.",
            line=line,
        )
    elif keyword.iskeyword(name):
        yield Finding(
            message=f"{name!r} is a word of Python.", repair="Choose another name.", line=line
        )
    elif name in reserved:
        yield Finding(
            message=f"There is a built-in tool {name} already; no skill can replace it.",
            repair="Choose another name.",
            line=line,
        )


def _promises(draft: Draft, function: Function, signature: Signature) -> Iterator[Finding]:
    """What the draft says about its function, and the source does not."""
    is_async = isinstance(function, ast.AsyncFunctionDef)
    if draft.is_async is not None and draft.is_async != is_async:
        yield Finding(
            message=f"The function {function.name} is {'' if is_async else 'not '}async, and "
            f"was said {'not ' if is_async else ''}to be.",
            repair=f"Write {'def' if is_async else 'async def'}, or correct is_async.",
            line=function.lineno,
        )
    takes = bool(signature.context)
    if draft.requires_context is not None and draft.requires_context != takes:
        yield Finding(
            message=f"The function {function.name} takes {'a' if takes else 'no'} context, and "
            f"was said {'not ' if takes else ''}to.",
            repair="Correct requires_context, or rename the parameter."
            if takes
            else "Make ctx its first parameter, or correct requires_context.",
            line=function.lineno,
        )


def _secrets(draft: Draft, redact: Redactor) -> Iterator[Finding]:
    repair = "Remove it, and change the secret: whoever wrote it here has seen it."
    if redact(draft.source) != draft.source:
        lines = draft.source.split("\n")
        found = [number for number, line in enumerate(lines, start=1) if redact(line) != line]
        for line in found or [0]:
            yield Finding(message="There is a secret in the source.", repair=repair, line=line)
    beside = _text([draft.description, draft.label, *_calls(draft)])
    schemas = _text([draft.input_schema, draft.output_schema])
    if any(redact(text) != text for text in (beside, schemas)):
        yield Finding(
            message="There is a secret in the description, an example or a schema.", repair=repair
        )


def _calls(draft: Draft) -> list[Any]:
    return [value for example in draft.examples for value in (example.args, example.result)]


def _text(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        return ""


def _unusable(example: Example) -> str:
    try:
        syntax.plain(example.args)
        syntax.plain(example.result)
    except (syntax.NotPlain, RecursionError):
        return "it is no JSON"
    return ""


def _in_order(findings: list[Finding], redact: Redactor) -> tuple[Finding, ...]:
    """Each once, by line, without secrets, and no more than can be read."""
    clean = dict.fromkeys(
        replace(one, message=redact(one.message), repair=redact(one.repair)) for one in findings
    )
    ordered = sorted(clean, key=lambda one: (one.severity is not Severity.ERROR, one.line))
    if len(ordered) <= _MOST_FINDINGS:
        return tuple(sorted(ordered, key=lambda one: one.line))
    left_out = len(ordered) - _MOST_FINDINGS
    more = Finding(
        message=f"There are {left_out} more findings.",
        repair="Mend these first.",
        severity=ordered[_MOST_FINDINGS].severity,
    )
    return (*sorted(ordered[:_MOST_FINDINGS], key=lambda one: one.line), more)
