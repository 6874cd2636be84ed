"""The program `lra`: its global options, and a table of commands that are loaded when they run."""

import difflib
import gc
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click
from typing_extensions import override

from long_running_agents import __version__
from long_running_agents.errors import LraError, StorageFailed, file_hint

if TYPE_CHECKING:
    from io import TextIOWrapper

    from long_running_agents.config import LoadedSettings


OK = 0
FAILED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141


def exit_code_of(work: Callable[[], int], *, debug: bool) -> int:
    """Run a command; whatever goes wrong is told to the person and to the shell."""
    try:
        code = work()
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_left()
    except BaseException as error:  # noqa: BLE001 - the outermost handler of the program
        return _exit_code(error, debug=debug)
    return code


def complete_shell(command: click.Command) -> None:
    """Serve the shell's request for completions, if this call is one."""
    instruction = os.environ.get("_LRA_COMPLETE")
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(command, {}, "lra", "_LRA_COMPLETE", instruction))


def _exit_code(error: BaseException, *, debug: bool) -> int:
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit():
            return error.code if isinstance(error.code, int) else FAILED
        case click.ClickException():
            error.show()
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            click.echo("interrupted", err=True)
            return INTERRUPTED
        case LraError():
            return _foreseen(error, debug=debug)
        case _:
            return _unforeseen(error, debug=debug)


def _foreseen(error: LraError, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    click.echo(f"{click.style('error:', fg='red', bold=True)} {error.message}", err=True)
    if error.hint:
        click.echo(f"  {error.hint}", err=True)
    return error.exit_code


def _unforeseen(error: BaseException, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    if full := file_hint(error):
        return _foreseen(StorageFailed(f"{error}.", hint=full), debug=False)
    click.echo(f"lra broke: {type(error).__name__}: {error}", err=True)
    if not debug:
        click.echo("  This is a bug. 'lra --debug …' shows where; please report it.", err=True)
    return FAILED


def _reader_left() -> int:
    # Python flushes stdout once more at exit and would complain about the closed pipe then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


COLOR_CHOICES = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was said before the command's name, or after it."""

    home: str | None = None
    color: str = "auto"
    debug: bool = False
    owner: str | None = None
    """Whose things are meant, if not those of the owner in the settings."""
    unsafe_local: bool = False
    """Whether code is to run without a sandbox."""

    def load(self, flags: Mapping[str, object] | None = None) -> "LoadedSettings":
        """Read the settings; flags without a value are not flags."""
        from long_running_agents.config import load

        unsafe = True if self.unsafe_local else None
        said = {"owner": self.owner, "sandbox.unsafe_local": unsafe, **(flags or {})}
        given = {key: value for key, value in said.items() if value is not None}
        return load(home=self.home, flags=given)

    def colored(self) -> bool | None:
        """Whether to colour; None leaves it to whether the output is a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return True if os.environ.get("FORCE_COLOR") else None


def accept_shared(command: click.Command) -> click.Command:
    """Let a command and those below it take the shared options after their names, too.

    Its help does not repeat them: that of the program shows them once.
    """
    if not any(parameter.name == "home" for parameter in command.params):
        kinds: dict[str, Any] = {
            "--home": {},
            "--color": {"type": click.Choice(COLOR_CHOICES)},
            "--debug": {"is_flag": True},
        }
        command.params += [
            click.Option([name], hidden=True, expose_value=False, callback=_take, **kind)
            for name, kind in kinds.items()
        ]
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        accept_shared(child)
    return command


def _take(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    """Let what stands nearer to the end count."""
    if not value:
        return
    ctx.obj = replace(ctx.ensure_object(Options), **{parameter.name: value})
    ctx.color = ctx.obj.colored()


unsafe_local_option = click.option(
    "--unsafe-local",
    is_flag=True,
    expose_value=False,
    callback=_take,
    help="Run code WITHOUT a sandbox, with all rights of yours.",
)
"""The way round the sandbox, of the commands that run turns."""


def command(
    name: str | None = None, *, json: bool = False
) -> Callable[[Callable[..., object]], click.Command]:
    """Make a command of a function that takes the shared options, and --json if it prints data."""
    hand_over = click.make_pass_decorator(Options, ensure=True)

    def made(function: Callable[..., object]) -> click.Command:
        built = click.command(name)(hand_over(function))
        if json:
            option = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
            built.params.append(option)
        return built

    return made


class CommandGroup(click.Group):
    """A group of such commands."""

    def subcommand(
        self, name: str | None = None, *, json: bool = False
    ) -> Callable[[Callable[..., object]], click.Command]:
        """Make a command of a function, in this group."""

        def added(function: Callable[..., object]) -> click.Command:
            made = command(name, json=json)(function)
            self.add_command(made)
            return made

        return added


_HERE = "long_running_agents.cli"
_NEW_OBJECTS, _IN_USE = 40_000, 10_000
"""How many, before somebody looks for garbage among them: at first, and when all is loaded."""

COMMANDS: dict[str, tuple[str, str, str]] = {
    "init": ("setup", "init", "Make a home: settings, key file, who the agent is."),
    "chat": ("chat", "chat", "Talk with the agent."),
    "ask": ("chat", "ask", "Ask one question and print the answer."),
    "serve": ("serve", "serve", "Serve the agent to browsers, programs and other agents."),
    "tokens": ("tokens", "tokens", "Create, list, rotate and revoke access tokens."),
    "demo": ("demo", "demo", "See it work, without key or network."),
    "sessions": (
        "sessions",
        "sessions",
        "List, show, rename, fork, export, import, delete sessions.",
    ),
    "tasks": ("sessions", "tasks", "Show a session's tasks."),
    "context": ("chat", "context", "Show or check what the next request of a session contains."),
    "work": ("works", "work", "Let the agent work through a plan until it is proven."),
    "jobs": ("jobs", "jobs", "Let prompts run on a schedule."),
    "learned": ("learned", "learned", "Show what was learned, and take it back."),
    "reflect": ("learned", "reflect", "Learn from finished turns."),
    "agents": ("agents", "agents", "List, make, publish, import and export agents."),
    "create-agent": ("agent_folders", "create_agent", "Make a folder with an agent of yours."),
    "run": ("agent_folders", "run", "Talk with an agent of a folder, or a published one."),
    "list-agents": ("agent_folders", "list_agents", "List agent folders and published agents."),
    "usage": ("sessions", "usage", "Say what was spent, by model, day and session."),
    "budget": ("budget", "budget", "Show what may still be used, and raise limits."),
    "memory": ("memory", "memory", "Search, list, correct and forget what is remembered."),
    "list-memory": ("memory", "list_memories", "The same as 'lra memory list'."),
    "skills": ("skills", "skills", "List, show, approve, run and delete tools that were made."),
    "create-tool": ("create_tool", "create_tool", "Make a tool of a Python function."),
    "validate-tool": ("create_tool", "validate_tool", "Say whether a function can be a tool."),
    "list-tools": ("skills", "list_tools", "List every tool, built in or made."),
    "inspect-tool": ("skills", "inspect_tool", "Show one tool: what it takes and can do."),
    "export-tools": ("skills", "export_tools", "Write the tools that were made as Python."),
    "approvals": ("approvals", "approvals", "List and answer pending approvals."),
    "rules": ("rules", "rules", "List, pin, lift and enforce the rules that hold."),
    "models": ("models", "models", "List, choose, test, pull and serve models."),
    "sandbox": ("sandbox", "sandbox", "Check, prepare and serve the place where code runs."),
    "mcp": ("serve", "mcp", "List and test MCP servers; serve the agent as one."),
    "config": ("setup", "config", "Show the settings and where they come from."),
    "doctor": ("setup", "doctor", "Check that everything is in order, and mend what can be."),
    "backup": ("backups", "backup", "Copy the home to one file, while it may be in use."),
    "restore": ("backups", "restore", "Make the home what it was at a backup."),
    "verify": ("backups", "verify", "Look at every row of the database, or of a backup."),
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
        # Its threads wait for work by spinning, which costs 45 ms and is never needed here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # A command line of httpx's own, which it would load with 70 modules that nobody here needs.
        cast("dict[str, object]", sys.modules)["httpx._main"] = None
        # Bytes that are no text must not end a command, nor get as far as the database.
        if sys.stdin is not None:  # pyright: ignore[reportUnnecessaryComparison] - it may be closed
            cast("TextIOWrapper", sys.stdin).reconfigure(errors="replace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Also before the options are parsed: a mistake among them may need the traceback.
    code = exit_code_of(lambda: _invoke(given), debug="--debug" in given)
    if arguments is None:
        # What is left goes with the process: looking through it for garbage takes half a second.
        gc.freeze()
    return code


@contextmanager
def loading() -> Generator[None]:
    """Look for no garbage while modules are loaded, nor among them later: they stay."""
    gc.disable()
    try:
        yield
    finally:
        end_loading()


def end_loading() -> None:
    """Look for garbage from now on, but not in what is there: it stays."""
    if gc.get_threshold()[0] == _NEW_OBJECTS:  # Only where the process is ours.
        gc.freeze()
        gc.set_threshold(_IN_USE)
    gc.enable()


_FIRST = ("chat", "ask", "serve", "demo", "init", "models", "doctor")
"""What somebody needs who types the program's name alone; it fits on any screen."""


def _short_help() -> str:
    rest = ", ".join(name for name in COMMANDS if name not in _FIRST)
    lines = [f"  lra {name:<10} {COMMANDS[name][2]}" for name in _FIRST]
    return "\n".join(
        [
            f"lra {__version__}: {main.help}",
            "",
            *lines,
            "",
            textwrap.fill(f"More: {rest}.", subsequent_indent="  ", break_on_hyphens=False),
            "",
            "'lra --help' explains them all, 'lra COMMAND --help' one of them.",
        ]
    )


def _invoke(arguments: list[str]) -> int:
    complete_shell(main)
    if not arguments:
        click.echo(_short_help())
        return 0
    with main.make_context("lra", arguments) as ctx:
        outcome: object = main.invoke(ctx)
    return outcome if isinstance(outcome, int) else 0
