"""Words as the keyword half of the search knows them.

SQLite's tokenizer takes a run of Chinese, Japanese, Korean or Thai for one long word. Such runs
are cut into single characters and pairs, on the way in and in the question alike, so that any
part of them is found.
"""

import re

from long_running_agents.store.memory_entries import Indexed

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai and Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana and Katakana
    "\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # Hangul: spaced, but its particles are not
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")

_STOP = frozenset(
    """
    a about an and are as at be been by did do does for from had has have he her him his how i in
    is it its me my of on or our s she t that the their them they this to us was we were what when
    where which who whom whose why will with would you your
    """.split()  # noqa: SIM905 - a text is read more easily than eighty quoted words
)

MOST_WORDS = 32
"""Words of a question beyond these are left out: a pasted page is not a question."""


def searchable(text: str) -> str:
    """Text as it is put into the index."""
    return _RUN.sub(_spaced, text)


def _spaced(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = (characters[place : place + 2] for place in range(len(characters) - 1))
    return f" {' '.join([*characters, *pairs])} "


def asked(question: str) -> list[str]:
    """The words of a question that tell something, each once, in their order."""
    words: list[str] = []
    for word in _WORD.findall(question.lower()):
        words.extend(_pieces(word))
    telling = [word for word in words if word not in _STOP] or words
    return list(dict.fromkeys(telling))[:MOST_WORDS]


def _pieces(word: str) -> list[str]:
    """A word as it is; a run of an unspaced script as its pairs, or its only character."""
    pieces: list[str] = []
    end = 0
    for run in _RUN.finditer(word):
        if run.start() > end:
            pieces.append(word[end : run.start()])
        characters, end = run.group(), run.end()
        places = range(max(1, len(characters) - 1))
        pieces.extend(characters[place : place + 2] for place in places)
    if end < len(word):
        pieces.append(word[end:])
    return pieces


def spoken(text: str) -> list[str]:
    """Every word of a text, in its order."""
    return _WORD.findall(text.lower())


QUESTION, TIME, NUMBER = 1, 2, 4
"""What a text has, as bits: it asks, it says when, it says how many."""

_TIMES = re.compile(
    r"\b(?:ago|today|tonight|tomorrow|yesterday|since|recently|soon|now|just|last|next|mornings?"
    r"|evenings?|nights?|days?|weeks?|weekends?|months?|years?|summer|winter|autumn|spring"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|(?:19|20)\d\d)\b"
    r"|[\u5e74\u6708\u65e5\u9031\u5468]",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|hundred|thousand|dozen|couple|few|several|once|twice|first|second|third)\b",
    re.IGNORECASE,
)
_ASKS = ("?", "\uff1f")


def signs(content: str) -> int:
    """What a text has, as bits."""
    found = QUESTION if content.rstrip().endswith(_ASKS) else 0
    found |= TIME if _TIMES.search(content) else 0
    return found | (NUMBER if _NUMBERS.search(content) else 0)


_WHEN = re.compile(r"\bwhen\b|\bhow long\b|\bwhat (?:day|date|month|year|time)\b|\bsince when\b")
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|old|far|tall|big)\b")


def wanted(question: str) -> int:
    """The signs that an answer to a question should have."""
    lowered = question.lower()
    found = TIME if _WHEN.search(lowered) else 0
    return found | (NUMBER if _HOW_MANY.search(lowered) else 0)


_NAMED = re.compile(r"(?<=[\w,] )[A-Z][a-z]+|\"[^\"]+\"")
_YOU = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_LONG = 40
_MANY = 3


def telling(content: str) -> float:
    """How much a text is likely to tell; more when it is long and gives names.

    A question tells less, and so does what is mostly about the one who listens.
    """
    told = min(len(content.split()), _LONG) / _LONG + _share(_NAMED, content)
    asks = content.rstrip().endswith(_ASKS)
    return told - _share(_YOU, content) * 2 / 3 - (4 / 3 if asks else 0)


def _share(pattern: re.Pattern[str], content: str) -> float:
    return min(len(pattern.findall(content)), _MANY) / _MANY


def in_context(before: str, content: str) -> str:
    """A text with what was said just before it."""
    return f"{before}\n{content}" if before else content


def indexed(content: str) -> Indexed:
    """What the index knows of a content."""
    return Indexed(searchable(content), len(spoken(content)), telling(content), signs(content))
