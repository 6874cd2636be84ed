import ast
from pathlib import Path

import pytest

import long_running_agents

PACKAGE = Path(long_running_agents.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 60


def too_long(source):
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, functions) and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_file_and_function_fits_a_readers_head(path):
    source = path.read_text(encoding="utf-8")

    assert len(source.splitlines()) <= LONGEST_FILE
    assert too_long(source) == []


def test_a_long_function_is_found():
    assert too_long("def long():\n" + "    pass\n" * LONGEST_FUNCTION) == ["long"]
    assert too_long("def short():\n" + "    pass\n" * (LONGEST_FUNCTION - 1)) == []


def test_there_are_files_to_look_at():
    assert len(FILES) > 50
