"""Which skills a request offers when there are more than it should: the relevant ones."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log

from long_running_agents.domain.keywords import keywords
from long_running_agents.domain.skill import Kind, Version

_NAME_WEIGHT = 3


@dataclass(frozen=True)
class Shelf:
    """The skills in use, with an index of their words."""

    versions: Sequence[Version] = ()
    _postings: dict[str, dict[str, int]] = field(init=False, repr=False)
    _by_name: dict[str, Version] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        postings: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for version in self.versions:
            for word, count in _words_of(version).items():
                postings[word][version.name] = min(count, _NAME_WEIGHT + 1)
        object.__setattr__(self, "_postings", dict(postings))
        object.__setattr__(self, "_by_name", {each.name: each for each in self.versions})

    def get(self, name: str) -> Version | None:
        """A skill in use."""
        return self._by_name.get(name)

    def of(self, kind: Kind) -> list[Version]:
        """Those of a kind, by name."""
        return [version for version in self.versions if version.kind is kind]

    def search(self, query: str, limit: int) -> list[Version]:
        """The skills that fit some words best: rare words count more, and a name more."""
        scores: Counter[str] = Counter()
        for word in set(keywords(query)):
            posting = self._postings.get(word, {})
            rarity = log(1 + len(self.versions) / len(posting)) if posting else 0.0
            for name, count in posting.items():
                scores[name] += rarity * count  # pyright: ignore[reportArgumentType]
        best = sorted(scores, key=lambda name: (-scores[name], name))
        return [self._by_name[name] for name in best[:limit]]


def offered(
    shelf: Shelf,
    query: str,
    *,
    most: int,
    first: Iterable[str] = (),
) -> list[Version]:
    """The functions to offer: all while they are few, else those that fit.

    Args:
        shelf: The skills in use.
        query: What the turn is about.
        most: How many.
        first: Names that come before all others: made, found or used in this conversation.
    """
    functions = shelf.of(Kind.FUNCTION)
    if len(functions) <= most:
        return functions
    known = {version.name: version for version in functions}
    chosen = [known[name] for name in dict.fromkeys(first) if name in known]
    fitting = [each for each in shelf.search(query, most) if each.kind is Kind.FUNCTION]
    return _some([*chosen, *fitting], max(most, len(chosen)))


def _some(versions: Iterable[Version], most: int) -> list[Version]:
    unique = {version.name: version for version in versions}
    return list(unique.values())[:most]


def new_here(versions: Iterable[Version], session_id: str) -> list[str]:
    """The names of those that were made in a session, the newest first."""
    made = [each for each in versions if each.brought.session_id == session_id]
    return [each.name for each in sorted(made, key=lambda each: each.created_at, reverse=True)]


def _words_of(version: Version) -> Counter[str]:
    interface = version.interface
    properties: dict[str, object] = interface.parameters.get("properties") or {}
    words = Counter(keywords(f"{interface.description} {' '.join(properties)}"))
    words.update(keywords(version.name.replace("-", " ")) * _NAME_WEIGHT)
    return words
