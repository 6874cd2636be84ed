"""A page that was read, and what a search found."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the web, as text. All of it was written by strangers."""

    url: str
    """What was asked for."""
    final_url: str
    """Where that led."""
    status: int
    """The status of HTTP; 0 when a browser did not say."""
    media_type: str
    title: str
    text: str
    """Markdown for HTML, plain text for the rest."""
    fetched_at: datetime
    notes: tuple[str, ...] = ()
    """What whoever reads it should know, such as that it was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One result of a search."""

    title: str
    url: str
    snippet: str
