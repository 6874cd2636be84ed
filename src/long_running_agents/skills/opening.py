"""From settings to the room that skills are made and used in."""

from collections.abc import Callable, Sequence

from long_running_agents.config import Loaded
from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ports import Clock
from long_running_agents.mcp import names
from long_running_agents.mcp.servers import Servers
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.skills.trial import Trials
from long_running_agents.skills.workroom import Place, Shelves, Workroom
from long_running_agents.store.database import Database


def sandboxes_of(loaded: Loaded, clock: Clock) -> SessionSandboxes:
    """Where skills are tried; nothing is started yet, and it has to be closed."""
    return opening.errand_sandboxes(
        loaded.settings.sandbox, loaded.variables, clock, layers=loaded.home / opening.LAYERS
    )


def workroom_of(
    loaded: Loaded,
    database: Database,
    clock: Clock,
    sandboxes: SessionSandboxes,
    *,
    servers: Servers,
    reserved: frozenset[str],
    place: Callable[[str], Place],
    announce: Callable[[Sequence[Recorded]], None],
) -> Workroom:
    """The room of a home.

    Args:
        loaded: The settings.
        database: Where skills are kept.
        clock: Tells the time.
        sandboxes: Where they are tried.
        servers: Foreign ones, whose tools have names of their own.
        reserved: The names of tools that are no skills.
        place: Where an owner's agent works.
        announce: Rings what was written.
    """
    return Workroom(
        database=database,
        clock=clock,
        settings=loaded.settings.agent.skills,
        redact=loaded.redact,
        trials=Trials(lambda: sandboxes.lent("trial"), clock),
        reserved=reserved,
        prefixes=tuple(f"{names.prefix(each.spec.name)}_" for each in servers.each),
        allow=loaded.settings.agent.tools.allow,
        place=place,
        announce=announce,
        shelves=Shelves(database, reserved),
    )
