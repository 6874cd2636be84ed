"""Reviews with the usual settings."""

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import Brought, Draft, Origin
from long_running_agents.skills.review import review

ALLOWED = SkillSettings().allowed_imports
RESERVED = frozenset({"run_command", "read_file"})

RSI = '''def calculate_rsi(prices: list[float], period: int = 14) -> list[float]:
    """Calculate Relative Strength Index for price data."""
    deltas = [prices[i] - prices[i-1] for i in range(1, len(prices))]
    gains = [d if d > 0 else 0 for d in deltas]
    losses = [-d if d < 0 else 0 for d in deltas]
    avg_gain = sum(gains[:period]) / period
    avg_loss = sum(losses[:period]) / period
    rs = avg_gain / avg_loss if avg_loss != 0 else 0
    rsi = 100 - (100 / (1 + rs))
    return [rsi]
'''


def reviewed(source, *, redact=None, **given):
    draft = Draft(source=source, brought=Brought(origin=Origin.MODEL), **given)
    return review(draft, allowed_imports=ALLOWED, reserved=RESERVED, redact=redact or Redactor(()))


def function(body="return text", *, head="", hint="text: str", returns="str"):
    """A good function with something in it."""
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f'{head}\ndef work({hint}) -> {returns}:\n    """Do some work."""\n{lines}\n'


def messages(found):
    return " ".join(str(finding) for finding in found.findings)
