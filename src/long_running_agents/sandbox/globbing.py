"""Which paths a pattern with stars means."""

import re

_PART = re.compile(
    r"""
      (?P<folders> (?:^|(?<=/)) \*\* (?:/|$))
    | (?P<star> \*+)
    | (?P<one> \?)
    | \[ (?P<not>[!^]?) (?P<set> \]?[^\]/]*) \]
    | \{ (?P<either> [^{}]*) \}
    | (?P<plain> .)
    """,
    re.VERBOSE | re.DOTALL,
)


def matcher(pattern: str) -> re.Pattern[str]:
    """A regular expression for the paths that a pattern means, from the folder searched on.

    ``*`` and ``?`` stay within a name, ``**`` is any number of folders, ``[a-z]`` is one character
    and ``{a,b}`` one of several words. A pattern without a slash means names in every folder.
    """
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return re.compile("".join(_translated(part) for part in _PART.finditer(pattern)))


def _translated(part: re.Match[str]) -> str:
    found = part.groupdict()
    if found["folders"] is not None:
        return "(?:[^/]+/)*" if part.group().endswith("/") else ".*"
    if found["star"] is not None:
        return "[^/]*"
    if found["one"] is not None:
        return "[^/]"
    if found["set"] is not None:
        words = found["set"].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        return f"[{'^' if found['not'] else ''}{words}]" if words else re.escape(part.group())
    if found["either"] is not None:
        # Each word may hold stars of its own, but no further braces.
        words = found["either"].split(",")
        return f"(?:{'|'.join(_within(word) for word in words)})"
    return re.escape(found["plain"])


def _within(word: str) -> str:
    return "".join(_translated(part) for part in _PART.finditer(word))
