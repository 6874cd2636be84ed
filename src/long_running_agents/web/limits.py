"""How much of the web is taken at once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one page. Every hop of it is within them."""

    timeout: float = 20.0
    """Seconds one request may take, from its first byte to its last."""
    total: float = 60.0
    """Seconds until all of it is here: robots.txt, redirects, and whatever a browser waits for."""
    size: int = 5_000_000
    """Bytes of a body, counted when they are unpacked."""
    redirects: int = 10
    text: int = 1_000_000
    """Characters of text that are kept of a page."""
