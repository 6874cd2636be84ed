"""What a model at a server has shown that it does not understand."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """One thing that was refused while the model was at work."""

    endpoint: str
    """The server's address."""
    model: str
    """The model's name there."""
    what: str
    """The ability that is missing."""
    learned_at: datetime
