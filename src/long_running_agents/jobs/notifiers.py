"""Notifiers: an address of the web takes a notice as JSON, any other one gets it by apprise."""

import asyncio
import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

import httpx2

from long_running_agents.domain.job import Notice
from long_running_agents.errors import NotConfigured, Unavailable

_WEB = ("http", "https")
_PATIENCE = 10.0


class Notifier(Protocol):
    """Takes notices to one address."""

    async def __call__(self, notice: Notice) -> None:
        """Take a notice there.

        Raises:
            LraError: It did not arrive, as far as anybody knows.
        """
        ...


def notifiers(urls: Sequence[str], client: httpx2.AsyncClient) -> Mapping[str, Notifier]:
    """Who takes notices to these addresses, by their names."""
    return {
        target(url): partial(_post, client, url) if _scheme(url) in _WEB else partial(_apprise, url)
        for url in urls
    }


def target(url: str) -> str:
    """An address by which people and rows know it: it may be a secret but for its host."""
    scheme, digest = _scheme(url), hashlib.sha256(url.encode()).hexdigest()[:8]
    host = re.split("[/?#]", url.partition("://")[2])[0].rpartition("@")[2]
    return f"{scheme}://{host} ({digest})" if scheme in _WEB else f"{scheme} ({digest})"


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


async def _post(client: httpx2.AsyncClient, url: str, notice: Notice) -> None:
    """Post a notice as JSON, with its key as webhook-id; any answer but a 2xx is a failure."""
    names = ("kind", "title", "text", "session_id", "turn_id")
    body = {name: getattr(notice, name) for name in names}
    body |= {"job": notice.job_id, "at": notice.created_at.isoformat()}
    # Elsewhere is nowhere that the owner has named; the address itself may be a private one.
    asked = client.stream(
        "POST",
        url,
        json=body,
        headers={"webhook-id": notice.key},
        follow_redirects=False,
        timeout=_PATIENCE,
    )
    try:
        async with asked as answer:
            status = answer.status_code
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        # By its kind alone: its words may have the address in them.
        raise Unavailable(f"It cannot be reached ({type(error).__name__}).") from None
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        raise Unavailable(f"It answered with status {status}.")


async def _apprise(url: str, notice: Notice) -> None:
    """Send a notice by one of the services that apprise knows, in a thread."""
    require_senders([url])
    await asyncio.to_thread(_send, url, notice)


def _send(url: str, notice: Notice) -> None:
    # Only here: few need it, and it takes a while to load.
    import apprise  # noqa: PLC0415

    service: Any = apprise.Apprise()
    form = apprise.NotifyFormat.TEXT
    try:
        known = service.add(url)
        sent = known and service.notify(notice.text, title=notice.title, body_format=form)
    except Exception as error:
        # Over a hundred services, each with faults of its own; the words may hold the address.
        raise Unavailable(f"apprise broke ({type(error).__name__}).") from error
    if not sent:
        what = "could not deliver it" if known else "does not understand the address"
        raise Unavailable(f"apprise {what}.")
