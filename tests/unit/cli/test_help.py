"""`lra --help` is quick, because it loads nothing."""

import os
import resource
import subprocess
import sys

import pytest

from long_running_agents import __version__
from long_running_agents.cli.main import COMMANDS, main, run

HEAVY = {"pydantic", "pydantic_ai", "sqlalchemy", "rich", "prompt_toolkit"}


def imported(tmp_path, *arguments):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "long_running_agents", *arguments],
        env={**os.environ, "LRA_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["chat", "--help"],
        ["models", "list", "--help"],
        ["memory", "search", "--help"],
        ["mcp", "list", "--help"],
        ["skills", "approve", "--help"],
        ["create-tool", "--help"],
        ["list-tools", "--help"],
        ["chta"],
    ],
)
def test_help_loads_nothing_heavy(tmp_path, arguments):
    assert not imported(tmp_path, *arguments) & HEAVY


def test_help_costs_little_more_cpu_than_what_reads_the_command_line():
    def once(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # 80 ms beside 60 on an idle machine; a busy one makes both dearer.
    asked = [("-m", "long_running_agents", "--help"), ("-c", "import click")]
    rounds = [[once(*arguments) for arguments in asked] for _ in range(7)]
    ours, parser = map(min, zip(*rounds, strict=True))

    assert ours <= 2 * parser


@pytest.mark.parametrize(
    "arguments",
    [
        ["init"],
        ["config"],
        ["doctor"],
        ["models", "list"],
        ["models", "use", "ollama:qwen3"],
        ["sessions", "list"],
        ["tasks", "list"],
        ["approvals", "list"],
        ["memory", "add", "My dog is called Rex"],
        ["skills", "list"],
        ["skills", "disable", "nothing"],
    ],
)
def test_commands_without_a_model_do_not_load_the_agent_library(tmp_path, arguments):
    assert "pydantic_ai" not in imported(tmp_path, *arguments)


def test_every_command_in_the_table_can_be_loaded(capsys):
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        assert f"lra {name}" in capsys.readouterr().out


def test_help_lists_every_command(capsys):
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown and line in shown for name, (_, _, line) in COMMANDS.items())


def test_the_name_alone_fits_on_a_small_screen(capsys):
    assert run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in COMMANDS)


def test_the_version_is_the_literal(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"lra {__version__}\n"


def test_the_module_is_the_same_program():
    shown = subprocess.run(
        [sys.executable, "-m", "long_running_agents", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout == f"lra {__version__}\n"


def test_shells_can_complete_commands(monkeypatch, capsys):
    monkeypatch.setenv("_LRA_COMPLETE", "bash_source")
    assert run([]) == 0
    assert "_LRA_COMPLETE=bash_complete" in capsys.readouterr().out
    assert main.name == "main"
