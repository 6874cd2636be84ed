"""Programs that run other programs, and where in their arguments these stand."""

import re
from collections.abc import Iterator, Mapping, Sequence

from long_running_agents.domain.shell_words import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")

SILENT: Mapping[str, tuple[str, int]] = {
    "env": ("uCS", 0),
    "nohup": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "time": ("of", 0),
    "timeout": ("sk", 1),
    "stdbuf": ("ioe", 0),
    "setsid": ("", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "busybox": ("", 0),
    "toybox": ("", 0),
}
"""Programs that only run another one: their options with a value, and words before the program."""

HEARD: Mapping[str, tuple[str, int]] = {
    "sudo": ("ughpCDRTUrt", 0),
    "doas": ("uC", 0),
    "xargs": ("InPLdaEs", 0),
    "chroot": ("", 1),
    "watch": ("n", 0),
    "flock": ("wE", 1),
    "strace": ("eopsu", 0),
}
"""The same, for those that change what the other can do."""


def asks_only(name: str, arguments: Sequence[Word]) -> bool:
    """Whether a wrapper only says what it would run."""
    return name == "command" and any(word.text in ("-v", "-V") for word in arguments[:1])


def beyond(
    arguments: Sequence[Word], valued: str, leading: int
) -> tuple[Sequence[Word], tuple[str, ...]]:
    """The words after a wrapper's own, and the variables that it sets."""
    settings: list[str] = []
    place = 0
    while place < len(arguments):
        text = arguments[place].text
        if text == "--":
            place += 1
            break
        if match := ASSIGNMENT.match(text):
            settings.append(match[1])
        elif len(text) > 1 and text.startswith("-"):
            place += text[1:] in tuple(valued)
        elif leading:
            leading -= 1
        else:
            break
        place += 1
    return arguments[place:], tuple(settings)


def operands(arguments: Sequence[Word]) -> Iterator[str]:
    """The arguments that are no options."""
    return (word.text for word in arguments if not word.text.startswith("-"))


def option(arguments: Sequence[Word], letter: str) -> str:
    """The value of an option, also of one among others such as -lc."""
    for place, word in enumerate(arguments[:-1]):
        text = word.text
        if text.startswith("-") and not text.startswith("--") and text.endswith(letter):
            return arguments[place + 1].text
    return ""


def executed(arguments: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The commands that find runs for what it has found."""
    # What it found stands for the braces; where that was is its own first word.
    where = next(operands(arguments), ".")
    place = 0
    while place < len(arguments):
        place += 1
        if arguments[place - 1].text not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        begun = place
        while place < len(arguments) and arguments[place].text not in (";", "+"):
            place += 1
        yield [Word(where) if each.text == "{}" else each for each in arguments[begun:place]]
