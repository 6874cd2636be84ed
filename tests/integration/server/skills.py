"""Skills that stories over HTTP are told with."""

CELSIUS = '''def celsius(fahrenheit: float) -> float:
    """Turn degrees of Fahrenheit into degrees of Celsius."""
    return round((fahrenheit - 32) * 5 / 9, 1)
'''
EXACT = CELSIUS.replace("round((fahrenheit - 32) * 5 / 9, 1)", "(fahrenheit - 32) * 5 / 9")
"""The same, better."""
SHOUT = '''def shout(text: str) -> str:
    """Write a text in capital letters."""
    return text.upper()
'''
HALVE = '''def halve(number: int) -> float:
    """Divide a number of things among as many."""
    return 10 / number
'''
UNTYPED = "def celsius(fahrenheit):\n    return fahrenheit\n"
REACHING = '''import socket


def call_home(host: str) -> str:
    """Say who we are."""
    return socket.gethostbyname(host)
'''


def new(source, **wishes):
    """A body that wishes for a skill."""
    return {"json": {"source": source, **wishes}}


async def made(ask, *sources):
    """Have skills in use."""
    return [await ask.ok("POST", "/api/skills", **new(source, enable=True)) for source in sources]
