"""Names that look like another: how somebody gets a tool called in place of the one that is meant.

A name that a person or a model takes for one they know is worth a question, even where nobody
meant any harm: the wrong one of the two will be called.
"""

import re
import unicodedata
from collections.abc import Iterable

_SHORTEST = 5
"""Letters from which on a single one of them is easily overlooked."""

_ALIKE = str.maketrans({"0": "o", "1": "l", "-": None, "_": None})
_DOUBLED = re.compile(r"(.)\1+")
_WORDS = re.compile(r"[-_]+")


def confusable(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one looks like; None when there is none.

    A name that is known itself looks like no other. These look alike: names that differ in ``0``
    and ``o``, ``1`` and ``l``, dashes and underscores; and, from five letters on, in a doubled
    letter, two letters that changed places, one letter too many or too few, or another letter in
    a word of at least five. So ``serach_docs`` looks like ``search_docs``, while ``read_csv`` and
    ``read_tsv``, or ``parse_v1`` and ``parse_v2``, are told apart by a word that says it.
    """
    others = list(known)
    if name in others:
        return None
    return next((other for other in others if _alike(_plain(name), _plain(other))), None)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name[:256]).casefold()


def _alike(one: str, other: str) -> bool:
    drawn, drawn_other = one.translate(_ALIKE), other.translate(_ALIKE)
    if drawn == drawn_other:
        return True
    if min(len(drawn), len(drawn_other)) < _SHORTEST:
        return False
    if _DOUBLED.sub(r"\1", drawn) == _DOUBLED.sub(r"\1", drawn_other):
        return True
    joined, joined_other = _WORDS.sub("", one), _WORDS.sub("", other)
    return (
        _swapped(joined, joined_other) or _one_more(joined, joined_other) or _replaced(one, other)
    )


def _difference(one: str, other: str) -> tuple[str, str]:
    """What is left of both without the beginning and the end that they share."""
    begin = 0
    while begin < min(len(one), len(other)) and one[begin] == other[begin]:
        begin += 1
    one, other = one[begin:], other[begin:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one, other


def _swapped(one: str, other: str) -> bool:
    left, right = _difference(one, other)
    return len(left) == 2 and left == right[::-1]  # noqa: PLR2004 - a pair


def _one_more(one: str, other: str) -> bool:
    left, right = _difference(one, other)
    more = left + right
    # page1 and page10 are two pages.
    return len(more) == 1 and not more.isdigit()


def _replaced(one: str, other: str) -> bool:
    words, others = _WORDS.split(one), _WORDS.split(other)
    pairs = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(pairs) != 1 or len(pairs[0][0]) < _SHORTEST:
        return False
    left, right = _difference(*pairs[0])
    return len(left) == len(right) == 1 and not (left.isdigit() and right.isdigit())
