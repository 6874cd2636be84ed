import click
import pytest
from click.testing import CliRunner

from long_running_agents.cli.chat import ask, chat
from long_running_agents.cli.main import Options, command, unsafe_local_option


@command()
@unsafe_local_option
def show(options):
    loaded = options.load()
    click.echo(f"{loaded.settings.sandbox.unsafe_local}")


def said(tmp_path, *words):
    options = Options(home=str(tmp_path))
    return CliRunner().invoke(show, words, obj=options, catch_exceptions=False).output.strip()


def test_code_runs_without_a_sandbox_only_when_the_flag_says_so(tmp_path):
    assert said(tmp_path) == "False"
    assert said(tmp_path, "--unsafe-local") == "True"


@pytest.mark.parametrize("runs", [ask, chat], ids=["ask", "chat"])
def test_the_commands_that_run_turns_have_the_flag(runs):
    assert "--unsafe-local" in CliRunner().invoke(runs, ["--help"]).output
