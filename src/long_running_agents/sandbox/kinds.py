"""What a file is that is no text, told by its first bytes."""

import hashlib
from collections.abc import Callable

_BLOCK = 1 << 20
_HASHED = 64 << 20
_SHOWN = 16

_BY_BEGINNING = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document kept as one (xlsx, docx, jar, whl)"),
    (b"\xd0\xcf\x11\xe0", "an old Office document (xls, doc)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"PAR1", "a Parquet table"),
    (b"ARROW1", "an Arrow table"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"MZ", "a Windows program"),
    (b"\0asm", "a WebAssembly module"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"RIFF", "RIFF data (WAV, AVI or WebP)"),
    (b"GGUF", "the weights of a model (GGUF)"),
)
_BY_PLACE = ((b"ftyp", 4, "MP4 video or audio"), (b"ustar", 257, "a tar archive"))


def kind_of(head: bytes) -> str:
    """What a file that begins like this is, in words."""
    for beginning, words in _BY_BEGINNING:
        if head.startswith(beginning):
            return words
    for sign, place, words in _BY_PLACE:
        if head[place:].startswith(sign):
            return words
    return "binary data of a kind nobody here knows"


def described(path: str, size: int, read: Callable[[int, int], bytes]) -> str:
    """A file that is no text, in a few lines.

    Args:
        path: Its name.
        size: Its bytes.
        read: Reads bytes, from an offset on.
    """
    head = read(0, 512)
    digest = hashlib.sha256()
    for offset in range(0, min(size, _HASHED), _BLOCK):
        digest.update(read(offset, min(_BLOCK, _HASHED - offset)))
    of_what = "" if size <= _HASHED else f" of its first {_HASHED} bytes"
    return (
        f"{path} is no text, but {kind_of(head)}: {size} bytes.\n"
        f"SHA-256{of_what}: {digest.hexdigest()}\n"
        f"It begins with: {head[:_SHOWN].hex(' ')}"
    )
