"""Plausible values for arguments of which only the name and the type are known."""

from collections.abc import Mapping

_SENTENCE = "The quick brown fox jumps over the lazy dog."
_TEXTS: Mapping[str, str] = {
    "url": "https://example.com/articles?page=2",
    "link": "https://example.com/articles?page=2",
    "uri": "https://example.com/articles?page=2",
    "host": "example.com",
    "domain": "example.com",
    "email": "ada@example.com",
    "mail": "ada@example.com",
    "date": "2024-05-17",
    "day": "2024-05-17",
    "start": "2024-05-01",
    "end": "2024-05-17",
    "datetime": "2024-05-17T12:30:00+00:00",
    "timestamp": "2024-05-17T12:30:00+00:00",
    "time": "12:30",
    "timezone": "Europe/Berlin",
    "path": "notes/example.txt",
    "file": "notes/example.txt",
    "filename": "example.txt",
    "name": "Ada Lovelace",
    "title": "A short title",
    "text": _SENTENCE,
    "content": _SENTENCE,
    "sentence": _SENTENCE,
    "message": _SENTENCE,
    "query": "quick fox",
    "word": "level",
    "language": "en",
    "lang": "en",
    "locale": "en_US",
    "currency": "EUR",
    "country": "DE",
    "city": "Berlin",
    "color": "#336699",
    "colour": "#336699",
    "phone": "+49 30 123456",
    "json": '{"name": "Ada", "values": [1, 2, 3]}',
    "csv": "name,value\nAda,1\nGrace,2\n",
    "html": "<p>Hello <b>world</b></p>",
    "markdown": "# Title\n\nSome *text*.\n",
    "xml": "<a><b>1</b></a>",
    "pattern": r"\w+",
    "regex": r"\w+",
    "format": "%Y-%m-%d",
    "ip": "192.0.2.1",
    "uuid": "12345678-1234-5678-1234-567812345678",
    "id": "a1",
    "key": "name",
    "period": "month",
    "symbol": "ABC",
    "unit": "km",
    "separator": ",",
    "delimiter": ",",
    "code": "x = 1\n",
    "expression": "1 + 2 * 3",
    "isbn": "978-3-16-148410-0",
    "iban": "DE89370400440532013000",
    "roman": "XIV",
    "hex": "ff8800",
    "binary": "1011",
    "number": "42",
}
_FORMATS = {
    "date": _TEXTS["date"],
    "date-time": _TEXTS["datetime"],
    "time": "12:30:00Z",
    "email": _TEXTS["email"],
    "uri": _TEXTS["url"],
    "uuid": _TEXTS["uuid"],
    "ipv4": _TEXTS["ip"],
}
_WHOLE: Mapping[str, int] = {
    "period": 5, "window": 5, "count": 3, "n": 5, "k": 3, "limit": 10, "size": 10, "length": 12,
    "width": 80, "year": 2024, "month": 5, "day": 17, "hour": 12, "minute": 30, "second": 15,
    "age": 36, "port": 8080, "base": 10, "precision": 2, "digits": 2, "page": 1, "seed": 1,
    "percent": 50, "timestamp": 1_715_949_000, "index": 1, "exponent": 2, "start": 1, "end": 10,
}  # fmt: skip
_REAL: Mapping[str, float] = {
    "price": 101.5, "rate": 0.05, "ratio": 0.5, "percent": 12.5, "percentage": 12.5,
    "probability": 0.25, "lat": 52.52, "lat1": 52.52, "lat2": 48.85, "latitude": 52.52,
    "lon": 13.4, "lon1": 13.4, "lon2": 2.35, "lng": 13.4, "longitude": 13.4, "weight": 70.0,
    "height": 1.75, "temperature": 21.5, "celsius": 21.5, "fahrenheit": 70.0, "amount": 250.0,
    "principal": 1000.0, "threshold": 0.5, "alpha": 0.3,
}  # fmt: skip

_STEPS = (1.5, -0.5, 2.0, 0.5, -1.0)


def text(name: str, form: str = "") -> str:
    """A text that an argument of this name may well be."""
    if form in _FORMATS:
        return _FORMATS[form]
    return next((_TEXTS[word] for word in _words(name) if word in _TEXTS), "Hello, world!")


def whole(name: str) -> int:
    """A whole number for an argument of this name."""
    return next((_WHOLE[word] for word in _words(name) if word in _WHOLE), 7)


def real(name: str) -> float:
    """A number for an argument of this name."""
    return next((_REAL[word] for word in _words(name) if word in _REAL), 2.5)


def reals(count: int) -> list[float]:
    """Numbers that rise, with a setback now and then."""
    found = [100.0]
    while len(found) < count:
        found.append(found[-1] + _STEPS[(len(found) - 1) % len(_STEPS)])
    return found[:count]


def wholes(count: int) -> list[int]:
    """Whole numbers that rise, with a setback now and then."""
    return [3 * place - (4 if place % 4 == 3 else 0) + 2 for place in range(count)]  # noqa: PLR2004


def texts(count: int) -> list[str]:
    """Words, all different as far as there are enough."""
    words = ("apple", "banana", "cherry", "date", "elderberry", "fig", "grape")
    return [words[place % len(words)] + str(place // len(words) or "") for place in range(count)]


def _words(name: str) -> list[str]:
    """The words of a name, the last first: a start_date is a date. Plurals count, too."""
    words = name.lower().split("_")[::-1]
    return [form for word in [name.lower(), *words] for form in (word, word.removesuffix("s"))]
