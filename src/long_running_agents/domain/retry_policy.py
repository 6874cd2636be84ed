"""When a failed request is made again, and after which wait."""

from dataclasses import dataclass

_FIRST_WAIT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often somebody asks again, and how long they are ready to wait."""

    retries: int
    longest_wait: float = 30.0
    """Seconds between two attempts."""
    timeout: float = 60.0
    """Seconds for one answer, unless the HTTP client has its own bound."""

    def backoff(self, attempt: int, retry_after: float | None = None) -> float | None:
        """Seconds to wait after so many failures, each time twice as many; None to give up."""
        wait = _FIRST_WAIT * 2 ** (attempt - 1) if retry_after is None else retry_after
        return None if attempt > self.retries or wait > self.longest_wait else wait
