"""Every error we raise on purpose, as one tree, by who has to act.

::

    LraError
    ├── UsageError            the caller asked for something that cannot be; change the request
    │   ├── ConfigError       a setting is wrong; change the file, key or variable it names
    │   ├── Misdirected       the request names a host that is not this server; use its own name
    │   ├── TooLarge          the request is too long; send less
    │   ├── CannotSee         the model sees no pictures; choose one that does
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
    │   ├── BadAnswer         the model's answer is not in the form that was asked for
    │   ├── EmbedderFailed    there are no vectors; go on by keywords, and mend what the hint names
    │   ├── StorageFailed     the disk is full, read-only or locked; nothing was half-written
    │   ├── ServerAway        the server that was joined does not answer; start it again
    │   ├── Unreachable       a server that was named does not answer; nothing was changed
    │   └── SandboxUnavailable  foreign code cannot be run here; the hint is what mends it
    ├── SkillFailed           a skill broke while it ran; look at its error, then mend or disable it
    ├── NotConfigured         nothing to work with yet; the hint is the command that mends it
    └── CorruptData           our own data cannot be trusted; stop, and restore a backup
        └── NewerDatabase     the database was written by a newer version; upgrade the program

Each error knows its listener: ``code`` is for programs, the message for people, and ``hint``
is the next step. Exit codes and HTTP statuses live on the classes and nowhere else.
Bugs stay ordinary exceptions.
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar


class LraError(Exception):
    """Anything that went wrong in a way we foresaw."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init_subclass__(
        cls, *, code: str = "", exit_code: int | None = None, http_status: int | None = None
    ) -> None:
        cls.code = code or cls.code
        cls.exit_code = exit_code or cls.exit_code
        cls.http_status = http_status or cls.http_status

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


class UsageError(LraError, code="bad_request", exit_code=2, http_status=400):
    """The request itself is wrong."""


class ConfigError(UsageError, code="bad_config"):
    """A setting is unknown, mistyped or unreadable."""


class Misdirected(UsageError, code="misdirected", http_status=421):
    """A request names a host that is not this server."""


class TooLarge(UsageError, code="too_large", http_status=413):
    """A request is longer than the server takes."""


class CannotSee(UsageError, code="cannot_see", http_status=422):
    """The model that is asked sees no pictures."""

    @classmethod
    def of(cls, model: str) -> "CannotSee":
        """The same for every model."""
        return cls(
            f"The model {model} sees no pictures.",
            hint="Choose one that does, or leave the picture out. If it does see them, set"
            " agent.model.pictures to true.",
        )


class NotPython(UsageError, code="not_python"):
    """A source cannot be parsed."""


class Altered(UsageError, code="altered"):
    """A module was changed after it was exported."""


class SkillRefused(UsageError, code="skill_refused", http_status=422):
    """A review or a trial found fault with a skill."""


class SkillFailed(LraError, code="skill_failed", http_status=424):
    """A skill broke while it ran."""


class NotFound(LraError, code="not_found", exit_code=3, http_status=404):
    """The thing that was named does not exist."""


class Unauthorized(LraError, code="unauthorized", exit_code=4, http_status=401):
    """Whoever asks has no token, or not a good one."""


class Denied(LraError, code="denied", exit_code=4, http_status=403):
    """A person or a policy refused."""


class PathRefused(Denied, code="path_refused"):
    """A path leads out of the workspace, or to something that no tool may touch."""


class AddressRefused(Denied, code="address_refused"):
    """An address may not be connected to."""


class Busy(LraError, code="busy", exit_code=75, http_status=409):
    """The request is fine, but not now."""


class HomeBusy(Busy, code="home_busy"):
    """Another process owns this home."""


class TooMany(Busy, code="too_many", http_status=429):
    """Somebody asks too often."""

    def __init__(self, message: str, *, hint: str = "", seconds: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds
        """How long to wait."""


class Taken(Busy, code="taken"):
    """The name is used already."""


class LimitReached(LraError, code="limit_reached", exit_code=5, http_status=402):
    """A budget is used up."""


class Unavailable(LraError, code="unavailable", exit_code=75, http_status=503):
    """Something outside us did not do its part; the same request may work later."""


class ModelUnavailable(Unavailable, code="model_unavailable"):
    """No model answered, fallbacks included."""


class BadAnswer(Unavailable, code="bad_answer", http_status=502):
    """The model does not answer in the form that was asked for."""


class EmbedderFailed(Unavailable, code="embedder_failed"):
    """The embedder gave no vectors."""


class StorageFailed(Unavailable, code="storage_failed"):
    """The disk refused a write; the transaction left no trace."""


def file_hint(error: BaseException, usual: str = "") -> str:
    """What to do about a file that could not be written: a full disk is named as such."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "The disk is full: free some space, and try again." if full else usual


@contextmanager
def storing(what: object, hint: str = "", done: str = "written") -> Generator[None]:
    """Say of a file or folder that it cannot be written, when that fails inside.

    Raises:
        StorageFailed: It did; a full disk is named as such.
    """
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"{what} cannot be {done}: {error.strerror}.", hint=file_hint(error, hint)
        ) from error


class ServerAway(Unavailable, code="server_away"):
    """The server that somebody talks to does not answer."""


class Unreachable(Unavailable, code="unreachable", http_status=422):
    """A server that somebody names does not answer."""


class SandboxUnavailable(Unavailable, code="sandbox_unavailable"):
    """No sandbox can be had on this machine as it is."""


class NotConfigured(LraError, code="not_configured", exit_code=1, http_status=503):
    """Something the work needs was never set up."""


class CorruptData(LraError, code="corrupt_data"):
    """What is stored cannot be trusted, so nothing more is written."""


class NewerDatabase(CorruptData, code="newer_database"):
    """The database belongs to a newer version of this program."""
