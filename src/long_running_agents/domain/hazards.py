"""What is risky about a command or a path.

These are hints for the person who is asked, and no wall: the sandbox is the wall.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from long_running_agents.domain.shell import INTERPRETERS, Command, ShellScript, resolved
from long_running_agents.domain.shell_lexer import HOLE
from long_running_agents.domain.workspace import (
    INSTRUCTIONS,
    WORKSPACE,
    is_instruction,
    is_sensitive,
)


@dataclass(frozen=True, slots=True)
class Hazard:
    """One risk, in words that end a sentence about the call."""

    reason: str
    subject: str = ""
    """What it is about: a person's "always" is for this one only."""
    instructs: bool = False
    """Whether later turns would be told what to do."""


_SECRET = re.compile(
    r"""/\.[a-z]*_history$ | ^/etc/(?:passwd|shadow|sudoers)(?:$|[.-]) | ^/proc/[^/]+/environ$
        | ^/root(?:$|/)""",
    re.IGNORECASE | re.VERBOSE,
)
_FILES = "|".join(re.escape(name) for name in INSTRUCTIONS if not name.endswith("/"))
_MENTIONED = re.compile(rf"\b(?:{_FILES})\b", re.IGNORECASE)


def is_secret(path: str) -> bool:
    """Whether a whole path usually holds what nobody shall read."""
    return any(map(is_sensitive, path.split("/"))) or bool(_SECRET.search(path))


def _instructs_later(path: str) -> bool:
    """Whether a whole path is one that later turns are told what to do by."""
    inside = path.removeprefix(f"{WORKSPACE}/")
    return inside != path and is_instruction(inside)


def of_file(path: str, *, changes: bool) -> Iterator[Hazard]:
    """The risks of a file tool's path."""
    whole = resolved(WORKSPACE, path)
    if is_secret(whole):
        yield Hazard(f"{path!r} usually holds secrets", whole)
    if changes and _instructs_later(whole):
        yield Hazard(f"{path!r} tells later turns what to do", whole, instructs=True)


def of_code(code: str) -> Iterator[Hazard]:
    """The risks of a piece of code, by the names of files that are in it."""
    for name in sorted({match.lower() for match in _MENTIONED.findall(code)}):
        told = f"it names {name!r}, which tells later turns what to do"
        yield Hazard(told, name, instructs=True)


def of_script(script: ShellScript) -> Iterator[Hazard]:
    """The risks of a command."""
    if script.endless:
        yield Hazard("the command is too long or too deep to be looked at")
    for command in script.commands:
        for check in _CHECKS:
            yield from check(command)
        if command.program in script.functions and command.fed_by in script.functions:
            yield Hazard(f"{command.program!r} starts itself again and again", command.program)


def _deletes(command: Command) -> Iterator[Hazard]:
    match command.name:
        case "rm" | "rmdir" | "unlink" | "shred" | "truncate":
            paths = _operands(command)
        case "find" if "-delete" in command.arguments:
            paths = _operands(command)[:1] or ["."]
        case "tar" if "--remove-files" in command.arguments:
            paths = _operands(command)
        case _:
            return
    # What find has to look for is not everything.
    chosen = any(text.startswith(_CHOOSING) for text in command.arguments)
    recursive = not chosen and (
        command.name in ("find", "tar") or _has(command, "rR", "--recursive")
    )
    for path in paths:
        if reason := _too_much(command.path(path), recursive=recursive):
            yield Hazard(f"{command.name} deletes {reason}", command.path(path))


_CHOOSING = ("-name", "-iname", "-path", "-regex", "-empty", "-mtime", "-mmin", "-newer", "-size")


def _too_much(path: str, *, recursive: bool) -> str:
    if HOLE in path or "{}" in path:
        return "what only the shell knows" if recursive else ""
    if _outside(path):
        return f"{path!r}, outside the workspace"
    inside = path.removeprefix(WORKSPACE).strip("/")
    if recursive and (not inside or inside in ("*", ".*", ".[!.]*", "**")):
        return "the whole workspace"
    if recursive and inside == ".git":
        return "the history of the repository"
    return ""


def _outside(path: str) -> bool:
    return not path.startswith((f"{WORKSPACE}/", "/tmp/", "/var/tmp/")) and path not in (  # noqa: S108 - the sandbox's
        WORKSPACE,
        "/dev/null",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/tty",
    )


def _wipes(command: Command) -> Iterator[Hazard]:
    name = command.name
    if fnmatchcase(name, "mkfs*") or name in ("wipefs", "fdisk", "parted", "mkswap"):
        yield Hazard(f"{name} wipes a disk", " ".join(command.arguments))
    targets = list(command.writes)
    if name == "dd":
        targets += [text[3:] for text in command.arguments if text.startswith("of=")]
    for target in targets:
        path = command.path(target)
        if HOLE not in path and _outside(path):
            yield Hazard(f"it overwrites {path!r}, outside the workspace", path)


def _opens(command: Command) -> Iterator[Hazard]:
    if command.name != "chmod" or not _has(command, "R", "--recursive"):
        return
    for mode in _operands(command)[:1]:
        if re.fullmatch(r"0?777|(?:[ugo]*[ao][ugo]*)?[+=][rx]*w[rwx]*", mode):
            yield Hazard("chmod lets everybody write", " ".join(_operands(command)[1:]))


def _pushes(command: Command) -> Iterator[Hazard]:
    if command.program != "git push":
        return
    forced = [
        text
        for text in command.arguments
        if text.startswith(("--force", "--mirror", "--delete", "+")) or re.fullmatch(r"-\w*f", text)
    ]
    if forced:
        where = " ".join(text for text in _operands(command) if text != "push")
        yield Hazard("git push overwrites what others may have", where)


_FETCHING = frozenset({"curl", "wget", "fetch", "aria2c", "http", "https", "nc", "ncat"})
_DECODING = frozenset({"base64", "base32", "xxd", "openssl", "gunzip", "zcat", "rev"})
_RUNNING = INTERPRETERS | {
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "eval",
    "source",
    ".",
}


def _runs_what_it_is_told(command: Command) -> Iterator[Hazard]:
    # A program that has a file to run only reads what it is fed.
    has_file = any(HOLE not in text for text in _operands(command))
    if command.name not in _RUNNING or (has_file and "-s" not in command.arguments):
        return
    if command.fed_by in _FETCHING:
        yield Hazard(f"{command.name} runs what {command.fed_by} fetches", command.fed_by)
    elif command.fed_by in _DECODING:
        yield Hazard(f"{command.name} runs what {command.fed_by} decodes", command.fed_by)


def _stops(command: Command) -> Iterator[Hazard]:
    everything = command.name == "kill" and "-1" in command.arguments[1:]
    if everything or command.name in ("shutdown", "reboot", "halt", "poweroff"):
        yield Hazard(f"{command.name} stops everything")


def _reads_secrets(command: Command) -> Iterator[Hazard]:
    for text in (*command.arguments, *command.reads, *command.writes):
        # An option such as --file=.env, too.
        path = command.path(text.rpartition("=")[2] or text)
        if is_secret(path):
            yield Hazard(f"{path.removeprefix(WORKSPACE + '/')!r} usually holds secrets", path)


_READING = frozenset(
    {"cat", "head", "tail", "less", "more", "grep", "rg", "ls", "wc", "diff", "stat", "file"}
    | {"find", "echo", "printf", "test", "[", "[[", "cmp", "md5sum", "sha256sum", "cd", "pwd"}
    | {"tree", "du", "basename", "dirname", "git", "sort", "uniq", "cut", "awk", "bat", "nl"}
)


def _instructs(command: Command) -> Iterator[Hazard]:
    written = list(command.writes)
    match command.name:
        case "sed" if not any(text.startswith(("-i", "--in-place")) for text in command.arguments):
            pass
        case "cp" | "ln" | "install":
            written += _operands(command)[-1:]
        case name if name not in _READING:
            written += command.arguments
        case _:
            pass
    for text in written:
        path = command.path(text)
        if _instructs_later(path):
            shown = path.removeprefix(WORKSPACE + "/")
            yield Hazard(f"{shown!r} tells later turns what to do", path, instructs=True)


_CHECKS: tuple[Callable[[Command], Iterator[Hazard]], ...] = (
    _deletes,
    _wipes,
    _opens,
    _pushes,
    _runs_what_it_is_told,
    _stops,
    _reads_secrets,
    _instructs,
)


def _operands(command: Command) -> list[str]:
    plain = [text for text in command.arguments if not text.startswith("-")]
    after = command.arguments.index("--") if "--" in command.arguments else None
    return plain if after is None else [*plain, *command.arguments[after + 1 :]]


def _has(command: Command, letters: str, long: str) -> bool:
    return any(
        text == long
        or (text.startswith("-") and not text.startswith("--") and bool(set(letters) & set(text)))
        for text in command.arguments
    )
