"""What all shapes have in common."""

from pydantic import ConfigDict

from long_running_agents.domain.described import Described


class Told(Described):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())


class Asked(Described):
    """A body; a field that nobody knows is a mistake, not a wish that is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())
