"""Notifiers: an address of the web takes a notice as JSON, any other one gets it by apprise."""

import asyncio
import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2

from long_running_agents.domain.job import Notice
from long_running_agents.errors import NotConfigured, Unavailable

_WEB = ("http", "https")
_PATIENCE = 10.0


class Notifier(Protocol):
    """Takes notices to one address."""

    @property
    def target(self) -> str:
        """The address, without its secrets."""
        ...

    async def send(self, notice: Notice) -> None:
        """Take a notice there.

        Raises:
            LraError: It did not arrive, as far as anybody knows.
        """
        ...


def notifiers(urls: Sequence[str], client: httpx2.AsyncClient) -> Sequence[Notifier]:
    """Who takes notices to these addresses."""
    made = {
        target(url): WebhookNotifier(url, client) if _scheme(url) in _WEB else AppriseNotifier(url)
        for url in urls
    }
    return list(made.values())


def target(url: str) -> str:
    """An address by which people and rows know it: it may be a secret but for its host."""
    scheme, digest = _scheme(url), hashlib.sha256(url.encode()).hexdigest()[:8]
    place = urlsplit(url).netloc.rpartition("@")[2] if scheme in _WEB else ""
    return f"{scheme}://{place} ({digest})" if place else f"{scheme} ({digest})"


def require_senders(urls: Sequence[str]) -> None:
    """Refuse addresses that nothing is installed for.

    Raises:
        NotConfigured: Some need apprise, and it is not there.
    """
    missing = importlib.util.find_spec("apprise") is None
    if missing and (others := [target(url) for url in urls if _scheme(url) not in _WEB]):
        raise NotConfigured(
            f"Nothing is installed that sends to {others[0]}.",
            hint="pip install 'long-running-agents[notices]', or use an address of the web.",
        )


def _scheme(url: str) -> str:
    scheme, divider, _ = url.partition("://")
    return scheme.lower() if divider else "address"


@dataclass(frozen=True, slots=True)
class WebhookNotifier:
    """Posts notices as JSON; its owner wrote the address, so it may be a private one."""

    url: str
    client: httpx2.AsyncClient

    @property
    def target(self) -> str:
        """The address, without its secrets."""
        return target(self.url)

    async def send(self, notice: Notice) -> None:
        """Post a notice, with its key as webhook-id; any answer but a 2xx is a failure."""
        body = {
            "kind": notice.kind,
            "job": notice.job_id,
            "title": notice.title,
            "text": notice.text,
            "session_id": notice.session_id,
            "turn_id": notice.turn_id,
            "at": notice.created_at.isoformat(),
        }
        try:
            async with self.client.stream(
                "POST",
                self.url,
                json=body,
                headers={"webhook-id": notice.key},
                # Elsewhere is nowhere that the owner has named.
                follow_redirects=False,
                timeout=_PATIENCE,
            ) as answer:
                status = answer.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            # By its kind alone: its words may have the address in them.
            raise Unavailable(f"It cannot be reached ({type(error).__name__}).") from None
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise Unavailable(f"It answered with status {status}.")


@dataclass(frozen=True, slots=True)
class AppriseNotifier:
    """Sends notices by any of the services that apprise knows."""

    url: str

    @property
    def target(self) -> str:
        """The kind of address; all the rest of it may be secret."""
        return target(self.url)

    async def send(self, notice: Notice) -> None:
        """Send a notice in a thread."""
        require_senders([self.url])
        await asyncio.to_thread(self._send, notice)

    def _send(self, notice: Notice) -> None:
        # Only here: few need it, and it takes a while to load.
        import apprise  # noqa: PLC0415

        service: Any = apprise.Apprise()
        form = apprise.NotifyFormat.TEXT
        try:
            known = service.add(self.url)
            sent = known and service.notify(notice.text, title=notice.title, body_format=form)
        except Exception as error:
            # Over a hundred services, each with faults of its own; the words may hold the address.
            raise Unavailable(f"apprise broke ({type(error).__name__}).") from error
        if not sent:
            what = "could not deliver it" if known else "does not understand the address"
            raise Unavailable(f"apprise {what}.")
