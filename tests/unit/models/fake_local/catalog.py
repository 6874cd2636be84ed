from dataclasses import dataclass


@dataclass(frozen=True)
class Weights:
    name: str
    size: int
    licence: str
    sha256: str = "0" * 64


RUNTIME = "json"
CATALOG = {
    "big": Weights("big", 1_500_000_000, "Apache-2.0"),
    "qwen2.5-coder-0.5b": Weights("qwen2.5-coder-0.5b", 491_000_000, "Apache-2.0"),
}
