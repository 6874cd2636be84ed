"""Bad candidates that a reader sees through: their form, their imports, their names."""

from tests.contract.skills.candidate import Candidate

_DOUBLED = '''
def {name}(number: int) -> int:
    """Twice a number."""
    return 2 * number
'''

SYNTAX = [
    Candidate(
        "no_colon",
        '''
        def no_colon(number: int) -> int
            """Twice a number."""
            return 2 * number
        ''',
        "a colon is missing",
        "line 1: This is no Python: expected ':'",
    ),
    Candidate(
        "bad_indent",
        '''
        def bad_indent(number: int) -> int:
            """Twice a number."""
              return 2 * number
        ''',
        "a line is indented for no reason",
        "line 3: This is no Python: unexpected indent",
    ),
    Candidate(
        "open_bracket",
        '''
        def open_bracket(numbers: list[int]) -> int:
            """The sum of numbers."""
            return sum((number for number in numbers)
        ''',
        "a bracket is never closed",
        "'(' was never closed",
    ),
    Candidate(
        "no_python",
        """
        function no_python(number) {
          return 2 * number;
        }
        """,
        "another language",
        "This is no Python",
    ),
    Candidate(
        "hidden_text",
        '''
        def hidden_text(number: int) -> int:
            """Twice a number."""
            return 2 * number  # \u202e tsil eht no
        ''',
        "a character that turns the text around",
        "cannot be seen is in the source: U+202E",
    ),
    Candidate(
        "too_deep",
        f'''
        def too_deep(number: int) -> int:
            """A number in many brackets."""
            return {"-" * 400}number
        ''',
        "nested so deeply that a reader of it would fail",
        "nested too deeply",
    ),
]

HINTS = [
    Candidate(
        "no_hints",
        '''
        def no_hints(number, factor: int) -> int:
            """A number so many times."""
            return number * factor
        ''',
        "a parameter without a hint",
        "The parameter number has no type hint",
    ),
    Candidate(
        "no_return_hint",
        '''
        def no_return_hint(number: int):
            """Twice a number."""
            return 2 * number
        ''',
        "it does not say what it returns",
        "does not say what it returns",
    ),
    Candidate(
        "no_docstring",
        """
        def no_docstring(number: int) -> int:
            return 2 * number
        """,
        "nobody knows what it is for",
        "has no docstring",
    ),
    Candidate(
        "any_number",
        '''
        def any_number(*numbers: int) -> int:
            """The sum of numbers."""
            return sum(numbers)
        ''',
        "takes as many arguments as one likes",
        "*numbers",
    ),
    Candidate(
        "any_keyword",
        '''
        def any_keyword(**options: str) -> list[str]:
            """The names of options."""
            return sorted(options)
        ''',
        "takes arguments of any name",
        "**options",
    ),
    Candidate(
        "no_json",
        '''
        from decimal import Decimal

        def no_json(amount: Decimal) -> Decimal:
            """Twice an amount."""
            return 2 * amount
        ''',
        "its hints mean nothing in JSON",
        "The type hint Decimal has no meaning in JSON",
    ),
    Candidate(
        "no_function",
        """
        NUMBER = 2
        """,
        "there is nothing to call",
        "no function that could be the tool",
    ),
]

IMPORTS = [
    Candidate(
        "import_listed",
        '''
        import json, subprocess as helper

        def import_listed(text: str) -> str:
            """A text as JSON."""
            return json.dumps(text)
        ''',
        "behind another one, under another name",
        "The module subprocess may not be imported",
    ),
    Candidate(
        "import_inside",
        '''
        def import_inside(name: str) -> bool:
            """Whether there is a file."""
            import os.path
            return os.path.exists(name)
        ''',
        "inside of the function",
        "The module os.path may not be imported",
    ),
    Candidate(
        "import_from",
        '''
        from shutil import rmtree as tidy

        def import_from(folder: str) -> None:
            """Tidy a folder up."""
            tidy(folder)
        ''',
        "from a module, under another name",
        "The module shutil may not be imported",
    ),
    Candidate(
        "import_relative",
        '''
        from . import neighbour

        def import_relative(number: int) -> int:
            """Twice a number."""
            return neighbour.twice(number)
        ''',
        "relative to nothing",
        "A relative import",
    ),
    Candidate(
        "import_star",
        '''
        from math import *

        def import_star(number: float) -> float:
            """The sine of a number."""
            return sin(number)
        ''',
        "everything, whatever that is",
        "import *",
    ),
    Candidate(
        "import_by_library",
        '''
        import importlib

        def import_by_library(number: int) -> int:
            """The number of a process."""
            return number + importlib.import_module("o" + "s").getpid()
        ''',
        "with the module that imports",
        "The module importlib may not be imported",
    ),
    Candidate(
        "import_by_builtin",
        '''
        def import_by_builtin(number: int) -> int:
            """The number of a process."""
            return number + __import__("os").getpid()
        ''',
        "with the function that imports",
        "'__import__' may not be used",
    ),
]

NAMES = [
    *(
        Candidate(name, _DOUBLED.format(name=name), "the name of a built-in tool", says)
        for name, says in {
            "execute_code": "There is a built-in tool execute_code already",
            "shell": "There is a built-in tool shell already",
            "generate_tool": "There is a built-in tool generate_tool already",
            "find_skills": "There is a built-in tool find_skills already",
        }.items()
    ),
    *(
        Candidate(name, _DOUBLED.format(name=name), "looks like a built-in tool", says)
        for name, says in {
            "serach_memory": "looks like 'search_memory'",
            "readfile": "looks like 'read_file'",
        }.items()
    ),
    Candidate(
        "Doubled-Number",
        _DOUBLED.format(name="doubled_number"),
        "a name that no provider takes",
        "cannot be the name of a tool",
    ),
]
