"""The words of a text that say what it is about, and what is found by them."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from math import log
from typing import Any

_WORD = re.compile(r"[a-z0-9]{2,}")
_COMMON = frozenset(
    {"an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "if", "in"}
    | {"into", "is", "it", "its", "me", "my", "not", "of", "on", "one", "or", "that", "the"}
    | {"then", "there", "this", "to", "was", "what", "when", "which", "with", "you", "your"}
)
_SHORTEST_STEM = 3
_NAME_WEIGHT = 3
"""How often a word of a name counts."""


def keywords(text: str) -> list[str]:
    """Words without the endings that most often keep two forms of one word apart."""
    found = _WORD.findall(text.lower().replace("_", " "))
    return [_stem(word) for word in found if word not in _COMMON]


def about(description: str, parameters: Mapping[str, Any]) -> str:
    """What there is to find a tool by, beside its name.

    Args:
        description: What it does.
        parameters: The JSON Schema of its arguments, whose names say something, too.
    """
    return " ".join([description, *(parameters.get("properties") or {})])


class WordIndex:
    """Finds things by their words: rare words count more, and a name more than a text."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the things in.

        Args:
            texts: What each is about, by its name.
        """
        self._size = len(texts)
        self._postings: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, text in texts.items():
            words = Counter(keywords(text) + keywords(name) * _NAME_WEIGHT)
            for word, count in words.items():
                self._postings[word][name] = min(count, _NAME_WEIGHT + 1)

    def scores(self, query: str) -> dict[str, float]:
        """How well things match some words, by name; those that do not match are left out."""
        found: defaultdict[str, float] = defaultdict(float)
        for word in dict.fromkeys(keywords(query)):
            posting = self._postings.get(word, {})
            for name, count in posting.items():
                found[name] += log(1 + self._size / len(posting)) * count
        return dict(found)


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word
