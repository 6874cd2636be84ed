"""How a request is fitted to a model's context window: sizes in, decisions out."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from itertools import accumulate
from math import ceil

WindowOf = Callable[[str], int | None]
"""The context window of a model, by its name, in tokens; None when nobody knows."""

_TOOL_SHARE = 0.25
_FOUND_SHARE = 0.15
_RESULT_SHARE = 0.125
_OUTPUT_SHARE = 0.25
_LONGEST_OUTPUT = 16_000
_SHORTEST_RESULT = 1600
_LEAST_ROOM = 256
"""Tokens a conversation needs at least: a question, a call and its result."""

_LOW = 0.5
"""How full the room is left when it was shortened: the rest fills with an unchanged beginning."""
_FULL = 0.75
"""How full it may be left when going further would cost more of what was said."""
_BLOCK_SHARE = 0.25
_LONGEST_BLOCK = 4_000
_LEAVING = 0.75
"""How full the room is when what leaves it next is summed up."""
_CROWDED = 0.6
"""How much of the room the newest turn may take where summaries still pay."""
_DIGEST_SHARE = 0.2
_DIGEST_FRAME = 50
_KEPT = 4
"""Newest messages that are never put aside or folded: two calls with their results."""

_CHARACTERS_PER_TOKEN = 3


_WHOLE = 32_768
"""Tokens of a window that is used whole."""
_USED_SHARE = 0.6
"""What is used of a larger one: models miss the more, the more they are shown."""


def used(window: int | None, most: int) -> int:
    """How much of a window is used; of one that nobody knows, as much as of the largest."""
    most = max(most, _WHOLE)
    if window is None:
        return most
    return min(window, max(int(window * _USED_SHARE), _WHOLE), most)


def weight(text: str) -> int:
    """How long a text is for a model: characters, or bytes where scripts need more tokens."""
    return len(text) if text.isascii() else len(text.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """How a window is shared out, in tokens unless said otherwise."""

    window: int
    prompt: int
    """What all of the request may take; the rest is for the answer."""
    tools: int
    """What the tools may take."""
    found: int
    """What tools that were searched for may take beside that."""
    result: int
    """The longest tool result shown whole, in characters."""


def allot(window: int, max_output: int | None = None) -> Allotment:
    """Share out a window."""
    output = min(int(window * _OUTPUT_SHARE), _LONGEST_OUTPUT)
    if max_output is not None:
        output = min(max_output, window // 2)
    return Allotment(
        window=window,
        prompt=window - output,
        tools=int(window * _TOOL_SHARE),
        found=int(window * _FOUND_SHARE),
        result=max(_SHORTEST_RESULT, int(window * _RESULT_SHARE * _CHARACTERS_PER_TOKEN)),
    )


def room(allotment: Allotment, base: int, ratio: float) -> int:
    """What is left for the conversation, in estimated tokens.

    Args:
        allotment: How the window is shared out.
        base: The estimate for instructions and tools.
        ratio: Real tokens for each estimated one; taken in tenths, so that the room stays the
            same while the ratio is found.
    """
    return int(allotment.prompt / (ceil(ratio * 10) / 10)) - base


def enough(room_left: int) -> bool:
    """Whether a conversation can be held in this much room."""
    return room_left >= _LEAST_ROOM


_LEAST_RATIO = 0.7
_LARGEST_RATIO = 3.0
_FORGETTING = 0.2


def calibrated(ratio: float, estimated: int, reported: int) -> float:
    """The ratio of real to estimated tokens after one more request told its real size.

    More is believed at once, less only by and by: a server that has silently cut the prompt
    reports little.
    """
    if estimated <= 0 or reported <= 0:
        return ratio
    seen = min(max(reported / estimated, _LEAST_RATIO), _LARGEST_RATIO)
    return seen if seen > ratio else ratio + (seen - ratio) * _FORGETTING


_NUMBER = re.compile(r"\d{4,8}")
_REFUSED_SHRINK = 0.75


def window_after_refusal(message: str, sent: int) -> int:
    """The window to believe in after a server said that a request was too long.

    Args:
        message: What the server said; most name the window and the length of the request.
        sent: What the request was estimated at.
    """
    named = [int(number) for number in _NUMBER.findall(message)]
    least = int(sent * _REFUSED_SHRINK)
    return max(min([number for number in named if number < sent] or [least]), _LEAST_ROOM)


class MessageRole(Enum):
    """What a message is in the order of a turn."""

    START = "start"
    """The user's message: a turn begins."""
    ANSWER = "answer"
    """The model's words and calls."""
    RESULTS = "results"
    """The results of the calls before."""


@dataclass(frozen=True, slots=True)
class MessageSizes:
    """One message and what each way of showing it takes."""

    role: MessageRole
    whole: int
    aside: int
    """With long results and arguments put aside."""
    line: int
    """As a part of a one-line summary."""


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """How much of a conversation is shown; three places in the list of its messages.

    Each only ever moves forward, and by leaps, so that the beginning of the prompt stays the same
    for many steps.
    """

    first: int = 0
    """The first message shown: the start of a turn."""
    folded: int = 0
    """Messages of the first turn before this one are one line each."""
    aside: int = 0
    """Messages before this one have their long results put aside."""


class MessageForm(StrEnum):
    """How a message is shown."""

    WHOLE = "whole"
    SHORT = "short"
    """With long results and arguments cut, or only named."""
    LINE = "line"
    """As a line of a summary."""
    LEFT_OUT = "left_out"


def manners(items: Sequence[MessageSizes], cut: HistoryCut) -> list[tuple[MessageForm, int]]:
    """How each message of a conversation is shown, and what that takes; nothing if it is not."""
    return [_manner(item, place, cut) for place, item in enumerate(items)]


def _manner(item: MessageSizes, place: int, cut: HistoryCut) -> tuple[MessageForm, int]:
    if place < cut.first:
        return MessageForm.LEFT_OUT, 0
    if cut.first < place < cut.folded:
        return MessageForm.LINE, item.line
    if place < cut.aside and item.aside < item.whole and cut.folded <= place:
        return MessageForm.SHORT, item.aside
    return MessageForm.WHOLE, item.whole


class ConversationSizes:
    """The messages of a conversation by their sizes; the size of any part is known at once."""

    def __init__(self, items: Sequence[MessageSizes]) -> None:
        self.items = items
        self._whole = [0, *accumulate(item.whole for item in items)]
        self._aside = [0, *accumulate(item.aside for item in items)]
        self._line = [0, *accumulate(item.line for item in items)]
        self._starts = [place for place, item in enumerate(items) if item.role is MessageRole.START]

    def size(self, cut: HistoryCut, room: int, end: int | None = None) -> int:
        """Tokens the conversation takes with this cut.

        Args:
            cut: How much of it is shown.
            room: What it may take, of which a share is for the summary.
            end: How many messages there are, when only an earlier state is looked at.
        """
        end = len(self.items) if end is None else end
        begin = max(cut.first, cut.folded)
        middle = min(max(begin, cut.aside), end)
        total = self._aside[middle] - self._aside[begin] + self._whole[end] - self._whole[middle]
        if cut.folded > cut.first:
            lines = self._line[cut.folded] - self._line[cut.first + 1] + _DIGEST_FRAME
            total += self.items[cut.first].whole + min(lines, digest_room(room))
        return total

    def starts(self, after: int, end: int) -> list[int]:
        """Where turns begin between two places."""
        return self._starts[bisect_right(self._starts, after) : bisect_left(self._starts, end)]

    def least(self) -> int:
        """Tokens it takes at least: the user's message and the newest step."""
        start = self._starts[-1] if self._starts else 0
        newest = max(start + 1, len(self.items) - 2)
        total = self.items[start].whole + self._whole[-1] - self._whole[newest]
        # With steps in between, there is a summary to leave room for.
        return total if newest == start + 1 else int(total / (1 - _DIGEST_SHARE))


def block_room(room: int) -> int:
    """What the standing block may take: it is kept free, so that a cut holds with and without."""
    return min(int(room * _BLOCK_SHARE), _LONGEST_BLOCK)


def leaving(cut: HistoryCut, talk: ConversationSizes, room: int) -> int:
    """How many of the turns are left out when the conversation goes on; 0 when none is soon.

    None either where the newest turn alone crowds the room: it would go on without end.
    """
    if talk.least() > room * _CROWDED:
        return 0
    if talk.size(cut, room) >= room * _LEAVING:
        cut = _drop_turns(cut, talk, room, len(talk.items))
    return len(talk.starts(-1, cut.first))


def digest_room(room: int) -> int:
    """What the summary of folded steps may take."""
    return int(room * _DIGEST_SHARE)


def advance(
    cut: HistoryCut, talk: ConversationSizes, room: int, end: int | None = None
) -> HistoryCut:
    """Move the cut if the conversation has outgrown its room; then far enough to last a while."""
    end = len(talk.items) if end is None else end
    if talk.size(cut, room, end) <= room:
        return cut
    for shorten in (_put_aside, _drop_turns, _fold):
        cut = shorten(cut, talk, room, end)
        if talk.size(cut, room, end) <= room * _FULL:
            break
    return cut


def retrace(talk: ConversationSizes, room: int) -> HistoryCut:
    """The cut a conversation has come to, step by step, had it been watched from its beginning.

    A turn that goes on after a restart, or follows another, so has the beginning that its
    predecessor had.
    """
    cut = HistoryCut()
    if talk.size(cut, room) <= room:
        return cut
    for place, item in enumerate(talk.items):
        if item.role is not MessageRole.ANSWER:
            cut = advance(cut, talk, room, place + 1)
    return cut


def _put_aside(cut: HistoryCut, talk: ConversationSizes, room: int, end: int) -> HistoryCut:
    """Put the oldest results aside."""
    place = max(cut.aside, cut.first, cut.folded)
    while place < end - _KEPT and talk.size(cut, room, end) > room * _LOW:
        place += 1
        cut = replace(cut, aside=place)
    return cut


def _drop_turns(cut: HistoryCut, talk: ConversationSizes, room: int, end: int) -> HistoryCut:
    """Leave out the oldest turns; the running one stays."""
    for start in talk.starts(cut.first, end):
        if talk.size(cut, room, end) <= room * _LOW:
            break
        cut = replace(cut, first=start)
    return cut


def _fold(cut: HistoryCut, talk: ConversationSizes, room: int, end: int) -> HistoryCut:
    """Fold the oldest steps of the only turn left into one line each."""
    if talk.items[cut.first].role is not MessageRole.START:
        return cut
    for place in range(max(cut.folded, cut.first + 2), end - 1):
        if talk.items[place].role is MessageRole.ANSWER:
            cut = replace(cut, folded=place)
            if talk.size(cut, room, end) <= room * _LOW:
                break
    return cut


_SENTENCE = re.compile(r"(?<=[.!?])\s")


def first_sentence(text: str) -> str:
    """A description in short."""
    line = text.strip().split("\n", 1)[0]
    return _SENTENCE.split(line, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """Bounds of the view: at most this many earlier messages, moved in blocks."""

    messages: int = 200

    def first(self, total: int) -> int:
        """The place of the first message shown, of a log that has ``total``.

        The view moves by half a window at a time, so the prompt keeps the same beginning for many
        turns and the provider's prompt cache keeps hitting.
        """
        if total <= self.messages:
            return 0
        block = max(1, self.messages // 2)
        return (total - self.messages + block - 1) // block * block
