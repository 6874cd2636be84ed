"""Which embedder is used: what a setting names, else the one in the box."""

from collections.abc import Mapping

import httpx2

from long_running_agents.config.settings import MemorySettings
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.embedding.port import Embedder


def choose_embedder(
    settings: MemorySettings, variables: Mapping[str, str], client: httpx2.AsyncClient
) -> Embedder | None:
    """The embedder of the settings; None when they switch it off.

    Args:
        settings: What a person has set.
        variables: The environment, where keys are.
        client: Asks servers; shared, and closed by whoever made it.
    """
    del variables, client
    if not settings.enabled or settings.embedder == "off":
        return None
    return BundledEmbedder()
