"""The words of a text that say what it is about."""

import re

_WORD = re.compile(r"[a-z0-9]{2,}")
_COMMON = frozenset(
    {"an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "if", "in"}
    | {"into", "is", "it", "its", "me", "my", "not", "of", "on", "one", "or", "that", "the"}
    | {"then", "there", "this", "to", "was", "what", "when", "which", "with", "you", "your"}
)
_SHORTEST_STEM = 3


def keywords(text: str) -> list[str]:
    """Words without the endings that most often keep two forms of one word apart."""
    found = _WORD.findall(text.lower().replace("_", " "))
    return [_stem(word) for word in found if word not in _COMMON]


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word
