"""How much each token counts in the bundled embedder: a fixed prior that knows no store.

A vector must never depend on what else is remembered, so words are not counted. The weights of
the model carry most of what counting would tell, since rare words have long vectors; what they
miss are the words that only hold a sentence together, and the names that outshout it.
"""

from collections.abc import Sequence

import numpy as np

from long_running_agents.memory.embedding.port import Vectors

LONGEST = 12.0
"""No token counts for more than a vector of this length; the names of people have up to 30."""
COMMON = 0.3
"""What a word of the list counts: a/(a+p) with a = 1e-3 and p = 2.3e-3, as frequent as 'is'."""
_SPACE = "\u2581"
_COMMON_WORDS = """
a about all also am an and any are as at be been being but by can could d did do does done for
from had has have having he her here him his how i if in into is it its just ll m may me might
must my no not of on only or our ours re s shall she should so some such t than that the their
them then there these they this those to too us ve very was we were what when where which who
whom whose why will with would you your
"""


def token_weights(tokens: Sequence[str], lengths: Vectors) -> Vectors:
    """The weight of each token, by how it is written and how long its vector is."""
    words = frozenset(_COMMON_WORDS.split())
    common = np.array([_common(token, words) for token in tokens])
    capped = np.minimum(1.0, LONGEST / np.maximum(lengths, LONGEST))
    return np.where(common, COMMON * capped, capped).astype(np.float32)


def _common(token: str, words: frozenset[str]) -> bool:
    word = token.strip(_SPACE).lower()
    return word in words or not any(letter.isalnum() for letter in word)
