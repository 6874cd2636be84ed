import pytest

from long_running_agents.errors import UsageError
from long_running_agents.sandbox import bubblewrap_command, packages

PYTHON = bubblewrap_command.Interpreter("/usr/bin/python3", (3, 11))


@pytest.mark.parametrize(
    "requirement",
    ["numpy", "numpy==1.26.4", "pandas>=2,<3", "httpx[http2]", "zope.interface ~= 6.0"],
)
def test_names_of_packages_are_taken(requirement):
    assert packages.check([requirement]) == [requirement]


@pytest.mark.parametrize(
    "requirement",
    [
        "",
        "--index-url=http://evil.example",
        "-r requirements.txt",
        "./local",
        "/etc/passwd",
        "evil @ http://evil.example/evil.whl",
        "git+https://evil.example/x",
        "numpy; python_version > '3'",
        "numpy\n--index-url=x",
        "a b",
    ],
)
def test_nothing_else_is(requirement):
    with pytest.raises(UsageError):
        packages.check([requirement])


def test_the_same_wishes_lie_in_the_same_place(tmp_path):
    one = packages.place(["b", "a"], tmp_path, PYTHON)

    assert packages.place(["a", "b", "a "], tmp_path, PYTHON) == one
    assert packages.place(["a"], tmp_path, PYTHON) != one
    newer = bubblewrap_command.Interpreter(PYTHON.program, (3, 12))
    assert packages.place(["a", "b"], tmp_path, newer) != one


def test_what_was_not_built_is_not_found(tmp_path):
    assert packages.find(["a"], tmp_path, PYTHON) is None
    packages.place(["a"], tmp_path, PYTHON).mkdir()
    assert packages.find(["a"], tmp_path, PYTHON) is not None


def test_a_python_that_can_be_shown_is_found():
    found = bubblewrap_command.find()

    assert found.version >= (3, 11)
    assert found.program.exists()
