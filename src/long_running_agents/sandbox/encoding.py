"""How the bytes of a file are text, if they are: the encoding and its mark are kept."""

import codecs
from dataclasses import dataclass

HEAD = 1 << 16
"""How many bytes are looked at to tell text from something else."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LAST_OF_A_CHARACTER = 4
_ODD = bytes(set(range(32)) - set(b"\t\n\r\f\x08\x1b"))
_TOO_ODD = 0.02


@dataclass(frozen=True, slots=True)
class Encoding:
    """What turns bytes into text, and back into the same bytes."""

    codec: str
    mark: bytes = b""
    """The byte order mark at the beginning."""

    @property
    def by_bytes(self) -> bool:
        """Whether a line ends at a byte, so that a part of a file can be read."""
        return self.codec in ("utf-8", "latin-1")

    def decoded(self, content: bytes) -> str:
        """The text, without the mark.

        Raises:
            UnicodeDecodeError: It is no such text.
        """
        return content[len(self.mark) :].decode(self.codec)

    def encoded(self, text: str) -> bytes:
        """The bytes, with the mark.

        Raises:
            UnicodeEncodeError: A character cannot be written so.
        """
        return self.mark + text.encode(self.codec)


def encoding_of(head: bytes, *, whole: bool) -> Encoding | None:
    """The encoding of a file that begins like this; None if it is no text.

    Args:
        head: The beginning.
        whole: Whether that is all of it; otherwise its last character may be cut.
    """
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, mark)
    if b"\0" in head:
        return None
    if _is_utf8(head, whole=whole):
        return Encoding("utf-8")
    odd = len(head) - len(head.translate(None, _ODD))
    # Every byte is a character of Latin-1, so nothing is lost on the way back.
    return None if odd > len(head) * _TOO_ODD else Encoding("latin-1")


def _is_utf8(head: bytes, *, whole: bool) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return not whole and error.start >= len(head) - _LAST_OF_A_CHARACTER + 1
    return True
