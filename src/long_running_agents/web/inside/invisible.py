"""Characters that a reader does not see and a model does: a usual way to smuggle orders."""

import re

_NEVER = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, direction
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags, and selectors by the hundred
    "\ud800-\udfff"
    "]+"
)
# These have a use in some scripts and in pictures, but one at a time.
_RUNS = re.compile("[\u200c\u200d\ufe0e\ufe0f]{2,}")
_BLANK = re.compile(r"\n{4,}")


def removed(text: str) -> str:
    """A text without what cannot be seen."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BLANK.sub("\n\n\n", _RUNS.sub("", _NEVER.sub("", text)))
