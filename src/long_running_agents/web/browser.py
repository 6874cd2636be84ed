"""The port of a browser that shows pages, with all their scripts."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a page became."""

    url: str
    """Where it led."""
    status: int
    """The status of HTTP; 0 when there was none."""
    html: str
    """What is shown, without what is hidden."""
    notes: tuple[str, ...] = ()


class Browser(Protocol):
    """Shows a page and says what is on it."""

    async def render(self, url: str, *, stealth: bool) -> Rendered:
        """Show a page.

        Args:
            url: A URL that was checked.
            stealth: Whether to hide that nobody sits before it.

        Raises:
            NotConfigured: There is no browser.
            AddressRefused: The page leads where we may not go.
            Unavailable: It did not come to rest in time.
        """
        ...
