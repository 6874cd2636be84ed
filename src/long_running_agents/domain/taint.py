"""Taint: whoever has read foreign words may be speaking for them.

A page can tell a model what to do, and nothing in the model's answer shows who asked for it. So
from the first foreign word on, calls that could do harm for a stranger take a person's consent.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit, urlunsplit

from long_running_agents.domain.call import Call
from long_running_agents.domain.tool import Power

_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_LINK = re.compile(r"\]\(\s*<?([^\s<>()]+)>?[^()]*\)|\bhref\s*=\s*[\"']([^\"']+)[\"']")
_BARE = re.compile(r"(?<![\w@/.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/[^\s<>\"']*)?", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_"
_SHOWN = 3
_EVERYTHING = frozenset(Power)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """What a session has read that no person of ours wrote."""

    sources: tuple[str, ...] = ()
    seen: frozenset[str] = frozenset()
    """The addresses that the user wrote or that were read: following one says nothing new."""

    @property
    def told(self) -> str:
        """The sources in words."""
        shown = ", ".join(self.sources[-_SHOWN:])
        more = len(self.sources) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown


def concern(call: Call, taint: Taint) -> str:
    """Why a call needs consent after foreign words; empty when it does not."""
    if not taint.sources:
        return ""
    read = f"this session has read foreign words ({taint.told})"
    if call.powers == _EVERYTHING:
        return f"{call.tool} does not say what it can do, and {read}"
    if Power.EXTEND in call.powers:
        return f"{call.tool} changes what the agent can do, and {read}"
    if any(risk.instructs for risk in call.hazards):
        return f"{call.tool} writes what later turns are told, and {read}"
    if Power.SEND in call.powers and not _only_follows(call, taint):
        return f"{call.tool} can send data out, and {read}"
    return ""


def _only_follows(call: Call, taint: Taint) -> bool:
    """Whether a call only asks for what was already named, letter for letter."""
    return (
        Power.EXECUTE not in call.powers
        and bool(call.addresses)
        and not call.says_more
        and all(plain(address) in taint.seen for address in call.addresses)
    )


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
    """The addresses that stand in a text.

    Args:
        text: What was read.
        base: Where it was read: what its links are relative to.
    """
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
    """All addresses that were named in a session.

    Args:
        said: What the user wrote.
        read: Where something was read, and what.
    """
    found = {address for text in said for address in addresses_said(text)}
    for base, text in read:
        found.update(addresses_in(text, base))
    return frozenset(found)
