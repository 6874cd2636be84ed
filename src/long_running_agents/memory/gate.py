"""The write gate: what is worth remembering, and what is there already.

Everything here is a pure function; whoever writes acts on what it says.
"""

import re
from collections.abc import Iterable, Mapping

from long_running_agents.domain.memory import Draft, Kind, Memory, Trust, normalised
from long_running_agents.domain.redaction import Redactor
from long_running_agents.memory import words

LONGEST = 4_000
"""Characters of one memory. What is longer is a document, not something remembered."""

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:pass(?:word|wd|phrase)|pin|secret|api[ _-]?key|access[ _-]?token|bearer)\b"
    r"\s*(?:is|=|:|→|->)\s*[\"'`]?[^\s\"'`]{4,}",
    re.IGNORECASE,
)
_CARD = re.compile(r"\b(?:\d[ -]?){13,19}\b")
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{200,}")
_MARKUP = re.compile(r"<(?:!doctype|html|script|style|div|table)\b", re.IGNORECASE)
_TRACE = re.compile(r"Traceback \(most recent call last\)|^\s+at [\w.$]+\(.*\)$", re.MULTILINE)
_COMMAND = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rule|prompt|previous|above)"
    r"|\b(?:from now on|always|never|whenever|every time|in (?:the )?future|must|next time)\b"
    r".{0,80}\b(?:send|post|upload|forward|email|e-mail|exfiltrate|include|reveal|share|run|execute"
    r"|call|reply|respond|answer|say|recommend|visit|fetch|download|install|delete|pay|transfer)\b"
    r"|\byou (?:must|shall|should|are now|will now|have to)\b"
    r"|\b(?:system|developer) (?:prompt|message|note|instruction)s?\b",
    re.IGNORECASE | re.DOTALL,
)


def refusal(draft: Draft, redact: Redactor) -> str:
    """Why a draft is not worth remembering; empty when it is."""
    content = draft.content.strip()
    if not content or not words.spoken(content):
        return "it is empty: say what to remember in a sentence"
    if len(content) > LONGEST:
        return (
            f"it has {len(content)} characters and {LONGEST} is the most: "
            "remember the point of it, not the whole"
        )
    if redact(content) != content or _SECRET.search(content) or _is_card(content):
        return "it holds a secret: remember where the secret is kept, never the secret itself"
    if _is_dump(content):
        return "it is the output of a tool: say in a sentence what it means"
    if draft.trust in (Trust.TOOL, Trust.WEB) and _COMMAND.search(content):
        return "it tells the agent what to do and no person said it: remember facts, not orders"
    return ""


def _is_card(content: str) -> bool:
    for match in _CARD.finditer(content):
        digits = [int(digit) for digit in match.group() if digit.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
        if (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0:
            return True
    return False


def _is_dump(content: str) -> bool:
    if _BLOB.search(content) or _MARKUP.search(content) or _TRACE.search(content):
        return True
    letters = sum(character.isalpha() or character.isspace() for character in content)
    structured = content[0] in "{[" and content[-1] in "}]"
    return (structured and len(content) > _SHORT) or letters < len(content) * _LEAST_LETTERS


_SHORT = 80
_LEAST_LETTERS = 0.5


_ALIKE = 0.6
_NEAR = 0.82


def similar(draft: Draft, known: Iterable[Memory], cosines: Mapping[int, float]) -> list[Memory]:
    """Which memories say nearly the same or the contrary, so that both should not just stand."""
    return [
        memory
        for memory in known
        if memory.kind is not Kind.CONVERSATION
        and memory.valid_to is None
        and (
            cosines.get(memory.id, 0.0) >= _NEAR or overlap(draft.content, memory.content) >= _ALIKE
        )
    ]


def overlap(one: str, other: str) -> float:
    """How many of the telling words of the shorter of two texts are in the other."""
    first, second = set(words.asked(normalised(one))), set(words.asked(normalised(other)))
    if not first or not second:
        return 0.0
    return len(first & second) / min(len(first), len(second))


_DERIVED = 0.5


def origins(content: str, said: str, heard: Iterable[Memory]) -> list[Memory]:
    """Which of the memories somebody had in mind a text is drawn from.

    Args:
        content: The text.
        said: What the user said before it: words from there are the user's own.
        heard: What was recalled or looked up before it.
    """
    own = set(words.asked(said))
    news = set(words.asked(content)) - own
    if not news:
        return []
    return [
        memory
        for memory in heard
        if len(news & set(words.asked(memory.content))) / len(news) >= _DERIVED
    ]


_TOLD = 0.6


def told_by_user(content: str, said: str) -> bool:
    """Whether the words of a text are mostly the user's own."""
    telling = set(words.asked(content))
    return bool(telling) and len(telling & set(words.spoken(said))) / len(telling) >= _TOLD


def least_trusted(trusts: Iterable[Trust]) -> Trust:
    """The trust of something that was made from several things."""
    return min(trusts, key=lambda trust: trust.rank)
