"""How much of a text that is still being written can be shown.

A model's text may turn out to be a call of a tool, or the thoughts before an answer. Whatever may
still become one of these is held back until it is clear; everything else passes at once.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple, assert_never

from long_running_agents.models.text_calls import (
    FENCE,
    FENCE_LINE,
    RESULT,
    Judgement,
    Names,
    OpenTextCall,
    TextCall,
    TextCallsFound,
    judge,
    tag,
)

_THINK, _END_THINK = "<think>", "</think>"
_BREAK = re.compile(r"[\n<]")


class ShownText(NamedTuple):
    """What can be shown now, or is left when the text is complete."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[TextCall] = ()
    """Known at the end."""


class _Mode(Enum):
    OPENING = auto()
    THINKING = auto()
    LINE = auto()
    PLAIN = auto()
    FENCE = auto()
    FENCE_LINE = auto()
    ALL = auto()
    NONE = auto()


class TextCallFilter:
    """Splits a model's text into what it says, what it thinks and what it calls.

    Args:
        names: The tools it may call; without any, only thoughts are split off.
        anywhere: Whether JSON and Python count as calls wherever they stand. Otherwise they
            must begin or end the text: in the middle they are more likely an example.
    """

    def __init__(self, names: Names, *, anywhere: bool = False) -> None:
        self._names = names
        self._anywhere = anywhere
        self._mode: _Mode = _Mode.OPENING
        self._buffer = ""
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[TextCall] = []
        self._raw: list[str] = []
        self._pending: list[TextCall] = []
        self._pending_raw = ""
        self._blank = ""
        self._spoken = False
        self._thought = False

    def passes(self, piece: str) -> bool:
        """Whether a piece can be shown as it is, and need not be fed: the usual case, and cheap."""
        mode = self._mode
        return mode is _Mode.ALL or (
            mode is _Mode.PLAIN and not self._buffer and "\n" not in piece and "<" not in piece
        )

    def feed(self, piece: str) -> ShownText:
        """Take a piece of the text, and say what can be shown."""
        if self.passes(piece):
            return ShownText(piece)
        self._buffer += piece
        return self._drained(final=False)

    def end(self, *, native: bool) -> ShownText:
        """Say what is left when the text is complete; after native calls, text is only text."""
        shown = self._drained(final=True)
        calls = [*self._calls, *self._pending]
        if calls and not native:
            return shown._replace(calls=calls)
        held = "".join([*self._raw, self._pending_raw, self._blank])
        return ShownText(shown.text + held, shown.thinking, [])

    def _drained(self, *, final: bool) -> ShownText:
        while self._buffer and self._step(final=final):
            pass
        shown = ShownText("".join(self._texts), "".join(self._thoughts))
        self._texts.clear()
        self._thoughts.clear()
        return shown

    def _step(self, *, final: bool) -> bool:  # noqa: C901, PLR0911 - one line per mode
        """Go on with what is held; False when it has to wait."""
        match self._mode:
            case _Mode.OPENING:
                return self._opening(final=final)
            case _Mode.THINKING:
                return self._thinking(final=final)
            case _Mode.LINE:
                return self._line(final=final)
            case _Mode.PLAIN:
                return self._plain(final=final)
            case _Mode.FENCE:
                return self._fence_start(final=final)
            case _Mode.FENCE_LINE:
                return self._fence_line()
            case _Mode.ALL:
                self._texts.append(self._take(len(self._buffer)))
            case _Mode.NONE:
                self._buffer = ""
            case _:
                assert_never(self._mode)
        return False

    def _say(self, text: str) -> None:
        words = text.rstrip()
        if not words:
            self._hold_blank(text)
            return
        if self._pending:
            # Something follows, so it was an example.
            self._texts.append(self._pending_raw)
            self._pending, self._pending_raw = [], ""
        blank = text[len(words) :]
        if "\n" not in blank:
            words, blank = text, ""
        self._texts.append(self._blank + words)
        self._blank = blank
        self._spoken = True

    def _hold_blank(self, text: str) -> None:
        if self._pending:
            self._pending_raw += text
        elif self._blank or "\n" in text:
            self._blank += text
        else:
            self._texts.append(text)

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _found(self, found: TextCallsFound) -> None:
        raw = self._take(found.length)
        if found.explicit or self._anywhere or not self._spoken:
            self._calls.extend(found.calls)
            self._raw.append(self._blank + raw)
            self._blank = ""
            return
        self._pending.extend(found.calls)
        self._pending_raw += self._blank + raw
        self._blank = ""

    def _opening(self, *, final: bool) -> bool:
        stripped = self._buffer.lstrip()
        if stripped.startswith(_THINK):
            self._buffer = stripped[len(_THINK) :]
            self._mode = _Mode.THINKING
            return True
        if _THINK.startswith(stripped) and not final:
            return False
        if self._thought:
            self._buffer = stripped
        self._mode = _Mode.LINE if self._names else _Mode.ALL
        return True

    def _thinking(self, *, final: bool) -> bool:
        if not self._thought:
            self._buffer = self._buffer.lstrip()
        self._thought = self._thought or bool(self._buffer)
        inside, end, rest = self._buffer.partition(_END_THINK)
        if end:
            self._thoughts.append(inside.rstrip())
            self._buffer = rest
            self._thought = True
            self._mode: _Mode = _Mode.OPENING
            return True
        sure = inside if final else inside[: len(inside) - overlap(inside, _END_THINK)]
        sure = sure.rstrip()
        self._thoughts.append(sure)
        self._buffer = "" if final else inside[len(sure) :]
        return False

    def _line(self, *, final: bool) -> bool:
        stripped = self._buffer.lstrip(" \t")
        if not stripped and not final:
            return False
        if not stripped or stripped[0] == "\n":
            self._say(self._take(len(self._buffer) - len(stripped) + 1))
            return True
        indent = self._take(len(self._buffer) - len(stripped))
        verdict = judge(stripped, self._names, final=final)
        if verdict is OpenTextCall.WAIT:
            self._buffer = indent + self._buffer
            return False
        self._mode = _Mode.FENCE_LINE if FENCE_LINE.match(stripped) else _Mode.PLAIN
        return self._act(verdict, indent)

    def _plain(self, *, final: bool) -> bool:
        stop = _BREAK.search(self._buffer)
        if stop is None:
            self._say(self._take(len(self._buffer)))
            return False
        if stop[0] == "\n":
            self._say(self._take(stop.end()))
            self._mode = _Mode.LINE
            return True
        if stop.start():
            self._say(self._take(stop.start()))
        verdict = tag(self._buffer, self._names, final=final)
        return verdict is not OpenTextCall.WAIT and self._act(verdict, "")

    def _act(self, verdict: Judgement, indent: str) -> bool:
        if isinstance(verdict, TextCallsFound):
            self._mode = _Mode.LINE
            self._found(verdict)
        elif self._calls and self._buffer.startswith(RESULT):
            # It goes on to imagine what its call returns: that is neither said nor called.
            self._mode = _Mode.NONE
        else:
            # At least one character goes, so that it is not judged again.
            self._say(indent + self._take(1))
        return True

    def _fence_start(self, *, final: bool) -> bool:
        stripped = self._buffer.lstrip(" \t")
        if stripped.startswith(FENCE):
            self._say(self._take(len(self._buffer) - len(stripped) + len(FENCE)))
            self._mode = _Mode.PLAIN
            return True
        if FENCE.startswith(stripped) and not final:
            return False
        self._mode = _Mode.FENCE_LINE
        return True

    def _fence_line(self) -> bool:
        end = self._buffer.find("\n") + 1
        self._say(self._take(end or len(self._buffer)))
        if end:
            self._mode = _Mode.FENCE
        return True


def overlap(text: str, mark: str) -> int:
    """How much of a mark the end of a text may be the beginning of."""
    lengths = range(min(len(text), len(mark) - 1), 0, -1)
    return next((length for length in lengths if text.endswith(mark[:length])), 0)
