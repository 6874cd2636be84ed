"""Texts: strict JSON from strangers, an index of keywords, and small talk."""

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from math import log
from typing import Any, NoReturn

from long_running_agents.errors import UsageError

_LARGEST = 2**63 - 1


def parse(raw: bytes | str) -> Any:
    """A JSON text as values that can be stored, sent and compared.

    The usual parser takes what JSON does not have (NaN, Infinity), what no database takes (half
    characters, numbers without end), and answers a thousand brackets with a bug of its own.

    Raises:
        UsageError: It is no JSON, or has numbers or characters in it that only some can read.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        value = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_bounded,
            object_pairs_hook=_unique,
        )
        if "\\u" in text:
            # Half of a pair can be written in JSON, and in nothing else.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    except UnicodeError:
        raise _refused("it is not UTF-8, or has half a character in it") from None
    except json.JSONDecodeError as error:
        raise _refused(f"{error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise _refused(str(error)) from None
    return value


def _refused(why: str) -> UsageError:
    return UsageError(f"This is no JSON that can be taken: {why}.", hint="Send a JSON object.")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _bounded(text: str) -> int:
    # The length first: turning a million digits into a number takes long.
    if len(text) > len(str(_LARGEST)) + 1 or not -_LARGEST <= (number := int(text)) <= _LARGEST:
        raise ValueError("a whole number has more than 64 bits")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


_WORD = re.compile(r"[^\W_]{2,}")
_COMMON = frozenset(
    {"an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "how", "if", "in"}
    | {"into", "is", "it", "its", "me", "my", "not", "of", "on", "one", "or", "that", "the"}
    | {"then", "there", "this", "to", "was", "what", "when", "which", "with", "you", "your"}
)
_SHORTEST_STEM = 3
_NAME_WEIGHT = 3
"""How often a word of a name counts."""


def keywords(text: str) -> list[str]:
    """Words without the endings that most often keep two forms of one word apart."""
    found = _WORD.findall(text.lower().replace("_", " "))
    return [_stem(word) for word in found if word not in _COMMON]


def about(description: str, parameters: Mapping[str, Any]) -> str:
    """What there is to find a tool by, beside its name."""
    return " ".join([description, *(parameters.get("properties") or {})])


class WordIndex:
    """Finds things by their words: rare words count more, and a name more than a text."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Take the things in."""
        self._size = len(texts)
        self._postings: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, text in texts.items():
            words = Counter(keywords(text) + keywords(name) * _NAME_WEIGHT)
            for word, count in words.items():
                self._postings[word][name] = min(count, _NAME_WEIGHT + 1)

    def scores(self, query: str) -> dict[str, float]:
        """How well things match some words, by name; those that do not match are left out."""
        found: defaultdict[str, float] = defaultdict(float)
        for word in dict.fromkeys(keywords(query)):
            posting = self._postings.get(word, {})
            for name, count in posting.items():
                found[name] += log(1 + self._size / len(posting)) * count
        return dict(found)


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


_SPOKEN_WORD = re.compile(r"\w+(?:'\w+)?")
_MOST = 12
_TALK = re.compile(
    r"hi+|hello+|hey+|heya|hiya|howdy|yo|hallo|hallöchen|hola|ciao|salut|bonjour|moin|servus|olá"
    r"|hej|grüezi|grüss|gott|greetings?|thanks?|thx|ty|merci|danke|dank|gracias|grazie|obrigad[oa]"
    r"|cheers|bye|goodbye|goodnight|tschüss|morning|morgen|afternoon|evening|night|tag|abend"
    r"|nacht|dia|días|welcome|sorry|great|nice|cool|fine|perfect|wonderful|lovely|how|what's|wie"
    r"|lol|np|你好|您好|谢谢|こんにちは|ありがとう|привет|спасибо"
)
_FILLER = re.compile(
    r"a|again|all|and|are|am|beaucoup|bald|best|bis|bom|buenos|day|dear|dir|es|everyone|everything|for"
    r"|friend|geht|goes|going|good|guten?|have|helped|i|i'm|is|it|later|lot|me|much|now|please|see|so|schön|soon|that|that's"
    r"|the|there|things|this|to|today|tomorrow|too|up|very|vielen|was|well|with|world|you|your?"
)
_QUESTION = re.compile(
    r"[?\uff1f]\s*$|^(?:who|what|when|where|which|why|whose|how|is|are|was|do|does|did|can|could"
    r"|would|will|should|may)\b(?!.*[.!]\s*$)"
    r"|^(?:the )?user(?: is| has)? (?:(?:ask(?:s|ed|ing))(?! for\b)|want(?:s|ed) to know"
    r"|greet(?:s|ed|ing)|thank(?:s|ed|ing)|(?:say(?:s|ing)|said)\W+(?:hi|hello|hallo|hey)"
    r"|(?:sent|gave) a greeting|(?:started|initiated|began|opened) (?:the |a )?conversation with"
    r"\W+(?:a greeting|hi|hello|hallo|hey))\b"
    r"|^user\W+(?:hi|hello|hallo|hey)\W*$",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"\b(?:remember|memori[sz]e|don['\u2019]t forget|do not forget|never forget|keep in mind"
    r"|bear in mind|for (?:future|later) reference|for (?:the )?(?:next time|future)|from now on"
    r"|in (?:the )?future|(?:make|take) a note|note (?:that|down|for later|:)|for the record"
    r"|(?:save|store|keep|add) (?:this|that|it)|your memory|about me:"
    r"|(?:write|jot) (?:it |this |that )?down|you (?:should )?know for|merk dir|vergiss nicht)\b",
    re.IGNORECASE,
)
_RECALLING = re.compile(
    r"\byou (?:still )?remember\b(?! that)|\b(?:what|when|where|who|which|how)\b.*\bremember"
    r"|\b(?:search|look|find|check)\b.*\byour memory\b"
    r"|\bI (?:can['\u2019]t|don['\u2019]t) (?:remember|recall)\b.*",
    re.IGNORECASE,
)


def is_small_talk(text: str) -> bool:
    """Whether a text is a greeting, thanks or a farewell, and nothing besides."""
    words = _SPOKEN_WORD.findall(text.casefold().replace("\u2019", "'"))
    if not words:
        return any(unicodedata.category(letter) == "So" for letter in text)
    talk = [word for word in words if _TALK.fullmatch(word)]
    filler = [word for word in words if _FILLER.fullmatch(word)]
    return bool(talk) and len(talk) + len(filler) == len(words) <= _MOST


def is_question(text: str) -> bool:
    """Whether a text asks, or tells that somebody asked, greeted or thanked."""
    return bool(_QUESTION.search(text.strip()))


def asks_to_remember(text: str) -> bool:
    """Whether somebody wants something to be remembered, and does not ask what is."""
    return bool(_REMEMBER.search(_RECALLING.sub("", text)))
