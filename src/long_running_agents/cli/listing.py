"""What `lra models list` lists."""

from typing import TYPE_CHECKING

from long_running_agents.errors import StorageFailed

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.domain.card import Card
    from long_running_agents.models.listing import Listed


async def listed(loaded: "Loaded") -> "list[Listed]":
    """Look around, and list every model once, with what was found out about it."""
    from long_running_agents.models import listing, looking

    found = await looking.servers(loaded.settings.agent.model, idle=True)
    return listing.listed(loaded, await _cards(loaded), found)


async def _cards(loaded: "Loaded") -> "dict[tuple[str, str], Card]":
    from long_running_agents.clock import SystemClock
    from long_running_agents.store import cards
    from long_running_agents.store.opening import database_path, open_database

    if not database_path(loaded).exists():
        return {}
    try:
        async with open_database(loaded, SystemClock(), read_only=True) as database:
            return {(each.endpoint, each.model): each for each in await database.read(cards.every)}
    except StorageFailed:
        # Of an older version, which kept no cards.
        return {}
