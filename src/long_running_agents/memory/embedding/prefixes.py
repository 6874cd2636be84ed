"""What some models want to read before a text, to know a document from a question."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The words before a document and before a question."""

    document: str = ""
    query: str = ""


_SEARCHING = "Represent this sentence for searching relevant passages: "
_KNOWN = (
    ("nomic-embed", Prefixes("search_document: ", "search_query: ")),
    (r"(^|[-_/])e5-", Prefixes("passage: ", "query: ")),
    ("embedding-?gemma", Prefixes("title: none | text: ", "task: search result | query: ")),
    ("mxbai-embed|arctic-embed", Prefixes(query=_SEARCHING)),
)


def prefixes_of(model: str) -> Prefixes:
    """What a model was trained to read first, as far as its name tells."""
    name = model.lower()
    return next((found for rule, found in _KNOWN if re.search(rule, name)), Prefixes())
