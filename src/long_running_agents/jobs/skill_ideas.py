"""Skill ideas: a function that the agent wrote and used, as a draft with its own calls as tests."""

import ast
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from long_running_agents.domain.reflection import result_of, stands_in
from long_running_agents.domain.skill import SkillCreator, SkillDraft, SkillExample, SkillOrigin
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.skills import python_ast
from long_running_agents.skills.python_ast import Function

CODE = ("execute_code", "pyexe")
"""The tools whose code a skill is made of."""
_LEAST = 2
"""Turns in which it worked."""
_MOST = 5


def draft_of(calls: Sequence[ToolCallRecord], quote: str, description: str) -> SkillDraft | str:
    """A function of a session's code that a quotation names, or why there is none.

    Only calls that worked count; it has to have worked in two turns.
    """
    ran = [(call, tree) for call in calls if (tree := _tree(call)) is not None]
    for call, tree in reversed(ran):
        code = str(call.arguments["code"])
        for node in tree.body:
            source = ast.get_source_segment(code, node) or ""
            if not isinstance(node, Function) or not (
                stands_in(quote, source) or stands_in(source, quote)
            ):
                continue
            used = [(each, made) for each, tree in ran for made in _examples(each, tree, node)]
            if len({each.turn_id for each, _ in used}) < _LEAST:
                return f"{node.name} has not worked in two turns"
            imports = [
                ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)
            ]
            return SkillDraft(
                source="\n".join([*imports, "", "", source, ""]).lstrip(),
                function=node.name,
                description=description,
                examples=tuple(example for _, example in used[-_MOST:]),
                brought=SkillOrigin(origin=SkillCreator.REFLECTION, turn_id=call.turn_id),
            )
    return "no code that worked defines it: an idea alone is no skill"


def _tree(call: ToolCallRecord) -> ast.Module | None:
    code = call.arguments.get("code")
    if call.state is not CallState.DONE or call.tool not in CODE or not isinstance(code, str):
        return None
    return python_ast.read(code)[0]


def _examples(
    call: ToolCallRecord, tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[SkillExample]:
    """The calls of a function with plain values; what the last one gave back is known."""
    names = [each.arg for each in function.args.args]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or python_ast.called(node) != function.name:
            continue
        try:
            values = [ast.literal_eval(each) for each in node.args]
            named = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
            args = {**dict(zip(names, values, strict=False)), **named}
        except python_ast.UNREADABLE:
            continue
        last = tree.body[-1]
        shown = isinstance(last, ast.Expr) and last.value is node
        value, known = _value(result_of(call)) if shown else (None, False)
        yield SkillExample(args=args, result=value, checked=known)


def _value(shown: str) -> tuple[JsonValue, bool]:
    """What a result shows, and whether it is a plain value and nothing besides."""
    try:
        return ast.literal_eval(shown.strip()), True
    except python_ast.UNREADABLE:
        return None, False
