"""Asking the server that owns a home, on behalf of the person at this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from long_running_agents.errors import Unavailable, kind_of

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.server.presence import Presence

_SECONDS = 30.0


def server_of(loaded: "Loaded") -> "Presence | None":
    """The server that owns the home now, if one does."""
    from long_running_agents.home import Home
    from long_running_agents.server import presence

    return presence.running(Home(loaded.home))


def ask(
    presence: "Presence", method: str, path: str, body: Mapping[str, object] | None = None
) -> Any:
    """Have a running server do something; what it answers.

    Raises:
        LraError: What the server refused it with.
        Unavailable: It does not answer.
    """
    import httpx2

    try:
        # No proxy is asked for the way to this very machine.
        with httpx2.Client(timeout=_SECONDS, trust_env=False) as client:
            response = client.request(
                method,
                f"{presence.address}{path}",
                json=body,
                headers={"Authorization": f"Bearer {presence.secret}"},
            )
            answer: Any = response.json() if response.content else {}
    except (httpx2.HTTPError, ValueError) as error:
        raise Unavailable(
            f"The server of this home (process {presence.pid}) does not answer.",
            hint="Stop it, and try again.",
        ) from error
    if response.is_success:
        return answer
    raise kind_of(answer["code"])(answer["message"], hint=answer["hint"])
