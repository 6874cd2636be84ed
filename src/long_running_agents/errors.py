"""Every error we raise on purpose, as one tree, by who has to act.

::

    LraError
    ├── UsageError            the caller asked for something that cannot be; change the request
    │   ├── ConfigError       a setting is wrong; change the file, key or variable it names
    │   ├── Misdirected       the request names a host that is not this server; use its own name
    │   ├── TooLarge          the request is too long; send less
    │   ├── NotPython         a source cannot be parsed; mend the line it names
    │   ├── Altered           a module was changed after it was exported; export it again
    │   └── SkillRefused      a review or a trial found fault with a skill; mend what it names
    ├── NotFound              no such session, turn, task …; list them and pick another
    ├── Unauthorized          nobody knows who asks; send a token
    ├── Denied                a person or a policy said no
    │   ├── PathRefused       the file is outside the workspace, a link, or a secret
    │   └── AddressRefused    the address is private, or not on the allow-list
    ├── Busy                  right request, wrong moment; wait, or stop what is running
    │   ├── HomeBusy          another process owns this home
    │   ├── TooMany           too many requests; wait as long as the answer says
    │   └── Taken             there is something of this name already; choose another
    ├── LimitReached          a budget was used up; raise it, or go on in a new turn
    ├── Unavailable           something outside us did not answer; try again
    │   ├── ModelUnavailable  the model's server failed, and so did every fallback
    │   ├── EmbedderFailed    there are no vectors; go on by keywords, and mend what the hint names
    │   ├── StorageFailed     the disk is full, read-only or locked; nothing was half-written
    │   ├── ServerAway        the server that was joined does not answer; start it again
    │   └── SandboxUnavailable  foreign code cannot be run here; the hint is what mends it
    ├── SkillFailed           a skill broke while it ran; look at its error, then mend or disable it
    ├── NotConfigured         nothing to work with yet; the hint is the command that mends it
    └── CorruptData           our own data cannot be trusted; stop, and restore a backup
        └── NewerDatabase     the database was written by a newer version; upgrade the program

Each error knows its listener: ``code`` is for programs, the message for people, and ``hint``
is the next step. Exit codes and HTTP statuses live on the classes and nowhere else.
Bugs stay ordinary exceptions.
"""

from typing import ClassVar


class LraError(Exception):
    """Anything that went wrong in a way we foresaw."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


def kind_of(code: str) -> type[LraError]:
    """The class that a stored code belongs to; the root for one that nobody knows."""
    kinds = [LraError]
    for kind in kinds:
        if kind.code == code:
            return kind
        kinds.extend(kind.__subclasses__())
    return LraError


class UsageError(LraError):
    """The request itself is wrong."""

    code = "bad_request"
    exit_code = 2
    http_status = 400


class ConfigError(UsageError):
    """A setting is unknown, mistyped or unreadable."""

    code = "bad_config"


class Misdirected(UsageError):
    """A request names a host that is not this server."""

    code = "misdirected"
    http_status = 421


class TooLarge(UsageError):
    """A request is longer than the server takes."""

    code = "too_large"
    http_status = 413


class NotPython(UsageError):
    """A source cannot be parsed."""

    code = "not_python"


class Altered(UsageError):
    """A module was changed after it was exported."""

    code = "altered"


class SkillRefused(UsageError):
    """A review or a trial found fault with a skill."""

    code = "skill_refused"
    http_status = 422


class SkillFailed(LraError):
    """A skill broke while it ran."""

    code = "skill_failed"
    http_status = 424


class NotFound(LraError):
    """The thing that was named does not exist."""

    code = "not_found"
    exit_code = 3
    http_status = 404


class Unauthorized(LraError):
    """Whoever asks has no token, or not a good one."""

    code = "unauthorized"
    exit_code = 4
    http_status = 401


class Denied(LraError):
    """A person or a policy refused."""

    code = "denied"
    exit_code = 4
    http_status = 403


class PathRefused(Denied):
    """A path leads out of the workspace, or to something that no tool may touch."""

    code = "path_refused"


class AddressRefused(Denied):
    """An address may not be connected to."""

    code = "address_refused"


class Busy(LraError):
    """The request is fine, but not now."""

    code = "busy"
    exit_code = 75
    http_status = 409


class HomeBusy(Busy):
    """Another process owns this home."""

    code = "home_busy"


class TooMany(Busy):
    """Somebody asks too often."""

    code = "too_many"
    http_status = 429

    def __init__(self, message: str, *, hint: str = "", seconds: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds
        """How long to wait."""


class Taken(Busy):
    """The name is used already."""

    code = "taken"


class LimitReached(LraError):
    """A budget is used up."""

    code = "limit_reached"
    exit_code = 5
    http_status = 402


class Unavailable(LraError):
    """Something outside us did not do its part; the same request may work later."""

    code = "unavailable"
    exit_code = 75
    http_status = 503


class ModelUnavailable(Unavailable):
    """No model answered, fallbacks included."""

    code = "model_unavailable"


class EmbedderFailed(Unavailable):
    """The embedder gave no vectors."""

    code = "embedder_failed"


class StorageFailed(Unavailable):
    """The disk refused a write; the transaction left no trace."""

    code = "storage_failed"


class ServerAway(Unavailable):
    """The server that somebody talks to does not answer."""

    code = "server_away"


class SandboxUnavailable(Unavailable):
    """No sandbox can be had on this machine as it is."""

    code = "sandbox_unavailable"


class NotConfigured(LraError):
    """Something the work needs was never set up."""

    code = "not_configured"
    exit_code = 1
    http_status = 503


class CorruptData(LraError):
    """What is stored cannot be trusted, so nothing more is written."""

    code = "corrupt_data"


class NewerDatabase(CorruptData):
    """The database belongs to a newer version of this program."""

    code = "newer_database"
