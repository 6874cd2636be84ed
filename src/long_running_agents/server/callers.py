"""Who asks: what the guard found out, for the routes that need to know."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from fastapi.requests import HTTPConnection

from long_running_agents.domain.token import Caller, Scope
from long_running_agents.errors import Denied, Unauthorized

CALLER = "caller"
"""Where in a connection's state the guard leaves the caller."""


def caller_of(connection: HTTPConnection) -> Caller:
    """Who opened a connection.

    Raises:
        Unauthorized: The guard knows nobody.
    """
    found = getattr(connection.state, CALLER, None)
    if not isinstance(found, Caller):
        raise Unauthorized("Nobody knows who asks.", hint="Send 'Authorization: Bearer …'.")
    return found


def check(caller: Caller, scope: Scope) -> Caller:
    """Let through whoever may do this.

    Raises:
        Denied: Their token does not reach so far.
    """
    if not caller.may(scope):
        raise Denied(
            f"This token may not {scope}.", hint=f"'lra tokens create --scope {scope}' makes one."
        )
    return caller


@dataclass(frozen=True, slots=True)
class Allowed:
    """Finds out who asks, and lets through whoever may do this."""

    scope: Scope

    async def __call__(self, connection: HTTPConnection) -> Caller:
        """The caller."""
        # Not a plain function: those are run in a thread each, which costs more than all they do.
        return check(caller_of(connection), self.scope)


async def _known(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


Known = Annotated[Caller, Depends(_known)]
"""Anybody who was let in; the route itself looks at what they may do."""
Reading = Annotated[Caller, Depends(Allowed(Scope.READ))]
"""Somebody who may see the owner's things."""
Chatting = Annotated[Caller, Depends(Allowed(Scope.CHAT))]
"""Somebody who may talk, and change the owner's things."""
Approving = Annotated[Caller, Depends(Allowed(Scope.APPROVE))]
"""Somebody who may answer questions."""
Administering = Annotated[Caller, Depends(Allowed(Scope.ADMIN))]
"""Somebody who may change settings and tokens."""
