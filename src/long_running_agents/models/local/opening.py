"""From the name of local weights to a model that can be asked."""

from pathlib import Path

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotConfigured
from long_running_agents.models.local.catalog import CATALOG, Weights
from long_running_agents.models.local.fetch import pulled
from long_running_agents.models.local.llama import LlamaEngine
from long_running_agents.models.local.model import LocalModel


def open_engine(
    name: str,
    folder: Path,
    *,
    context: int | None = None,
    threads: int | None = None,
    clock: Clock | None = None,
) -> LlamaEngine:
    """An engine for weights of the catalogue, or for a GGUF file of the person's own.

    Nothing is loaded before the first prompt.

    Args:
        name: A name of the catalogue, the name of a file in the folder, or a path.
        folder: Where pulled weights are kept.
        context: The most tokens a prompt and its answer may have together.
        threads: How many threads compute; unset means all cores but one.
        clock: Measures idleness.

    Raises:
        NotConfigured: The weights are not here.
    """
    weights = CATALOG.get(name)
    path = _own(name, folder) if weights is None else _pulled(weights, folder)
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
        if path.is_file():
            return path
    raise NotConfigured(
        f"There are no local weights called {name!r}.",
        hint=f"Pull one of {', '.join(CATALOG)}, or give the path of a GGUF file.",
    )
