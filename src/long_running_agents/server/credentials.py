"""Credentials: where a request may carry a token, and where it must not. Pure."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from long_running_agents.domain.token import plausible

COOKIE = "lra_token"
PROTOCOL = "lra"
"""The WebSocket protocol that is spoken."""
_CARRIER = "lra.token."
"""What a token begins with among the protocols that a program offers."""
_SCHEME = "bearer"
_SECRET_NAMES = frozenset(
    {
        "access_token",
        "api-key",
        "api_key",
        "apikey",
        "auth",
        "auth_token",
        "authorization",
        "bearer",
        "password",
        "secret",
        "token",
    }
)
_PIECES = 1000


def in_address(query: bytes) -> bool:
    """Whether a query string has a secret in it, or anything that is named like one."""
    if not query:
        return False
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_PIECES)
    except ValueError:
        # So many fields are nobody's honest request.
        return True
    return any(name.lower() in _SECRET_NAMES or plausible(value) for name, value in pairs)


def presented(headers: Mapping[str, str], protocols: Sequence[str]) -> str | None:
    """The secret that a request carries; None if it carries none.

    What a program says explicitly goes before the cookie that a browser adds by itself.

    Args:
        headers: By their lower-case names.
        protocols: The WebSocket protocols that are offered.
    """
    if (said := headers.get("authorization")) is not None:
        scheme, _, secret = said.strip().partition(" ")
        return secret.strip() if scheme.lower() == _SCHEME else ""
    for protocol in protocols:
        if protocol.startswith(_CARRIER):
            return protocol.removeprefix(_CARRIER)
    return in_cookie(headers.get("cookie", ""))


def in_cookie(text: str) -> str | None:
    """The secret that a browser carries."""
    for piece in text.split(";"):
        name, _, value = piece.strip().partition("=")
        if name == COOKIE:
            return value
    return None


def spoken(protocols: Sequence[str]) -> list[str]:
    """The protocols that are offered, without what carries a token."""
    return [protocol for protocol in protocols if not protocol.startswith(_CARRIER)]
