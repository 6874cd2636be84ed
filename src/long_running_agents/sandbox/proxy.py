"""The only way out of a sandbox with network: a proxy of ours that knows an allow-list."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from long_running_agents import proxy
from long_running_agents.addresses import IsPublic, Resolver, allows, is_public
from long_running_agents.errors import AddressRefused


class Proxy(proxy.Proxy):
    """Listens on a socket of the file system, for one sandbox."""

    def __init__(
        self,
        allowed: Sequence[str],
        path: Path,
        *,
        resolve: Resolver | None = None,
        public: IsPublic = is_public,
    ) -> None:
        super().__init__(self._check, resolve=resolve, public=public)
        self.path = path
        self._allowed = tuple(allowed)

    async def open(self, *, owner: int | None = None) -> None:
        """Listen; only the owner may come."""
        self.listen_on(
            await asyncio.start_unix_server(self.welcome, self.path, limit=proxy.LARGEST_HEAD)
        )
        self.path.chmod(0o600)
        if owner is not None:
            os.chown(self.path, owner, owner)

    def _check(self, host: str, port: int) -> None:
        if not allows(self._allowed, host, port):
            raise AddressRefused(
                f"{host}:{port} is not on the sandbox's allow-list ({', '.join(self._allowed)})"
            )
