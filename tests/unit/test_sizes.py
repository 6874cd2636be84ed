"""The bounds on size and shape; they go down, or up by the budget of a change that needs it."""

import ast
from collections import defaultdict
from pathlib import Path

import long_running_agents

PACKAGE = Path(long_running_agents.__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
LONGEST_FILE = 700
LONGEST_FUNCTION = 60
TOTAL_LINES = 86_870
TOTAL_FILES = 342
MODULES_WITH_ONE_IMPORTER = 60


def too_long(source):
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, functions) and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]


def lines(source):
    return len(source.splitlines())


def module(path):
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def importers(sources):
    """Module: the other modules that import it, at any depth of their code."""
    found = defaultdict(set)
    known = {module(path) for path in sources}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    found[whole if whole in known else node.module].add(module(path))
    return {name: found[name] - {name} for name in known}


def shared_names(sources):
    found = defaultdict(int)
    for source in sources.values():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name] += 1
    return {name for name, count in found.items() if count > 1}


def test_every_file_and_function_can_be_read_at_once():
    long_files = {str(path): lines(text) for path, text in SOURCES.items()}
    long_functions = {str(path): too_long(text) for path, text in SOURCES.items()}

    assert {path: count for path, count in long_files.items() if count > LONGEST_FILE} == {}
    assert {path: names for path, names in long_functions.items() if names} == {}


def test_the_whole_stays_within_its_budget():
    assert sum(map(lines, SOURCES.values())) <= TOTAL_LINES
    assert 50 < len(SOURCES) <= TOTAL_FILES


def test_few_modules_serve_one_other_alone():
    alone = [name for name, users in importers(SOURCES).items() if len(users) == 1]

    assert 0 < len(alone) <= MODULES_WITH_ONE_IMPORTER


def test_a_public_class_has_a_name_of_its_own():
    assert shared_names(SOURCES) == set()


def test_a_long_function_is_found():
    assert too_long("def long():\n" + "    pass\n" * LONGEST_FUNCTION) == ["long"]
    assert too_long("def short():\n" + "    pass\n" * (LONGEST_FUNCTION - 1)) == []


def test_an_importer_and_a_shared_name_are_found():
    one, two = PACKAGE / "one.py", PACKAGE / "two.py"
    sources = {
        one: "class Thing: ...",
        two: "from long_running_agents import one\nclass Thing: ...",
    }

    assert importers(sources)["long_running_agents.one"] == {"long_running_agents.two"}
    assert shared_names(sources) == {"Thing"}
