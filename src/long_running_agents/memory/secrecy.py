"""Secrecy: what in a text must not be remembered. A secret is kept where secrets are kept."""

import re

from long_running_agents.domain.redaction import MARK

_NAMED = (
    r"(?:(?<![^\W_])(?:pass(?:word|wd|code|phrase)?|pin|secret(?:\s+key)?|api[ _-]?key|"
    r"access[ _-]?key|(?:access|auth|api|bearer)[ _-]?token|client[ _-]?secret|private[ _-]?key|"
    r"cvv|cvc|passwort|kennwort|mot\s+de\s+passe|contraseña|пароль)(?![^\W_])"
    r"|密码|密碼|パスワード)"
)
_GIVEN = re.compile(
    rf"{_NAMED}(?:\s+(?:for|of|to|für)\s+[^\s=:]+(?:\s+[^\s=:]+)?)?"
    r"\s*(?P<by>=|:|\uff1a|→|->|\b(?:is|was|ist|est|es)\b\s*:?|是|は)"
    r"\s*[\"'`“„]?(?P<value>(?!//)[^\s\"'`“”]{3,})(?P<rest>[ \t]+[^\W\d_]{2,})?",
    re.IGNORECASE,
)
_SHAPED = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"
    r"|\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@"
    r"|\b(?:bearer|basic)\s+[A-Za-z0-9+/=._-]{16,}",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<![\d+])(?<!\d[ -])[2-6]\d{3}(?:[ -]?\d){9,15}(?![ -]?\d)")

# After "the password is" comes either the password or what there is to say about it.
_ABOUT = frozenset(
    """
    about also always available because being changed compromised correct different empty enough
    expired good hard hidden important incorrect invalid just kept known like long lost managed
    missing never none not now okay only optional outdated over reset required safe same saved
    secure set shared short simple somewhere still stored strong the there too unknown unset used
    valid very weak with within without written wrong
    """.split()  # noqa: SIM905 - as in words.py
)


def secrets(text: str) -> list[tuple[int, int]]:
    """Where a text gives away a secret: the beginning and the end of each."""
    found = [match.span() for match in _SHAPED.finditer(text)]
    found += [match.span("value") for match in _GIVEN.finditer(text) if _gives_away(match)]
    found += [match.span() for match in _CARD.finditer(text) if _adds_up(match.group())]
    return sorted(found)


def masked(text: str) -> str:
    """A text without the secrets it gives away."""
    for start, end in reversed(secrets(text)):
        text = f"{text[:start]}{MARK}{text[end:]}"
    return text


def _gives_away(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".,;:!?)\u3002")
    if MARK.startswith(value) or value.startswith(("[", "<", "{", "$", "*")):
        # A mark or a placeholder stands where the secret was.
        return False
    if any(letter.isdigit() or not letter.isalnum() for letter in value[1:].replace("-", "")):
        return True
    if value[1:].lower() != value[1:]:
        return len(value) > len("Apple") and not match["rest"]
    if match["by"].lower() in ("=", "->", "→", "是", "は"):
        return True
    # A lone word that says nothing about secrets is one; a sentence that goes on is not.
    return value.lower() not in _ABOUT and not match["rest"] and "secret" not in match[0].lower()


def _adds_up(number: str) -> bool:
    """Whether digits are those of a payment card: the last one checks the others."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    if digits[0] == 2 and not 22 <= digits[0] * 10 + digits[1] <= 27:  # noqa: PLR2004 - as issued
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
