"""Taint: whoever has read foreign words may be speaking for them.

A page can tell a model what to do, and nothing in the model's answer shows who asked for it. So
from the first foreign word on, calls that could do harm for a stranger take a person's consent,
unless they are made of the user's own words. What was only overheard, such as a memory or the
description of a foreign tool, closes nothing: it takes consent for what repeats it.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from urllib.parse import urljoin, urlsplit, urlunsplit

from long_running_agents.domain.tool import Claim, GatedCall, Power, texts_in

_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_LINK = re.compile(r"\]\(\s*<?([^\s<>()]+)>?[^()]*\)|\bhref\s*=\s*[\"']([^\"']+)[\"']")
_BARE = re.compile(r"(?<![\w@/.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/[^\s<>\"']*)?", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_"
_SHOWN = 3
_EVERYTHING = frozenset(Power)
_WORD = re.compile(r"\w+")
_MENTION = re.compile(r"[\w.+-]+@[\w.-]+|[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}")
_FIGURE = re.compile(
    r"[-+]?\d{1,7}(?:[.,]\d{1,2})?"
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?"
    r"|\d{1,2}:\d\d"
)
_HANDLE = re.compile(r"(?=.{1,16}$)(?:[^\W\d_][^\W\d]*\d{0,2}|\d{1,4})")
_TELLING = 3
_LONG = 4
_RUN = 3
_MOSTLY = 0.5
_A_DAY = len("2026-01-31")


class QuotedWords:
    """Texts that can be asked whether they say something.

    Nothing here understands a text. Words are compared letter for letter, so what is said in other
    words or another script is nobody's, and counts as neither the user's nor a stranger's. No run
    of words goes from one text to the next.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        whole = [_folded(text) for text in texts]
        rows = [_WORD.findall(text) for text in whole]
        self.known = frozenset(word for row in rows for word in row)
        self._text = "\n".join(whole)
        self._row = " | ".join(["", *(" ".join(row) for row in rows), ""])

    def say(self, text: str) -> bool:
        """Whether all telling words of a text are here, and its addresses letter for letter."""
        folded = _folded(text)
        words = _WORD.findall(folded)
        if not words:
            return len(folded) <= _TELLING
        return all(self.have(address) for address in _MENTION.findall(folded)) and all(
            word in self.known for word in words if _tells(word)
        )

    def lend(self, text: str, own: "QuotedWords") -> bool:
        """Whether a text repeats something of these that is not in its author's own words."""
        folded = _folded(text)
        if any(self.have(found) and not own.have(found) for found in _MENTION.findall(folded)):
            return True
        # What all addresses have in common says nothing.
        words = _WORD.findall(_MENTION.sub(" ", re.sub("https?://", " ", folded)))
        strange = {word for word in words if word not in own.known}
        if any(word in self.known for word in strange if _is_name(word)):
            return True
        length = min(_RUN, len(words))
        runs = (words[start : start + length] for start in range(len(words) - length + 1))
        if length > 1 and any(
            not strange.isdisjoint(run) and f" {' '.join(run)} " in self._row for run in runs
        ):
            return True
        telling = {word for word in strange if len(word) >= _LONG}
        shared = len(telling & self.known)
        return shared > 1 and shared >= len(telling) * _MOSTLY

    def have(self, address: str) -> bool:
        """Whether an address is here, letter for letter and not as a part of another."""
        there = rf"(?<![\w.@+-]){re.escape(address)}(?![\w@-]|\.\w)"
        return re.search(there, self._text) is not None


# Without slots: the words are taken apart once, and only if somebody asks.
@dataclass(frozen=True, kw_only=True)
class Taint:
    """What a session has read that no person of ours wrote."""

    sources: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()
    """The addresses that the user wrote or that were read: following one says nothing new."""
    said: tuple[str, ...] = ()
    """What the user wrote."""
    told: tuple[tuple[str, str], ...] = ()
    """Where foreign words were read, and the words; where nobody knows, the place is empty."""
    heard: tuple[tuple[str, str], ...] = ()
    """The same for what was only overheard."""

    @property
    def shown(self) -> str:
        """The sources in words."""
        shown = ", ".join(self.sources[-_SHOWN:])
        more = len(self.sources) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown

    @cached_property
    def own(self) -> QuotedWords:
        """The user's words."""
        return QuotedWords(self.said)

    @cached_property
    def foreign(self) -> QuotedWords:
        """All foreign words, read or overheard."""
        return QuotedWords(text for _, text in (*self.told, *self.heard))

    def lender(self, text: str) -> str | None:
        """Where the foreign words come from that a text repeats; None when it repeats none."""
        return next((place for place, words in self._each if words.lend(text, self.own)), None)

    @cached_property
    def _each(self) -> list[tuple[str, QuotedWords]]:
        return [(place, QuotedWords([text])) for place, text in (*self.told, *self.heard)]

    def of_server(self, server: str) -> QuotedWords:
        """What a foreign server has told."""
        return QuotedWords(text for place, text in self.told if place.startswith(f"mcp:{server}/"))


def matters(call: GatedCall) -> bool:
    """Whether a call could do harm for a stranger."""
    return (
        Power.SEND in call.powers
        or Power.EXTEND in call.powers
        or any(risk.instructs for risk in call.hazards)
    )


def concern(call: GatedCall, taint: Taint) -> str:
    """Why a call needs consent after foreign words; empty when it does not."""
    if not matters(call):
        return ""
    return _worry(call, taint) if taint.sources else _echo(call, taint)


def _worry(call: GatedCall, taint: Taint) -> str:
    """Why a call needs consent in a session that has read foreign words."""
    read = f"this session has read foreign words ({taint.shown})"
    if call.powers == _EVERYTHING:
        known = call.server and _is_the_users(call, taint)
        return "" if known else f"{call.tool} does not say what it can do, and {read}"
    if Power.EXTEND in call.powers:
        return f"{call.tool} changes what the agent can do, and {read}"
    if any(risk.instructs for risk in call.hazards):
        return f"{call.tool} writes what later turns are told, and {read}"
    if Power.EXECUTE in call.powers or not _is_the_users(call, taint):
        return f"{call.tool} can send data out, and {read}"
    return ""


def repeats(call: GatedCall, taint: Taint) -> bool:
    """Whether only a fresh answer will do: foreign words may speak in it, or more than words."""
    sends = call.server or not call.powers & {Power.EXTEND, Power.EXECUTE}
    if not sends or any(risk.instructs for risk in call.hazards):
        return True
    if taint.sources and not taint.told:
        return True
    return any(taint.foreign.lend(text, taint.own) for _, text in texts_in(call.args))


def _echo(call: GatedCall, taint: Taint) -> str:
    """Why a call needs consent in a session that has only overheard foreign words."""
    # What a server says of its own tools is there to be repeated to it.
    own = f"mcp:{call.server}/"
    heard = tuple(each for each in taint.heard if not (call.server and each[0].startswith(own)))
    overheard = replace(taint, heard=heard)
    places = (overheard.lender(text) for _, text in texts_in(call.args))
    place = next((place for place in places if place is not None), None)
    return "" if place is None else f"{call.tool} repeats foreign words ({place})"


def _is_the_users(call: GatedCall, taint: Taint) -> bool:
    """Whether a call says nothing but what the user said, or what its receiver knows anyway.

    Where something is read, that is what the server itself has told. Where something is changed
    or sent, the user has to have named at least a part of it; beside that, figures and names of
    one word say which one is meant.
    """
    if call.script is not None:
        return False
    if call.addresses and not all(_is_known(address, taint) for address in call.addresses):
        return False
    rest = list(texts_in(call.said))
    if not call.server and call.addresses and not call.says_more:
        return True
    server = taint.of_server(call.server) if call.server and call.claim else None
    reads = call.claim is Claim.READS
    for name, text in rest:
        # One word alone is no content: it could be a password.
        knows = server is not None and (reads or len(text.split()) > 1) and server.say(text)
        if is_figure(text) or taint.own.say(text) or knows:
            continue
        if reads or not (name and is_handle(text)) or not _says_which(name, text, taint):
            return False
    if reads or call.addresses:
        return True
    return any(is_telling(text) and taint.own.say(text) for _, text in rest)


_WHICH = ("id", "name", "channel", "user", "recipient", "folder", "label", "project", "list")


def _says_which(name: str, text: str, taint: Taint) -> bool:
    """Whether a word says which one is meant, or is the agent's own; no stranger's password."""
    return name.casefold().endswith(_WHICH) or not taint.foreign.say(text)


def _is_known(address: str, taint: Taint) -> bool:
    """Whether an address was named before, letter for letter; people leave out the beginning."""
    forms: Collection[str] = (
        (address,) if "://" in address else (f"https://{address}", f"http://{address}")
    )
    return any(plain(form) in taint.seen for form in forms)


def plain(address: str) -> str:
    """An address as it is asked for: what is never sent is left out, and nothing else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    return urlunsplit(
        (parts.scheme.lower(), parts.netloc.lower(), parts.path or "/", parts.query, "")
    )


def addresses_in(text: str, base: str = "") -> Iterator[str]:
    """The addresses that stand in a text; its links are relative to where it was read."""
    for match in _ADDRESS.findall(text):
        for address in (match, html.unescape(match)):
            yield plain(address)
            yield plain(address.rstrip(_TRAILING))
    if base.startswith(("http://", "https://")):
        yield plain(base)
        for one, other in _LINK.findall(text):
            try:
                yield plain(urljoin(base, html.unescape(one or other)))
            except ValueError:
                continue


def addresses_said(text: str) -> Iterator[str]:
    """The addresses in what a person wrote; people leave out the beginning."""
    yield from addresses_in(text)
    for match in _BARE.findall(text):
        for address in (match, match.rstrip(_TRAILING)):
            yield plain(f"https://{address}")
            yield plain(f"http://{address}")


def seen_in(said: Iterable[str], read: Iterable[tuple[str, str]]) -> frozenset[str]:
    """All addresses that were named in a session."""
    found = {address for text in said for address in addresses_said(text)}
    for base, text in read:
        found.update(addresses_in(text, base))
    return frozenset(found)


def is_figure(text: str) -> bool:
    """Whether a text is a number of moderate length, a day or a time."""
    return _FIGURE.fullmatch(text.strip()) is not None


def is_handle(text: str) -> bool:
    """Whether a text is short enough to say only which one is meant."""
    return _HANDLE.fullmatch(text.strip()) is not None


def is_telling(text: str) -> bool:
    """Whether a text says something by itself: a word, or a whole day, and not just a number."""
    if is_figure(text):
        return len(text.strip()) >= _A_DAY
    return any(len(word) >= _TELLING and not word.isdigit() for word in _WORD.findall(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _tells(word: str) -> bool:
    return len(word) >= _TELLING or any(letter.isdigit() for letter in word)


def _is_name(word: str) -> bool:
    """Whether a word is one that nobody arrives at by chance, such as an account's number."""
    mixed = any(one.isdigit() != other.isdigit() for one, other in pairwise(word))
    return len(word) >= _LONG and (mixed or word.isdigit() or "_" in word)
