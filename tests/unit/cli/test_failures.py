"""Every failure has its line and its exit code."""

import os
import subprocess
import sys

import click
import pytest

from long_running_agents import errors
from long_running_agents.cli.main import Options, exit_code_of, run


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("m"), 2),
        (errors.ConfigError("m"), 2),
        (errors.NotFound("m"), 3),
        (errors.Denied("m"), 4),
        (errors.LimitReached("m"), 5),
        (errors.HomeBusy("m"), 75),
        (errors.ModelUnavailable("m"), 75),
        (errors.CorruptData("m"), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.UsageError("m"), 2),
        (click.exceptions.Exit(7), 7),
        (SystemExit(9), 9),
        (ZeroDivisionError("m"), 1),
    ],
)
def test_exit_codes(error, code, capsys):
    assert exit_code_of(raising(error), debug=False) == code


def test_a_foreseen_error_says_what_and_what_next(capsys):
    exit_code_of(raising(errors.NotFound("No session 'x'.", hint="List them.")), debug=False)
    assert capsys.readouterr().err == "error: No session 'x'.\n  List them.\n"


def test_a_bug_is_one_line_unless_debugging(capsys):
    exit_code_of(raising(ZeroDivisionError("oh")), debug=False)
    shown = capsys.readouterr().err
    assert shown.startswith("lra broke: ZeroDivisionError: oh\n")
    assert "--debug" in shown
    assert "Traceback" not in shown
    exit_code_of(raising(ZeroDivisionError("oh")), debug=True)
    assert "Traceback" in capsys.readouterr().err


def test_a_stored_code_has_the_exit_code_of_its_error():
    assert errors.kind_of("model_unavailable").exit_code == 75
    assert errors.kind_of("not_configured").exit_code == 1
    assert errors.kind_of("never heard of").exit_code == 1


def test_a_reader_that_leaves_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "long_running_agents", "config"],
        check=False,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_unknown_command_names_the_nearest(capsys):
    assert run(["chta"]) == 2
    assert "Did you mean 'lra chat'?" in capsys.readouterr().err
    assert run(["--hoem", "x"]) == 2
    assert "--home" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("color", "environment", "expected"),
    [
        ("auto", {}, None),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(color, environment, expected, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Options(color=color).colored() is expected
