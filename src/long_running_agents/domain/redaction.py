"""Keeping secrets out of everything that is written down."""

import json
import re
from collections.abc import Iterable

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
)
"""What the keys of common providers look like."""

_SHORTEST = 6
"""Shorter values are words like ``true`` or ``8000``; hiding them would garble everything."""

MARK = "[redacted]"


class Redactor:
    """Replaces known secrets, and whatever looks like a provider's key, by a mark."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= _SHORTEST}
        # Inside JSON text a secret appears with its quotes and backslashes escaped.
        known |= {json.dumps(secret)[1:-1] for secret in known}
        literals = [re.escape(secret) for secret in sorted(known, key=len, reverse=True)]
        self._pattern = re.compile("|".join([*literals, *(rf"\b{p}" for p in _PATTERNS)]))

    def __call__(self, text: str) -> str:
        """Return the text without its secrets."""
        return self._pattern.sub(MARK, text)
