"""From the name of local weights to a model that can be asked."""

from pathlib import Path
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.models.local.catalog import CATALOG, Weights
from long_running_agents.models.local.fetch import pulled
from long_running_agents.models.local.llama import LlamaEngine
from long_running_agents.models.local.model import LocalModel
from long_running_agents.models.local.resident import ResidentEngine
from long_running_agents.models.local.transformers_engine import TransformersEngine

LLAMA, TRANSFORMERS = "llama", "transformers"


def open_engine(
    name: str,
    folder: Path,
    *,
    kind: str | None = None,
    context: int | None = None,
    threads: int | None = None,
    clock: Clock | None = None,
) -> ResidentEngine[Any]:
    """An engine for weights of the catalogue, or for weights of the person's own.

    A file is taken for GGUF, a folder for what ``save_pretrained`` has written. Nothing is loaded
    before the first prompt.

    Args:
        name: A name of the catalogue, the name of a file in the folder, or a path.
        folder: Where pulled weights are kept.
        kind: The engine that is wanted; unset takes the one that reads such weights.
        context: The most tokens a prompt and its answer may have together.
        threads: How many threads compute; unset leaves it to the engine.
        clock: Measures idleness.

    Raises:
        NotConfigured: The weights are not here, or what runs them is not installed.
        UsageError: The engine that is wanted reads no such weights.
    """
    weights = CATALOG.get(name)
    path = _own(name, folder) if weights is None else _pulled(weights, folder)
    fitting = TRANSFORMERS if path.is_dir() else LLAMA
    if kind not in (None, fitting):
        what = "a folder" if path.is_dir() else "a file"
        raise UsageError(
            f"{path} is {what}, which the engine {kind!r} cannot run.",
            hint=f"Take the engine {fitting!r}, or other weights.",
        )
    if fitting == TRANSFORMERS:
        TransformersEngine.require()
        return TransformersEngine(path, context=context, threads=threads, clock=clock)
    LlamaEngine.require()
    usual = 8192 if weights is None else weights.context
    return LlamaEngine(
        path,
        name=name if weights else path.stem,
        context=context or usual,
        threads=threads,
        clock=clock,
    )


def open_model(name: str, folder: Path, *, clock: Clock | None = None) -> LocalModel:
    """The model ``local:<name>``."""
    return LocalModel(open_engine(name, folder, clock=clock))


def _pulled(weights: Weights, folder: Path) -> Path:
    found = pulled(weights, folder)
    if found is None:
        raise NotConfigured(
            f"The weights of {weights.name} are not here ({weights.size / 1e6:.0f} MB,"
            f" {weights.licence}).",
            hint=f"lra models pull {weights.name}",
        )
    return found


def _own(name: str, folder: Path) -> Path:
    for path in (folder / name, folder / f"{name}.gguf", Path(name).expanduser()):
        if path.is_file() or (path / "config.json").is_file():
            return path
    raise NotConfigured(
        f"There are no local weights called {name!r}.",
        hint=f"Pull one of {', '.join(CATALOG)}, or give the path of a GGUF file or of a folder"
        " with config.json and safetensors.",
    )
