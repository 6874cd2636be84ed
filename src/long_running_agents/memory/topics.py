"""Topics: things of which a person has one at a time, so that a new one contradicts the old.

"I live in Berlin" and "I moved to Munich" share no word and little meaning, and yet only one of
them is true. The few topics that come up all the time are known by their wording.
"""

import re
from functools import cache

_WHO = (
    r"\b(?:i|the user|user)(?:'m|'ve|\u2019m|\u2019ve)?\s+(?:(?:am|is|have|has|had|was|now|just|"
    r"recently|currently|used to|will|soon|also|bin|habe|jetzt)\s+)*"
)
_MINE = r"\b(?:my|the user's|user's|the user\u2019s|mein|meine)\s+"

_TOPICS = {
    "home live moved": (
        rf"{_WHO}(?:live[sd]?|living|reside[sd]?|based|moved|moving|relocated|wohne|lebe)"
        r"\s+(?:back\s+)?(?:in|to|at|near|nach)\b"
        rf"|{_MINE}(?:home|home town|hometown|address|flat|apartment|house|wohnort|adresse)"
        r"\s+(?:is|are|ist)\b"
    ),
    "work job employer": (
        rf"{_WHO}(?:work(?:s|ed|ing)?|employed|arbeite)\s+(?:at|for|by|bei)\b"
        rf"|{_WHO}(?:joined|hired\s+by|got\s+a\s+job\s+at|started\s+(?:at|working))\b"
        rf"|{_MINE}(?:new\s+)?(?:employer|job|profession|arbeitgeber)\s+(?:is|ist)\b"
    ),
    "name called": (
        rf"{_MINE}(?:full\s+|first\s+)?name\s+(?:is|ist)\b"
        rf"|{_WHO}(?:called|named|hei\u00dfe)\b|\bcall\s+me\b"
    ),
    "birthday": rf"{_MINE}(?:birthday|date\s+of\s+birth|geburtstag)\b",
    "age years old turned": rf"{_WHO}(?:turned\s+\d+|\d+\s+years\s+old)\b|{_MINE}age\s+is\b",
}


@cache
def _wordings() -> dict[str, re.Pattern[str]]:
    """Compiled when the first text is looked at: few programs that load this look at any."""
    return {words: re.compile(wording, re.IGNORECASE) for words, wording in _TOPICS.items()}


def topics(content: str) -> set[str]:
    """What a text is about, each topic as words to look for."""
    return {words for words, wording in _wordings().items() if wording.search(content)}
