"""The program `lra`: its global options, and a table of commands that are loaded when they run."""

import difflib
import gc
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from typing_extensions import override

from long_running_agents import __version__
from long_running_agents.cli import failures
from long_running_agents.cli.options import COLOR_CHOICES, Options, accept_shared

_HERE = "long_running_agents.cli"
_NEW_OBJECTS = 50_000
"""How many, before somebody looks for garbage among them."""

COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("init", "init", "Make a home: settings, key file, who the agent is."),
    "chat": ("chat", "chat", "Talk with the agent."),
    "ask": ("ask", "ask", "Ask one question and print the answer."),
    "serve": ("serve", "serve", "Serve the agent to browsers, programs and other agents."),
    "tokens": ("tokens", "tokens", "Create, list, rotate and revoke who may come in."),
    "demo": ("demo", "demo", "See it work, without key or network."),
    "sessions": (
        "sessions",
        "sessions",
        "List, show, rename, fork, export, import, delete sessions.",
    ),
    "tasks": ("tasks", "tasks", "Show a session's tasks."),
    "usage": ("usage", "usage", "Say what was spent, by model, day and session."),
    "memory": ("memory", "memory", "Search, list, correct and forget what is remembered."),
    "list-memory": ("remembered", "list_memories", "The same as 'lra memory list'."),
    "skills": ("skills", "skills", "List, show, approve, run and delete tools that were made."),
    "create-tool": ("tool_making", "create_tool", "Make a tool of a Python function."),
    "validate-tool": ("tool_making", "validate_tool", "Say whether a function can be a tool."),
    "list-tools": ("tool_looking", "list_tools", "List every tool, built in or made."),
    "inspect-tool": ("tool_looking", "inspect_tool", "Show one tool: what it takes and can do."),
    "export-tools": ("tool_looking", "export_tools", "Write the tools that were made as Python."),
    "approvals": ("approvals", "approvals", "List and answer open questions."),
    "models": ("models", "models", "List, choose, test, pull and serve models."),
    "sandbox": ("sandbox", "sandbox", "Check, prepare and serve the place where code runs."),
    "mcp": ("mcp", "mcp", "List and test foreign servers; serve the agent as one."),
    "config": ("config", "config", "Show the settings and where they come from."),
    "doctor": ("doctor", "doctor", "Check that everything is in order."),
}
"""Name: (module, attribute, one line of help). Help is printed from here, without imports."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return accept_shared(getattr(import_module(f"{_HERE}.{module}"), attribute))

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            advice = f"Did you mean 'lra {near[0]}'?" if near else "'lra --help' lists them."
            raise click.UsageError(f"No command {args[0]!r}. {advice}", ctx)
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with 'lra demo', then 'lra init' and 'lra chat'.",
)
@click.option("--home", metavar="DIR", help="The folder that holds everything (LRA_HOME).")
@click.option(
    "--color",
    type=click.Choice(COLOR_CHOICES),
    default="auto",
    show_default=True,
    help="Whether to use colours.",
)
@click.option("--debug", is_flag=True, help="Show a traceback when something breaks.")
@click.version_option(__version__, prog_name="lra", message="%(prog)s %(version)s")
@click.pass_context
def main(ctx: click.Context, home: str | None, color: str, debug: bool) -> None:
    """A self-hosted agent whose conversations survive kill -9."""
    options = Options(home=home, color=color, debug=debug)
    ctx.obj = options
    ctx.color = options.colored()


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    if arguments is None:
        # This process is ours. What a command loads stays, and at the usual 700 new objects it
        # would be looked through for garbage again and again: a tenth of the time to load it.
        gc.set_threshold(_NEW_OBJECTS)
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Also before the options are parsed: a mistake among them may need the traceback.
    return failures.exit_code_of(lambda: _invoke(given), debug="--debug" in given)


def _invoke(arguments: list[str]) -> int:
    failures.complete_shell(main)
    with main.make_context("lra", arguments) as ctx:
        outcome: object = main.invoke(ctx)
    return outcome if isinstance(outcome, int) else 0
