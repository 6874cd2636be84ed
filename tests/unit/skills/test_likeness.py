from time import process_time

import pytest
from tests.unit.skills.reviewing import RSI

from long_running_agents.skills.proposals import ALIKE, alike, fingerprint

MEDIAN = '''import math

FACTOR = 1.5

def _sorted(values: list[float]) -> list[float]:
    return sorted(values)

def _middle(values: list[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2

def median(values: list[float]) -> float:
    """The median of some numbers."""
    if not values:
        return 0.0
    ordered = _sorted(values)
    return FACTOR * _middle(ordered)
'''
SLUG = '''import re

def slug(text: str, limit: int = 60) -> str:
    """A text as part of an address."""
    lowered = text.lower().strip()
    cleaned = re.sub(r"[^a-z0-9]+", "-", lowered)
    words = [word for word in cleaned.split("-") if word]
    return "-".join(words)[:limit]
'''
ADD = 'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'


def changed(source, *pairs):
    for old, new in pairs:
        assert old in source
        source = source.replace(old, new)
    return source


def reordered():
    helper = MEDIAN[MEDIAN.index("def _sorted") : MEDIAN.index("def _middle")]
    return MEDIAN.replace(helper, "") + "\n" + helper


COPIES = {
    "the same": (RSI, RSI),
    "another name": (RSI, changed(RSI, ("calculate_rsi", "strength"))),
    "other parameters": (RSI, changed(RSI, ("prices", "quotes"), ("period", "days"))),
    "other variables": (
        RSI,
        changed(RSI, ("deltas", "steps"), ("gains", "ups"), ("avg_loss", "down")),
    ),
    "another docstring": (RSI, changed(RSI, ("Calculate Relative", "Tell the relative"))),
    "no docstring": (MEDIAN, changed(MEDIAN, ('    """The median of some numbers."""\n', ""))),
    "comments": (SLUG, changed(SLUG, ("    words", "    # Only words.\n    words"))),
    "another layout": (RSI, changed(RSI, ("    ", "        "), ("i-1", "i - 1"))),
    "carriage returns": (RSI, changed(RSI, ("\n", "\r\n"))),
    "other hints": (RSI, changed(RSI, ("list[float]", "Sequence[int]"))),
    "no hints": (SLUG, changed(SLUG, ("text: str, limit: int", "text, limit"), (" -> str", ""))),
    "a reordered helper": (MEDIAN, reordered()),
    "a renamed helper": (MEDIAN, changed(MEDIAN, ("_middle", "_half_way"))),
    "a renamed constant": (MEDIAN, changed(MEDIAN, ("FACTOR", "SCALE"))),
    "a changed constant": (RSI, changed(RSI, ("period: int = 14", "period: int = 21"))),
    "another limit": (SLUG, changed(SLUG, ("60", "80"))),
    "a changed factor": (MEDIAN, changed(MEDIAN, ("1.5", "2.5"))),
    "an import of another name": (
        SLUG,
        changed(SLUG, ("import re", "import re as regex"), ("re.sub", "regex.sub")),
    ),
    "a small one of another name": (
        ADD,
        changed(ADD, ("add", "plus"), ("a:", "x:"), ("a +", "x +")),
    ),
    "other quotes": (SLUG, changed(SLUG, ('"-"', "'-'"))),
}


def one_line(body, hint="a: float, b: float"):
    return f'def work({hint}) -> float:\n    """Work."""\n    return {body}\n'


DIFFERENT = {
    "sum and product": (ADD, changed(ADD, ("a + b", "a * b"))),
    "difference and its opposite": (one_line("a - b"), one_line("b - a")),
    "celsius and miles": (
        one_line("celsius * 9 / 5 + 32", "celsius: float"),
        one_line("km * 0.621371", "km: float"),
    ),
    "miles and pounds": (one_line("a * 0.621371", "a: float"), one_line("a * 2.20462", "a: float")),
    "celsius and kelvin": (
        one_line("a * 9 / 5 + 32", "a: float"),
        one_line("a + 273.15", "a: float"),
    ),
    "there and back": (
        one_line("a * 9 / 5 + 32", "a: float"),
        one_line("(a - 32) * 5 / 9", "a: float"),
    ),
    "largest and smallest": (one_line("max(a, b)"), one_line("min(a, b)")),
    "upper and lower": (one_line("a.upper()", "a: str"), one_line("a.lower()", "a: str")),
    "sine and cosine": (one_line("math.sin(a)", "a: float"), one_line("math.cos(a)", "a: float")),
    "mean and range": (
        one_line("sum(a) / len(a)", "a: list[float]"),
        one_line("max(a) - min(a)", "a: list[float]"),
    ),
    "even and odd": (one_line("a % 2 == 0", "a: int"), one_line("a % 2 == 1", "a: int")),
    "less and greater": (one_line("a < b"), one_line("a > b")),
    "circle and square": (one_line("3.14159 * r ** 2", "r: float"), one_line("r ** 2", "r: float")),
    "count and sum": (
        one_line("sum(1 for x in a if x > 0)", "a: list[float]"),
        one_line("sum(x for x in a if x < 10)", "a: list[float]"),
    ),
    "strength and median": (RSI, MEDIAN),
    "median and slug": (MEDIAN, SLUG),
    "strength and sum": (RSI, ADD),
    "greetings": (one_line("'Hello ' + a", "a: str"), one_line("'Goodbye ' + a", "a: str")),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_known_again(name):
    one, other = map(fingerprint, COPIES[name])
    assert alike(one, other) >= ALIKE
    assert alike(one, other) == alike(other, one)


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_function_is_another(name):
    one, other = map(fingerprint, DIFFERENT[name])
    assert alike(one, other) < ALIKE


def test_names_alone_change_nothing_at_all():
    for name in ("another name", "other parameters", "another docstring", "a reordered helper"):
        assert alike(*map(fingerprint, COPIES[name])) == 1.0


def test_what_cannot_be_read_is_like_nothing():
    assert fingerprint("def (") == frozenset()
    assert alike(frozenset(), frozenset()) == 0.0
    assert alike(fingerprint(RSI), fingerprint("def (")) == 0.0


def test_a_fingerprint_is_the_same_in_every_process():
    assert fingerprint("def f(): return 1") == {244423108, 695975221, 4173085461}


def best(work, rounds, repeats):
    found = []
    for _ in range(repeats):
        began = process_time()
        for _ in range(rounds):
            work()
        found.append((process_time() - began) / rounds)
    return min(found)


def test_it_is_quick():
    lines = "\n".join(RSI.splitlines()[2:-1])
    source = "\n".join([*RSI.splitlines()[:2], *([lines] * 5), "    return [rsi]"])
    assert 37 <= len(source.splitlines()) <= 45
    one, other = fingerprint(source), fingerprint(changed(source, ("100", "101")))
    assert best(lambda: fingerprint(source), 20, 5) < 0.01
    assert best(lambda: alike(one, other), 500, 5) < 0.0001
