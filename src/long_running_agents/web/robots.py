"""What a site asks robots to leave alone (RFC 9309). Pure, and linear in what it reads."""

import re
from dataclasses import dataclass

SIZE = 500_000
"""Bytes that are read of a robots.txt."""
_MOST_RULES = 5000
_LONGEST = 2000
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: allow or disallow what begins like this."""

    allow: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether it speaks of a path. `*` is anything, and `$` at the end is the end."""
        ends = self.pattern.endswith("$")
        first, *rest = self.pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        place = len(first)
        # The earliest place for each part is never worse than a later one: nothing is tried twice.
        for number, part in enumerate(rest):
            last = ends and number == len(rest) - 1
            found = len(path) - len(part) if last else path.find(part, place)
            if found < place or not path.startswith(part, found):
                return False
            place = found + len(part)
        return not ends or place == len(path)


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules that hold for us."""

    rules: tuple[Rule, ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a path may be fetched: the longest rule decides, and a tie is a yes."""
        path = _plain(path)
        told = [rule for rule in self.rules if rule.matches(path)]
        best = max(told, key=lambda rule: (len(rule.pattern), rule.allow), default=None)
        return best is None or best.allow


EVERYTHING = Robots()
"""A site that asks for nothing."""


def read(text: str, agent: str) -> Robots:
    """The rules for an agent: those of its own groups, or of the groups for all."""
    groups: dict[str, list[Rule]] = {}
    named: list[str] = []
    naming = False
    count = 0
    for line in text.splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            named = [*named, _token(value)] if naming else [_token(value)]
            naming = True
            groups.setdefault(named[-1], [])
        elif key in ("allow", "disallow"):
            naming = False
            count += 1
            if value and len(value) <= _LONGEST and count <= _MOST_RULES:
                rule = Rule(key == "allow", _plain(value))
                for name in named:
                    groups[name].append(rule)
    # A group of our own counts even when it is empty: then everything is allowed.
    return Robots(tuple(groups.get(_token(agent), groups.get("*", ()))))


def _token(name: str) -> str:
    return name.partition("/")[0].strip().lower()


def _plain(path: str) -> str:
    """One way to write each path: no needless escapes, and the others in capitals."""

    def unescaped(found: re.Match[str]) -> str:
        sign = chr(int(found[1], 16))
        return sign if sign in _UNRESERVED else found[0].upper()

    ascii_only = "".join(
        sign
        if sign.isascii()
        else "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "replace"))
        for sign in path
    )
    return _ESCAPE.sub(unescaped, ascii_only)
