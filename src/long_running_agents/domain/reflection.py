"""What is learned from finished turns: typed, quoted, and grounded before anything is written.

Nothing here understands a text. An idea is believed when its quotation stands in the words of one
speaker of one turn, and every word of it that tells something stands in the clauses quoted, with
nothing turned into its opposite. What only a page or another stranger said is never learned.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property

from long_running_agents.domain.compaction import clip, exact
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import MemoryId, Trust
from long_running_agents.domain.rule import own_words, quoted
from long_running_agents.domain.session import MINE
from long_running_agents.domain.taint import Taint
from long_running_agents.domain.text import is_question, is_small_talk
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus


class LearnedKind(StrEnum):
    """What kind of thing was learned."""

    FACT = "fact"
    LESSON = "lesson"
    """A mistake and what was right instead."""
    RULE = "rule"
    """What a person wants to hold from now on; it is suggested, never pinned."""
    SKILL = "skill"
    """What could be a tool; it is proposed, never enabled."""
    QUESTION = "question"
    """What stayed open."""


class LearnedState(StrEnum):
    """What became of it."""

    NEW = "new"
    MERGED = "merged"
    """It was known already."""
    SUGGESTED = "suggested"
    """A person decides: a rule, a skill, or what contradicts something known."""
    REFUSED = "refused"
    RESTING = "resting"
    """The curator has put it aside; it can be taken back for 30 days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Something that was learned, or was not and why."""

    number: int
    kind: LearnedKind
    state: LearnedState
    text: str
    quote: str = ""
    """The words of the log that it rests on."""
    reason: str = ""
    """Why it was refused, merged or put aside."""
    session_id: SessionId | None = None
    turn_id: TurnId | None = None
    memory_id: MemoryId | None = None
    """The memory that it became, was merged with, or is about."""
    shown: int = 0
    """How often the memory was recalled."""
    used: int = 0
    """How often its words came up in a turn that went well."""
    harmed: int = 0
    """How often it was recalled in a turn whose evidence was refuted."""
    at: datetime
    owner: str = MINE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionReport:
    """What one run of reflection, or of the curator, did."""

    sessions: int = 0
    turns: int = 0
    learned: tuple[Learned, ...] = ()
    tokens: int = 0
    note: str = ""
    """Why nothing was read, or not all."""


NOT_RUN = "Not run:"
"""How the result of a call begins that a budget, a person or a rule has kept from running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """Something that a model says was learned; nothing of it is believed yet."""

    kind: LearnedKind
    text: str
    quote: str
    turn: int
    """The number of the turn that is quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A call that failed, and a later one of the same tool that worked with other arguments."""

    failed: ToolCallRecord
    worked: ToolCallRecord

    @property
    def error(self) -> str:
        """What came of the first."""
        return clip(result_of(self.failed), _ERROR)

    @property
    def text(self) -> str:
        """The lesson in a sentence."""
        before, after = (clip(call.args, _ARGS) for call in (self.failed, self.worked))
        return f"`{self.failed.tool}` with {before} failed: {self.error}; {after} worked"


# Without slots: what was said in it is taken apart once.
@dataclass(frozen=True, kw_only=True)
class SettledTurn:
    """A turn that has ended, with what was said and done in it."""

    turn: Turn
    calls: Sequence[ToolCallRecord] = ()
    foreign: bool = False
    """Whether what stands in its prompt was written by a program."""

    @property
    def told(self) -> bool:
        """Whether it is a source of facts: a person asked, and it came to a good end."""
        good = (TurnStatus.DONE, TurnStatus.STEERED)
        mine = self.turn.origin is TurnOrigin.USER and not self.foreign
        return mine and self.turn.status in good

    @cached_property
    def said(self) -> Sequence[tuple[Trust, str]]:
        """The words of each speaker, the most trusted first; errors are nobody's."""
        results = [result_of(call) for call in self.calls if call.state is CallState.DONE]
        return (
            (Trust.USER, own_words(self.turn.prompt)),
            (Trust.AGENT, self.turn.answer),
            *((Trust.TOOL, result) for result in results),
        )


@dataclass(frozen=True, slots=True)
class Grounded:
    """It stands in the words of this speaker."""

    trust: Trust
    correction: Correction | None = None
    """What a lesson was drawn from."""


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """It does not, and why."""

    reason: str


def ground(idea: Idea, turns: Sequence[SettledTurn], taint: Taint) -> Grounded | Ungrounded:
    """Decide whether an idea stands in the turns that it was drawn from."""
    found = next((each for each in turns if each.turn.number == idea.turn), None)
    if found is None or (idea.kind is not LearnedKind.LESSON and not found.told):
        return Ungrounded(f"turn {idea.turn} is no source of it")
    if not _plain(idea.text) or len(_plain(idea.quote)) < _SHORTEST:
        return Ungrounded("it has no quotation")
    match idea.kind:
        case LearnedKind.LESSON:
            return _ground_lesson(idea, turns, taint)
        case LearnedKind.SKILL:
            return _ground_skill(idea, found, taint)
        case LearnedKind.FACT | LearnedKind.RULE | LearnedKind.QUESTION:
            return _ground_words(idea, found, taint)


def _ground_words(idea: Idea, turn: SettledTurn, taint: Taint) -> Grounded | Ungrounded:
    said = next(((who, text) for who, text in turn.said if stands_in(idea.quote, text)), None)
    if said is None:
        return Ungrounded(f"nobody said the quotation in turn {idea.turn}")
    trust, words = said
    if idea.kind is LearnedKind.RULE:
        whole = trust is Trust.USER and quoted(idea.quote, words)
        return Grounded(trust) if whole else Ungrounded("no person said it as a whole sentence")
    if idea.kind is LearnedKind.FACT and (reason := unsupported(idea.text, idea.quote, words)):
        return Ungrounded(reason)
    return _by_speaker(idea, trust, taint)


def _by_speaker(idea: Idea, trust: Trust, taint: Taint) -> Grounded | Ungrounded:
    if trust is Trust.USER:
        return Grounded(trust)
    if place := taint.lender(idea.quote) or taint.lender(idea.text):
        return Ungrounded(f"only {place} says it: what strangers write is not learned")
    if trust is Trust.AGENT and taint.sources:
        return Ungrounded("the agent said it after it had read strangers' words")
    return Grounded(trust)


def _ground_lesson(idea: Idea, turns: Sequence[SettledTurn], taint: Taint) -> Grounded | Ungrounded:
    for each in corrections([call for turn in turns for call in turn.calls]):
        words = f"{result_of(each.failed)}\n{each.failed.args}\n{each.worked.args}\n{each.text}"
        if stands_in(idea.quote, words) and not _strange(idea.text, words):
            return lesson_trust(each, taint)
    return Ungrounded("no call failed and then worked that it could be drawn from")


def lesson_trust(correction: Correction, taint: Taint) -> Grounded | Ungrounded:
    """Who speaks in a lesson: the agent, which made the calls, or a stranger in the error."""
    if place := taint.lender(correction.text):
        return Ungrounded(f"{place} speaks in it: what strangers write is not learned")
    return Grounded(Trust.TOOL if taint.sources else Trust.AGENT, correction)


def _ground_skill(idea: Idea, turn: SettledTurn, taint: Taint) -> Grounded | Ungrounded:
    if taint.sources:
        return Ungrounded(f"strangers' words were read there ({taint.shown})")
    given = [str(value) for call in turn.calls for value in call.arguments.values()]
    if any(stands_in(idea.quote, text) for text in given):
        return Grounded(Trust.AGENT)
    return Ungrounded(f"no call of turn {idea.turn} has the quotation")


def corrections(calls: Sequence[ToolCallRecord]) -> list[Correction]:
    """The failures among calls, in their order, that a later call of the same tool mended."""
    found: dict[str, Correction] = {}
    for place, call in enumerate(calls):
        if call.state is not CallState.FAILED or result_of(call).startswith(NOT_RUN):
            continue
        for later in calls[place + 1 :]:
            if later.tool == call.tool and later.state is CallState.DONE:
                if _mends(call, later):
                    found.setdefault(
                        f"{call.tool}{call.args}", Correction(failed=call, worked=later)
                    )
                break
    return list(found.values())


def _mends(failed: ToolCallRecord, worked: ToolCallRecord) -> bool:
    """Whether two calls were for the same thing: most of what they were given is the same."""
    if failed.arguments == worked.arguments or max(len(failed.args), len(worked.args)) > _LONGEST:
        return False
    one, other = (
        "\n".join(f"{name}={value}" for name, value in sorted(call.arguments.items()))
        for call in (failed, worked)
    )
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _SAME


def result_of(call: ToolCallRecord) -> str:
    """What a model was told came of a call, as text."""
    try:
        value: object = json.loads(call.result or '""')
    except ValueError:
        return call.result or ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_SHORTEST = 4
_ERROR, _ARGS, _LONGEST = 200, 160, 400
"""Characters of an error and of arguments in a lesson, and of arguments that teach one."""
_SAME = 0.6


def stands_in(quote: str, said: str) -> bool:
    """Whether a quotation is there, letter for letter; only the spaces may differ."""
    return _plain(quote) in _plain(said)


def _plain(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").split())


_CLAUSE = re.compile(r"[.!?;,](?=\s|$)|\s(?=(?:and|but|or|und|aber|oder)\s)")
_DENIED = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|hardly|stopped|quit"
    r"|nicht|nie|kein\w*|ohne|pas|jamais|nunca|sin)\b|n't\b",
    re.IGNORECASE,
)
_WISHED = re.compile(
    r"\b(?:if|would|could|might|maybe|perhaps|suppose|imagine|wish|unless|pretend|hypothetically"
    r"|please|wenn|falls|vielleicht|würde|könnte|bitte)\b",
    re.IGNORECASE,
)
_GLUE = frozenset(
    {"user", "users", "they", "them", "their", "theirs", "have", "has", "had", "were", "been"}
    | {"who", "whose", "also", "his", "her", "nutzer", "der", "die", "das", "ihr", "sein", "ist"}
    | {"the", "this", "that", "and", "are", "was", "does", "did"}
)
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "en", "st", "e", "t", "n")
_STEM = 3


def unsupported(text: str, quote: str, said: str) -> str:
    """Why a statement is not what a quotation says; empty when it is."""
    if strange := exact(text) - exact(said) - {""}:
        return "it names what was not said: " + ", ".join(sorted(strange)[:_STEM])
    context = _around(quote, said)
    if is_question(context) or is_small_talk(context) or _WISHED.search(context):
        return "it was asked, wished or imagined, not told"
    if not list(_telling(text)):
        return "it says nothing"
    if strange := _strange(text, context):
        return "the quotation does not say: " + ", ".join(strange[:_STEM])
    # Of "I do not eat fish", the rest says the opposite.
    return "" if _denies(text) == _denies(context) else "it says the opposite of what was said"


def restates(text: str, known: str) -> bool:
    """Whether a text says nothing that another does not say in the same words."""
    return not _strange(text, known) and _denies(text) == _denies(known)


def _denies(text: str) -> bool:
    return _DENIED.search(_plain(text)) is not None


def _around(quote: str, said: str) -> str:
    """The whole clauses that a quotation touches."""
    words, wanted = _plain(said), _plain(quote)
    start = words.index(wanted) if wanted in words else 0
    end = start + len(wanted)
    breaks = [match.start() + 1 for match in _CLAUSE.finditer(words)]
    first = max((place for place in breaks if place <= start), default=0)
    last = min((place for place in breaks if place >= end), default=len(words))
    return words[first:last]


def _strange(text: str, said: str) -> list[str]:
    """The telling words of a text that are not in what was said."""
    known = set(_WORD.findall(_plain(said)))
    folded = {word.casefold() for word in known}
    stems = {_stem(word) for word in folded}
    return [
        word
        for word, named in _telling(_plain(text))
        if (word.casefold() not in folded if named else _stem(word.casefold()) not in stems)
    ]


def _telling(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text that say something, and whether each is a name or a number."""
    for place, match in enumerate(_WORD.finditer(text)):
        word = match.group().removesuffix("'s")
        named = any(letter.isdigit() for letter in word) or (place > 0 and word != word.lower())
        if word.casefold() not in _GLUE and (named or len(word) >= _STEM):
            yield word, named


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word.removesuffix(ending)
    return word
