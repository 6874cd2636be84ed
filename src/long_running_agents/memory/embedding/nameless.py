"""Taking the names of known people out of a question before it is embedded."""

import re
from collections.abc import Collection


def without_names(text: str, names: Collection[str]) -> str:
    """The text without these names, or as it is when nothing would be left.

    A name says who, not what. Averaged with the few other words of a question it would draw in
    everything that person ever said; whoever knows the speakers can match those exactly.
    """
    known = sorted((re.escape(name) for name in names if name.strip()), key=len, reverse=True)
    if not known:
        return text
    named = rf"(?<!\w)(?:{'|'.join(known)})(?:['\u2019]s)?(?!\w)"
    rest = re.sub(named, " ", text, flags=re.IGNORECASE)
    rest = " ".join(rest.split())
    return rest if any(letter.isalnum() for letter in rest) else text
