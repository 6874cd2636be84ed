"""Which skills a request offers when there are more than it should: the relevant ones."""

from collections.abc import Iterable, Sequence

from long_running_agents.domain.keywords import WordIndex, about
from long_running_agents.domain.skill import Kind, Version


class Shelf:
    """The skills in use, with an index of their words."""

    def __init__(self, versions: Sequence[Version] = ()) -> None:
        """Put skills onto it.

        Args:
            versions: Those in use, by name.
        """
        self.versions = versions
        self._by_name = {each.name: each for each in versions}
        self._index = WordIndex(
            {
                each.name: about(each.interface.description, each.interface.parameters)
                for each in versions
            }
        )

    def get(self, name: str) -> Version | None:
        """A skill in use."""
        return self._by_name.get(name)

    def of(self, kind: Kind) -> list[Version]:
        """Those of a kind, by name."""
        return [version for version in self.versions if version.kind is kind]

    def search(self, query: str, limit: int) -> list[Version]:
        """The skills that fit some words best."""
        scores = self._index.scores(query)
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
