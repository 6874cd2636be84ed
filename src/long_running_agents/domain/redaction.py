"""Keeping secrets out of everything that is written down."""

import json
import re
from collections.abc import Iterable
from typing import Any, cast

_PATTERNS = (
    r"sk-ant-[A-Za-z0-9_-]{16,}",
    r"sk-or-[A-Za-z0-9_-]{16,}",
    r"sk-(?:proj-)?[A-Za-z0-9_-]{20,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"gh[pousr]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{30,}",
    r"xox[abprs]-[A-Za-z0-9-]{10,}",
    r"AKIA[A-Z0-9]{16}",
    r"hf_[A-Za-z0-9]{30,}",
    r"lra_[A-Za-z0-9_-]{40,}",
)
"""What the keys of common providers look like, and our own tokens."""

_BEGINNINGS = (
    "sk-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "AKIA", "hf_",
    "lra_",
)  # fmt: skip
"""What every one of these patterns begins with: text without any of them is clean."""

_SHORTEST = 6
"""Shorter values are words like ``true`` or ``8000``; hiding them would garble everything."""

MARK = "[redacted]"

# A key begins where a word does, or after an escape: in JSON text a line's first letter follows
# the n of "\\n".
_BEGINNING = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))"

_STRUCTURE = re.compile(r"[a-z_-]+")
"""Field names, and the values of the fields that tell shapes apart."""

_SHAPES = ("type", "kind", "part_kind", "event_kind", "outcome", "finish_reason")


class Redactor:
    """Replaces known secrets, and whatever looks like a provider's key, by a mark."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset[str]()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Know more secrets from now on, wherever this redactor is used."""
        self._secrets = self._secrets.union(secrets)
        known = {secret for secret in self._secrets if len(secret) >= _SHORTEST}
        # JSON text has its quotes and backslashes escaped, and JSON text inside it twice.
        for _ in range(2):
            known |= {json.dumps(secret)[1:-1] for secret in known}
            known |= {json.dumps(secret, ensure_ascii=False)[1:-1] for secret in known}
        literals = [re.escape(secret) for secret in sorted(known, key=len, reverse=True)]
        self._pattern = re.compile("|".join([*literals, *(_BEGINNING + p for p in _PATTERNS)]))
        self._hints = (*known, *_BEGINNINGS)

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        return self._pattern.sub(MARK, text) if self._suspicious(text) else text

    def also(self, secrets: Iterable[str]) -> "Redactor":
        """One that knows more secrets."""
        return Redactor(self._secrets.union(secrets))

    def _suspicious(self, text: str) -> bool:
        # Everything that is stored passes here, and a plain search is fifty times as fast as the
        # pattern.
        return any(hint in text for hint in self._hints)

    def json(self, text: str) -> str:
        """Return JSON text without its secrets, and still JSON of the same shape.

        Only strings are touched: a number that happens to be someone's secret stays a number.
        """
        if not self._suspicious(text) or not self._pattern.search(text):
            return text
        try:
            found = json.loads(text)
        except ValueError:
            return self(text)
        return json.dumps(self._clean(found), ensure_ascii=False, separators=(",", ":"))

    def _clean(self, value: object) -> object:
        if isinstance(value, str):
            return self.json(value) if value[:1] in ("{", "[") else self(value)
        if isinstance(value, list):
            return [self._clean(item) for item in cast("list[object]", value)]
        if isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            return {
                name if _STRUCTURE.fullmatch(name) else self(name): item
                if name in _SHAPES and _STRUCTURE.fullmatch(str(item))
                else self._clean(item)
                for name, item in table.items()
            }
        return value
