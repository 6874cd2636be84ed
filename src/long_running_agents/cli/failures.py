"""How `lra` fails: the one place where errors become a line on stderr and an exit code."""

import os
import sys
import traceback
from collections.abc import Callable, Iterator

import click

from long_running_agents.errors import LraError

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
    except BaseException as error:  # noqa: BLE001 - the outermost ring of the program
        return _told(error, debug=debug)
    return code


def exit_code_for(code: str) -> int:
    """The exit code that belongs to the code of a stored failure."""
    return kind_of(code).exit_code


def kind_of(code: str) -> type[LraError]:
    """The error that a code stands for."""
    return next((kind for kind in _kinds(LraError) if kind.code == code), LraError)


def complete_shell(command: click.Command) -> None:
    """Serve the shell's request for completions, if this call is one."""
    instruction = os.environ.get("_LRA_COMPLETE")
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(command, {}, "lra", "_LRA_COMPLETE", instruction))


def _told(error: BaseException, *, debug: bool) -> int:
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
    click.echo(f"lra broke: {type(error).__name__}: {error}", err=True)
    if not debug:
        click.echo("  This is a bug. 'lra --debug …' shows where; please report it.", err=True)
    return FAILED


def _reader_left() -> int:
    # Python flushes stdout once more at exit and would complain about the closed pipe then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _kinds(kind: type[LraError]) -> Iterator[type[LraError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _kinds(child)
