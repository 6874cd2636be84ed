"""The review of a function: what its source alone says about it, as findings and an interface."""

import ast
import json
import keyword
from collections.abc import Collection, Iterator
from dataclasses import replace

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import (
    MOST_FINDINGS,
    NAME,
    Finding,
    Interface,
    Json,
    Severity,
    SkillDraft,
    SkillExample,
    SkillReview,
    at_most,
)
from long_running_agents.skills import annotations, lint, python_ast
from long_running_agents.skills.python_ast import Function, called, last_name, shown
from long_running_agents.skills.signature import (
    Signature,
    SignatureReader,
    examples_in,
    read_docstring,
)
from long_running_agents.skills.trial import complaints, sample_calls

_QUIET = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
    ast.AnnAssign, ast.AugAssign, ast.Pass,
)  # fmt: skip
_WRAPPERS = frozenset({"cache", "lru_cache", "wraps"})
_DECORATORS = _WRAPPERS | {
    "dataclass", "staticmethod", "classmethod", "property", "cached_property", "abstractmethod",
    "overload", "setter", "total_ordering", "contextmanager", "asynccontextmanager", "unique",
    "final",
}  # fmt: skip


def target(tree: ast.Module, *, function: str, name: str) -> Function | Finding:
    """The function that is the tool: the one that was named, or that is called as the tool is."""
    found = [node for node in tree.body if isinstance(node, Function)]
    public = [node for node in found if not node.name.startswith("_")]
    if function:
        chosen = [node for node in found if node.name == function]
        if not chosen:
            names = ", ".join(dict.fromkeys(node.name for node in found))
            there = f"There is: {names}." if names else "There is none at the top level."
            message = f"The source has no function {function}."
            return Finding(message, f"{there} Name one of the source.")
    else:
        chosen = [node for node in public if node.name == name] or public[-1:]
        chosen = [node for node in public if node.name == chosen[0].name] if chosen else []
    if not chosen:
        repair = "Write one at the top level: def name(argument: str) -> str: …"
        return Finding("The source has no function that could be the tool.", repair)
    bodies = [node for node in chosen if "overload" not in map(called, node.decorator_list)]
    if len(bodies) > 1:
        message = f"The function {bodies[0].name} is defined {len(bodies)} times."
        repair = "Keep one of them, and give the others names of their own."
        return Finding(message, repair, bodies[1].lineno)
    return (bodies or chosen)[-1]


def running(tree: ast.Module) -> Iterator[Finding]:
    """Statements that would run when the tool is defined."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    named = [("the tool", tree), *((f"the class {node.name}", node) for node in classes)]
    for what, node in named:
        for statement in node.body:
            if not _at_rest(statement):
                yield _runs(statement, f"{what} is defined")


def decorators(tree: ast.Module, chosen: Function | None) -> Iterator[Finding]:
    """Decorators that are not known, or that make a tool something else."""
    for node in ast.walk(tree):
        if not isinstance(node, Function | ast.ClassDef):
            continue
        known = _WRAPPERS if node is chosen else _DECORATORS
        for decorator in node.decorator_list:
            if called(decorator) not in known:
                why = "it would run when the tool is defined"
                if node is chosen:
                    why = "only cache, lru_cache and wraps leave a tool what it is"
                message = f"The decorator @{shown(decorator)} of {node.name} may not be used."
                yield Finding(message, f"Remove it: {why}.", decorator.lineno)


def _at_rest(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=value)):
            return isinstance(value, str) or value is ...
        case ast.If(test=test, body=body, orelse=orelse) if last_name(test) == "TYPE_CHECKING":
            return all(map(_at_rest, [*body, *orelse]))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            handled = [inner for handler in handlers for inner in handler.body]
            parts = [*body, *handled, *orelse, *finalbody]
            return all(isinstance(part, ast.Import | ast.ImportFrom) for part in body) and all(
                map(_at_rest, parts)
            )
        case _:
            # A "type" statement is only known to newer Pythons.
            return isinstance(statement, _QUIET) or type(statement).__name__ == "TypeAlias"


def _runs(statement: ast.stmt, when: str) -> Finding:
    shape = type(statement).__name__.lower()
    if isinstance(statement, ast.If) and "__name__" in shown(statement.test):
        message = "The part under 'if __name__ == …' is for programs, and this is a tool."
        repair = "Remove it; put a call into the docstring as an example: >>> name(1)"
    elif isinstance(statement, ast.Expr):
        message = f"The statement {shown(statement)} runs when {when}."
        repair = "Remove it, or move it into the function."
    else:
        message = f"A statement ({shape}) runs when {when}."
        repair = "Move it into a function; only imports, definitions and assignments stand here."
    return Finding(message, repair, statement.lineno)


_MOST_EXAMPLES = 50


def review(
    draft: SkillDraft,
    *,
    allowed_imports: Collection[str],
    reserved: Collection[str],
    redact: Redactor,
) -> SkillReview:
    """Look at a function; nothing of it is run."""
    return _Review(draft, frozenset(allowed_imports), frozenset(reserved), redact).result()


class _Review:
    def __init__(
        self, draft: SkillDraft, allowed: frozenset[str], reserved: frozenset[str], redact: Redactor
    ) -> None:
        self._draft = draft
        self._allowed = allowed
        self._reserved = reserved
        self._redact = redact
        self._findings: list[Finding] = []

    def result(self) -> SkillReview:
        tree, problems = python_ast.read(self._draft.source)
        self._findings.extend(problems)
        if len(self._draft.source) <= python_ast.LARGEST:
            self._findings.extend(_secrets(self._draft, self._redact))
        if tree is None:
            return self._reviewed(self._draft.name, None, ())
        chosen = target(tree, function=self._draft.function, name=self._draft.name)
        if isinstance(chosen, Finding):
            self._findings.extend([chosen, *self._whole(tree, None)])
            return self._reviewed(self._draft.name, None, ())
        self._findings.extend(self._whole(tree, chosen))
        return self._function(tree, chosen)

    def _whole(self, tree: ast.Module, function: Function | None) -> Iterator[Finding]:
        """What is wrong anywhere in the source."""
        yield from running(tree)
        yield from decorators(tree, function)
        safe = self._draft.safe_mode
        yield from lint.imports(tree, self._allowed if safe else None)
        severity = Severity.ERROR if safe else Severity.WARNING
        try:
            used = python_ast.module_names(self._draft.source).used
        except SyntaxError as error:
            yield python_ast.no_python(error)
            return
        for finding in [*lint.reaching(tree, used), *lint.places(tree)]:
            yield replace(finding, severity=severity)

    def _function(self, tree: ast.Module, function: Function) -> SkillReview:
        name = self._draft.name or function.name
        self._findings.extend(_name_problems(name, function.lineno, self._reserved))
        docstring = ast.get_docstring(function) or ""
        docs = read_docstring(docstring)
        signature = SignatureReader(tree, function, docs.arguments).read()
        self._findings.extend(signature.findings)
        self._findings.extend(_promises(self._draft, function, signature))
        description = self._draft.description.strip() or docs.description
        if not description:
            message = f"The function {function.name} has no docstring: nobody knows what it is for."
            repair = 'Begin it with """What it does, in a sentence."""'
            self._findings.append(Finding(message, repair, function.lineno))
        interface = Interface(
            function=function.name,
            description=description,
            parameters=self._parameters(signature, function.lineno),
            returns=self._joined(signature.returns, self._draft.output_schema, "output schema")
            or None,
            is_async=isinstance(function, ast.AsyncFunctionDef),
            context=signature.context,
        )
        shown = examples_in(docstring, function.name, signature.names, context=signature.context)
        return self._reviewed(name, interface, shown)

    def _parameters(self, signature: Signature, line: int) -> Json:
        found = self._joined(signature.parameters, self._draft.input_schema, "input schema")
        for name, schema in found["properties"].items():
            if "default" in schema and complaints(schema, schema["default"]):
                message = f"The default of {name} does not fit its type."
                repair = "Correct the default or the type hint."
                self._findings.append(Finding(message, repair, line))
        return found

    def _joined(self, ours: Json, given: Json | None, what: str) -> Json:
        looked = {} if given is None else annotations.looked_at(given, what)
        if isinstance(looked, Finding):
            self._findings.append(looked)
            return ours
        try:
            if what == "input schema":
                return annotations.joined_input(ours, looked)
            return annotations.joined(ours, looked, "the result")
        except annotations.Disagreement as error:
            message = f"The declared {what} and the signature disagree: {error}."
            repair = "Change one of them, or leave the schema out."
            self._findings.append(Finding(message, repair))
            return ours

    def _examples(
        self, interface: Interface, shown: tuple[SkillExample, ...]
    ) -> tuple[SkillExample, ...]:
        given = [*self._draft.examples, *shown][:_MOST_EXAMPLES]
        found: list[SkillExample] = []
        for example in [*given, *sample_calls(interface.parameters)]:
            if all(example.args != other.args for other in found):
                found.append(example)
        return tuple(found)

    def _own_examples(self, interface: Interface) -> Iterator[Finding]:
        """Calls of the draft that the function cannot be called with."""
        for number, example in enumerate(self._draft.examples, start=1):
            if why := _unusable(example) or complaints(interface.parameters, example.args):
                message = f"Example {number} does not fit the function: {why}."
                repair = "Give the arguments by the names and types of the signature."
                yield Finding(message, repair)

    def _reviewed(
        self, name: str, interface: Interface | None, shown: tuple[SkillExample, ...]
    ) -> SkillReview:
        errors = [each for each in self._findings if each.severity is Severity.ERROR]
        if interface is not None and not errors:
            errors = list(self._own_examples(interface))
            self._findings.extend(errors)
        findings = _in_order(self._findings, self._redact)
        if interface is None or errors:
            return SkillReview(name=name, interface=None, findings=findings)
        examples = self._examples(interface, shown)
        return SkillReview(name=name, interface=interface, findings=findings, examples=examples)


def _name_problems(name: str, line: int, reserved: frozenset[str]) -> Iterator[Finding]:
    if not NAME.fullmatch(name):
        repair = "Use 2 to 64 small letters, digits and _, beginning with a letter."
        yield Finding(f"{name[:80]!r} cannot be the name of a tool.", repair, line)
    elif keyword.iskeyword(name):
        yield Finding(f"{name!r} is a word of Python.", "Choose another name.", line)
    elif name in reserved:
        message = f"There is a built-in tool {name} already; no skill can replace it."
        yield Finding(message, "Choose another name.", line)


def _promises(draft: SkillDraft, function: Function, signature: Signature) -> Iterator[Finding]:
    """What the draft says about its function, and the source does not."""
    is_async = isinstance(function, ast.AsyncFunctionDef)
    if draft.is_async is not None and draft.is_async != is_async:
        said = "async, and was said not to be" if is_async else "not async, and was said to be"
        repair = f"Write {'def' if is_async else 'async def'}, or correct is_async."
        yield Finding(f"The function {function.name} is {said}.", repair, function.lineno)
    takes = bool(signature.context)
    if draft.requires_context is not None and draft.requires_context != takes:
        said = "a context, and was said not to" if takes else "no context, and was said to"
        repair = "Make ctx its first parameter, or correct requires_context."
        if takes:
            repair = "Correct requires_context, or rename the parameter."
        yield Finding(f"The function {function.name} takes {said}.", repair, function.lineno)


def _secrets(draft: SkillDraft, redact: Redactor) -> Iterator[Finding]:
    repair = "Remove it, and change the secret: whoever wrote it here has seen it."
    if redact(draft.source) != draft.source:
        lines = draft.source.split("\n")
        found = [number for number, line in enumerate(lines, start=1) if redact(line) != line]
        for line in found or [0]:
            yield Finding("There is a secret in the source.", repair, line)
    calls = [value for example in draft.examples for value in (example.args, example.result)]
    beside = [draft.description, draft.label, draft.input_schema, draft.output_schema, *calls]
    if any(redact(text) != text for text in map(_text, beside)):
        yield Finding("There is a secret in the description, an example or a schema.", repair)


def _text(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        return ""


def _unusable(example: SkillExample) -> str:
    try:
        python_ast.plain(example.args)
        python_ast.plain(example.result)
    except (python_ast.NotPlain, RecursionError):
        return "it is no JSON"
    return ""


def _in_order(findings: list[Finding], redact: Redactor) -> tuple[Finding, ...]:
    """Each once, by line, without secrets, and no more than can be read."""
    clean = dict.fromkeys(
        replace(one, message=redact(one.message), repair=redact(one.repair)) for one in findings
    )
    worst_first = sorted(clean, key=lambda one: (one.severity is not Severity.ERROR, one.line))
    kept = at_most(worst_first)
    counted = kept[MOST_FINDINGS:]
    return (*sorted(kept[:MOST_FINDINGS], key=lambda one: one.line), *counted)
