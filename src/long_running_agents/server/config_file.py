"""The home's config file, changed by one request at a time."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from long_running_agents.config.editing import Value, set_values


class ConfigFile:
    """Writes settings; nobody's change is lost to somebody else's."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._turn = asyncio.Lock()

    async def write(self, sections: Mapping[str, Mapping[str, Value]]) -> None:
        """Set values by section; None takes one away.

        Raises:
            ConfigError: The file is written in a way that cannot be changed here.
            StorageFailed: It cannot be written.
        """
        async with self._turn:
            for section, values in sections.items():
                await asyncio.to_thread(set_values, self._home, section, values)
