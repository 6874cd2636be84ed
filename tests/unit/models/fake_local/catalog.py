from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    name: str
    size: int
    licence: str
    sha256: str = "0" * 64


RUNTIME = "json"
CATALOG = {
    "qwen2.5-coder-0.5b": Weights("qwen2.5-coder-0.5b", 491_000_000, "Apache-2.0"),
    "big": Weights("big", 1_500_000_000, "Apache-2.0"),
}


async def pull(weights, folder, *, progress, source=None):
    folder.mkdir(parents=True, exist_ok=True)
    for part in (1, 2):
        progress(weights.size * part // 2, weights.size)
    path = folder / f"{weights.name}.gguf"
    path.write_text(f"weights from {source}")
    return path
