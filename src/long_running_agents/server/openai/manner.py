"""How a client wants to be served, by its headers."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a client wants to be served."""

    session: str | None = None
    """The session it names."""
    attended: bool = False
    """Whether a person is there who answers approvals elsewhere."""
    detached: bool = False
    """Whether the turn goes on when the client goes away."""
    activity: bool = False
    """Whether the client wants to read what the agent does meanwhile."""
    key: str | None = None
    """What names the request."""


def _manner(
    x_lra_session: Annotated[str | None, Header()] = None,
    x_lra_attended: Annotated[bool, Header()] = False,
    x_lra_detach: Annotated[bool, Header()] = False,
    x_lra_activity: Annotated[bool, Header()] = False,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Manner:
    return Manner(
        session=x_lra_session,
        attended=x_lra_attended,
        detached=x_lra_detach,
        activity=x_lra_activity,
        key=idempotency_key,
    )


Mannered = Annotated[Manner, Depends(_manner)]
"""What the headers of a request say."""
