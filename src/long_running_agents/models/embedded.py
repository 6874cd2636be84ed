"""The seam to the models that run inside this program: their package may be missing."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from long_running_agents.errors import NotConfigured, NotFound
from long_running_agents.models.names import own_weights

if TYPE_CHECKING:
    from pydantic_ai.models import Model

PACKAGE = "long_running_agents.models.local"

PREFERRED = "qwen2.5-coder-0.5b"
"""The weights to offer, where the catalog has them: small, and it can hold a conversation."""

Progress = Callable[[int, int], None]
"""Hears how many bytes of how many have arrived."""


class Weights(Protocol):
    """What the catalog says about a model's weights."""

    @property
    def name(self) -> str:
        """What the model is called after ``local:``."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def licence(self) -> str:
        """Under which terms they may be used."""
        ...

    @property
    def sha256(self) -> str:
        """What the file must hash to."""
        ...


class Embedded:
    """The embedded models of a home.

    Args:
        folder: Where weights are kept; None when there is no such place.
        package: The package that runs them.
    """

    def __init__(self, folder: Path | None, package: str = PACKAGE) -> None:
        self._folder = folder
        self._package = package

    def catalog(self) -> dict[str, Weights]:
        """Everything that can be pulled, the one to prefer first; empty without the package."""
        module = self._module("catalog")
        if module is None:
            return {}
        found: dict[str, Weights] = module.CATALOG
        return dict(sorted(found.items(), key=lambda item: item[0] != PREFERRED))

    def weights(self, name: str) -> Weights:
        """The weights of a name; those to prefer when the name is empty.

        Raises:
            NotConfigured: This installation has no embedded models.
            NotFound: There are none of that name.
        """
        catalog = self.catalog()
        if not catalog:
            raise _unavailable()
        chosen = name or next(iter(catalog))
        if chosen not in catalog:
            raise NotFound(
                f"There is no embedded model {name!r}.",
                hint=f"There are {', '.join(catalog)}: 'lra models list' shows them.",
            )
        return catalog[chosen]

    def require_runtime(self) -> None:
        """See that weights could be run, before anyone fetches half a gigabyte of them.

        Raises:
            NotConfigured: The runtime is not installed.
        """
        if find_spec(self._need("catalog").RUNTIME) is None:
            raise _unavailable()

    def path(self, weights: Weights) -> Path:
        """Where the weights are, or will be."""
        if self._folder is None:
            raise _unavailable()
        return self._folder / f"{weights.name}.gguf"

    def installed(self) -> list[str]:
        """The names whose weights are here, the one to prefer first."""
        return [name for name, each in self.catalog().items() if self.path(each).is_file()]

    def load(self, name: str) -> "Model":
        """The model of a name, or of the path of weights of one's own.

        Raises:
            NotConfigured: Its weights are not here.
        """
        return self._need("opening").open_model(*self._place(name))

    def check(self, name: str) -> None:
        """See that a name can be asked, without loading anything.

        Raises:
            NotConfigured: It cannot.
        """
        name, folder = self._place(name)
        if own_weights(name) is not None:
            self._need("opening").open_engine(name, folder)

    def ready(self, name: str) -> tuple[Weights, Path]:
        """The weights of a name and their file.

        Raises:
            NotConfigured: They are not here.
        """
        weights = self.weights(name)
        path = self.path(weights)
        if not path.is_file():
            raise NotConfigured(
                f"The weights of local:{weights.name} are not on this machine.",
                hint=f"'lra models pull {weights.name}' fetches them.",
            )
        return weights, path

    async def pull(self, name: str, *, progress: Progress, source: Path | None = None) -> Path:
        """Fetch the weights of a name, from a file if one is given."""
        weights = self.weights(name)
        fetch = self._need("fetch")
        folder = self.path(weights).parent
        return await fetch.pull(weights, folder, progress=progress, source=source)

    async def serve(
        self,
        name: str,
        host: str,
        port: int,
        api_key: str,
        *,
        kind: str | None = None,
        ready: Callable[[str], None] | None = None,
    ) -> None:
        """Offer a model to other programs until this one is stopped.

        Args:
            name: A name of the catalogue, or the path of weights of one's own.
            host: The address to bind.
            port: The port to bind.
            api_key: What clients have to show; empty lets everybody in.
            kind: The engine that is wanted; unset takes the one that reads such weights.
            ready: Hears the address once the server answers.
        """
        engine = self._need("opening").open_engine(*self._place(name), kind=kind)
        await self._need("server").serve(engine, host, port, api_key or None, ready=ready)

    def _place(self, name: str) -> tuple[str, Path]:
        """A name as the engines know it, and the folder to look in."""
        own = own_weights(name)
        if own is not None:
            return str(own), own.parent
        weights, path = self.ready(name)
        return weights.name, path.parent

    def _module(self, name: str) -> Any:
        wanted = f"{self._package}.{name}"
        try:
            return import_module(wanted)
        except ModuleNotFoundError as error:
            # Only the package itself may be missing; a broken import inside it is a bug.
            if f"{wanted}.".startswith(f"{error.name}."):
                return None
            raise

    def _need(self, name: str) -> Any:
        module = self._module(name)
        if module is None:
            raise _unavailable()
        return module


def _unavailable() -> NotConfigured:
    return NotConfigured(
        "This installation has no embedded model.",
        hint="pip install 'long-running-agents[local]', or choose a server or provider:"
        " 'lra models list' shows what is there.",
    )
