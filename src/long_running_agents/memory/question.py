"""A question, read: its words, whom it names, what of it to compare by meaning."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from long_running_agents.memory import words
from long_running_agents.memory.ranking import Mask, WordMatch
from long_running_agents.memory.shelf import Shelf
from long_running_agents.memory.word_forms import forms
from long_running_agents.store import memory_words
from long_running_agents.store.database import Transaction

USER = "user"
_ME = frozenset({"i", "me", "my", "mine", "myself"})
_NAME_SHARE = 0.5
"""A name is in most of what its bearer says, so it tells less than its rarity would have it."""
_COMMON = 5_000
_COMMON_SHARE = 50


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question is about."""

    matches: list[WordMatch]
    actor: int | None
    """The one actor it names."""
    meaning: str
    """What is left of it without names and little words."""
    wanted: int
    """The signs that an answer should have."""


def read(
    tx: Transaction, shelf: Shelf, question: str, eligible: Mask, owner: int | None
) -> Reading:
    """Look up what the words of a question are known for."""
    asked = words.asked(question)
    actors = _named(shelf, question, eligible)
    names = {part for name in actors for part in name.split()}
    matches = _matches(tx, shelf, asked, names, eligible, owner)
    meaning = [word for word in asked if word not in names] or asked
    return Reading(
        matches=matches,
        actor=next(iter(actors.values())) if len(actors) == 1 else None,
        meaning=" ".join(meaning),
        wanted=words.wanted(question),
    )


def _named(shelf: Shelf, question: str, eligible: Mask) -> dict[str, int]:
    """The actors whom a question names, as far as the viewer knows them."""
    said = words.spoken(question)
    pairs = [" ".join(pair) for pair in pairwise(said)]
    named = _known(shelf, [*said, *pairs], eligible)
    if not named and _ME.intersection(said):
        return _known(shelf, [USER], eligible)
    return named


def _known(shelf: Shelf, names: list[str], eligible: Mask) -> dict[str, int]:
    codes = {name: code for name in names if (code := shelf.names.get(name)) in shelf.actors}
    actors = shelf.entries["actor"]
    return {name: code for name, code in codes.items() if (eligible & (actors == code)).any()}


def _matches(
    tx: Transaction,
    shelf: Shelf,
    asked: list[str],
    names: set[str],
    eligible: Mask,
    owner: int | None,
) -> list[WordMatch]:
    most = max(_COMMON, len(shelf) // _COMMON_SHARE)
    own = np.count_nonzero(eligible)
    rare: list[WordMatch] = []
    common: list[WordMatch] = []
    for word in asked:
        ids = memory_words.having(tx, forms(word), most=most + 1)
        if len(ids) > most and own < len(shelf) // 2:
            # Others say it often; what this owner said must not be crowded out.
            ids = memory_words.having(tx, forms(word), most=most + 1, owner=owner)
        share = _NAME_SHARE if word in names else 1.0
        match = WordMatch(word, shelf.slots(ids[::-1]), share)
        (common if len(ids) > most else rare).append(match)
    # A word that everything has tells nothing, unless nothing else was asked.
    return rare if any(len(match.slots) for match in rare) else rare + common
