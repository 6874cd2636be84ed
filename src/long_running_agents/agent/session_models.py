"""Which model each running session asks, kept in memory so that a step need not read the disk."""

from long_running_agents.domain.ids import SessionId


class SessionModels:
    """The models of the sessions at work: a switch is heard at the next step."""

    def __init__(self) -> None:
        self._chosen: dict[SessionId, str | None] = {}

    def begin(self, session_id: SessionId, model: str | None) -> None:
        """A turn begins to run; None follows the settings."""
        self._chosen[session_id] = model

    def end(self, session_id: SessionId) -> None:
        """The session's turn has come to rest."""
        self._chosen.pop(session_id, None)

    def switch(self, session_id: SessionId, model: str) -> None:
        """Ask another model from the next step on, if the session is at work."""
        if session_id in self._chosen:
            self._chosen[session_id] = model

    def of(self, session_id: SessionId) -> str | None:
        """The model to ask now."""
        return self._chosen.get(session_id)
