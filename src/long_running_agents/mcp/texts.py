"""Foreign text: what a reader would not see is left out, and it has an end."""

import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs"})
_KEPT = frozenset("\n\t")


def readable(text: str, most: int) -> str:
    """The visible part of a text, no longer than this.

    Args:
        text: What somebody else wrote.
        most: How many characters to keep.
    """
    # Nothing is looked at that would be cut off: the text may be of any length.
    begun = text[: 4 * most]
    seen = "".join(
        letter
        for letter in begun
        if letter in _KEPT or unicodedata.category(letter) not in _INVISIBLE
    )
    return seen if len(seen) <= most and begun == text else f"{seen[: most - 1]}…"
