import base64

import pytest

from long_running_agents.sandbox.base import UNSANDBOXED, CodeError, ExecResult
from long_running_agents.sandbox.kernel_sandbox import outputs, shortened, told

WALLS = ("namespaces",)
PNG = base64.b64encode(b"\x89PNG").decode()


def shown(**about):
    return told(ExecResult(**{"isolation": WALLS, **about}), [], fresh=about.pop("fresh", False))


def test_output_comes_first_and_nothing_is_said_when_nothing_happened():
    assert shown(stdout="one\n", stderr="two\n", exit_code=3) == "one\n[stderr]\ntwo\n[exit code 3]"
    assert shown() == "(no output)"
    assert shown(exit_code=0) == "(no output)"


def test_an_error_is_told_with_what_became_of_the_names():
    error = CodeError(name="TimeoutError", message="it took longer than it was given")
    assert shown(error=error, rolled_back=True).splitlines() == [
        "[error]",
        "TimeoutError: it took longer than it was given",
        "[The names are again what they were before this cell.]",
    ]
    assert "gone with its names" in shown(error=error, alive=False)


@pytest.mark.parametrize(
    ("name", "fresh", "advice"),
    [
        ("ModuleNotFoundError", False, "install_packages"),
        ("NameError", True, "names of earlier cells are gone"),
    ],
)
def test_some_errors_come_with_advice(name, fresh, advice):
    result = ExecResult(error=CodeError(name=name, message="x"), isolation=WALLS)
    assert advice in told(result, [], fresh=fresh)


def test_what_ran_elsewhere_does_not_pretend_that_its_files_are_here():
    assert "files of its own" in shown(elsewhere=True)


def test_what_ran_without_walls_says_so():
    assert told(ExecResult(stdout="hi"), [], fresh=False).startswith(UNSANDBOXED)


def test_nothing_that_is_shown_commands_a_terminal():
    assert "\x1b" not in shown(
        stdout="\x1b[2J", stderr="\x1b]0;x\x07", display=({"text/plain": "\x1b"},)
    )


def test_each_thing_that_is_no_text_becomes_one_file_of_its_best_form():
    table = {"text/plain": "a table", "text/html": "<table></table>"}
    plot = {"text/plain": "<Figure>", "image/png": PNG, "image/svg+xml": "<svg/>"}
    found = outputs(ExecResult(display=(table, plot, plot)))

    assert [(each.media, each.content) for each in found] == [
        ("text/html", b"<table></table>"),
        ("image/png", b"\x89PNG"),
    ]
    assert all(each.path.startswith("outputs/") for each in found)


def test_a_picture_that_is_none_is_left_out():
    assert outputs(ExecResult(display=({"image/png": "not base64!"},))) == []
    assert outputs(ExecResult(display=({"image/png": "A" * (6 << 20)},))) == []


def test_a_long_text_is_shown_by_its_ends_and_kept_whole():
    text = "begin " + "x" * 100_000 + " end"
    shown, whole = shortened(text)

    assert len(shown) < 25_000
    assert shown.startswith("begin ")
    assert shown.endswith(" end")
    assert whole.content.decode() == text
    assert f"read_file(path={whole.path!r})" in shown


def test_a_short_text_is_left_alone():
    assert shortened("short") == ("short", None)
