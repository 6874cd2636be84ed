"""What a docstring tells: what the tool does, what its arguments are, and calls to try."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from long_running_agents.domain.skill import Example
from long_running_agents.skills.reviewing import syntax

if TYPE_CHECKING:
    from griffe import DocstringSection

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
class Told:
    """What a docstring tells."""

    description: str
    arguments: Mapping[str, str]
    """What is said about each argument that is mentioned."""


def told(docstring: str) -> Told:
    """Read a docstring in the style of Google, NumPy or Sphinx.

    Args:
        docstring: The text, without its indentation.
    """
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
    return Told(description=description, arguments=arguments)


def examples(
    docstring: str, function: str, parameters: Sequence[str], *, context: str = ""
) -> tuple[Example, ...]:
    """The calls that a docstring shows; those that are not written out are passed over.

    Args:
        docstring: The text.
        function: The name of the function that is called.
        parameters: The names of its parameters, in their order.
        context: The parameter that is not among them, if the function takes a context.
    """
    found: list[Example] = []
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
) -> Example | None:
    if max(len(call), len(expected)) > _LONGEST_EXAMPLE or not expected:
        return None
    node = syntax.expression(call)
    node = node.value if isinstance(node, ast.Await) else node
    result = syntax.expression(expected)
    if not isinstance(node, ast.Call) or result is None or getattr(node.func, "id", "") != function:
        return None
    try:
        args = _arguments(node, parameters, context)
        return Example(args=args, result=syntax.literal(result), checked=True)
    except syntax.NotPlain:
        return None


def _arguments(node: ast.Call, parameters: Sequence[str], context: str) -> dict[str, Any]:
    given = node.args
    if context and given and getattr(given[0], "id", "") in (context, "ctx", "context"):
        given = given[1:]
    if len(given) > len(parameters):
        raise syntax.NotPlain("more is given than is taken")
    found = {name: syntax.literal(value) for name, value in zip(parameters, given, strict=False)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in parameters or keyword.arg in found:
            raise syntax.NotPlain("an argument is not known, or is there twice")
        found[keyword.arg] = syntax.literal(keyword.value)
    return found
