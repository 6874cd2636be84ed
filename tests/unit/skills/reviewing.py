"""Reviews with the usual settings."""

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.skill import SkillCreator, SkillDraft, SkillOrigin
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

LONG = r'''import asyncio
from collections import Counter
from dataclasses import dataclass, asdict, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Optional
import csv, io, json, re
import pandas as pd

EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
Rows = list[dict[str, Any]]
DEFAULTS: dict[str, int] = {"a": 1}

class Invalid(ValueError):
    """Bad rows."""

@dataclass
class Summary:
    """A summary."""
    rows: int
    words: dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return self.rows == 0

def _load(path: str) -> Rows:
    target = Path("/workspace") / path
    with target.open(newline="") as handle:
        return list(csv.DictReader(handle))

async def summarise(
    path: str, column: str = "text", top: Optional[int] = None, *, strict: bool = False
) -> Summary:
    """Summarise a table.

    Args:
        path: The file, relative to the workspace.
        column: Which column.
        top: How many words.
        strict: Whether odd rows are errors.

    Returns:
        A summary.

    Raises:
        Invalid: A row is odd.
    """
    rows = await asyncio.to_thread(_load, path)
    counts: Counter[str] = Counter()
    for row in rows:
        if column not in row:
            if strict:
                raise Invalid(f"no {column!r} in {row}")
            continue
        counts.update(re.findall(r"\w+", row[column].lower()))
    frame = pd.DataFrame(rows)
    ok = pd.api.types.is_numeric_dtype(frame[column])
    when = datetime.fromisoformat("2024-01-01") + timedelta(days=1)
    url = f"https://example.com/home/{column}"
    def key(pair): return (-pair[1], pair[0])
    words = dict(sorted(counts.items(), key=key)[:top])
    print(json.dumps(asdict(Summary(len(rows), words))), when.strftime("%Y/%m/%d"), url, ok)
    return Summary(rows=len(rows), words=words)
'''


def reviewed(source, *, redact=None, **given):
    draft = SkillDraft(source=source, brought=SkillOrigin(origin=SkillCreator.MODEL), **given)
    return review(draft, allowed_imports=ALLOWED, reserved=RESERVED, redact=redact or Redactor(()))


def function(body="return text", *, head="", hint="text: str", returns="str"):
    """A good function with something in it."""
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f'{head}\ndef work({hint}) -> {returns}:\n    """Do some work."""\n{lines}\n'


def messages(found):
    return " ".join(str(finding) for finding in found.findings)
