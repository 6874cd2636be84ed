"""JSON from strangers.

The usual parser takes what JSON does not have (NaN, Infinity), what no database takes (half
characters, numbers without end), and answers a thousand brackets with a bug of its own. Here all of
that is the sender's mistake.
"""

import json
import math
from typing import Any, NoReturn

from long_running_agents.errors import UsageError

_LARGEST = 2**63 - 1


def parse(raw: bytes | str) -> Any:
    """A JSON text as values that can be stored, sent and compared.

    Raises:
        UsageError: It is no JSON, or has numbers or characters in it that only some can read.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        value = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_bounded,
            object_pairs_hook=_unique,
        )
        if "\\u" in text:
            # Half of a pair can be written in JSON, and in nothing else.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    except UnicodeError:
        raise _refused("it is not UTF-8, or has half a character in it") from None
    except json.JSONDecodeError as error:
        raise _refused(f"{error.msg} at character {error.pos}") from None
    except ValueError as error:
        raise _refused(str(error)) from None
    return value


def _refused(why: str) -> UsageError:
    return UsageError(f"This is no JSON that can be taken: {why}.", hint="Send a JSON object.")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _bounded(text: str) -> int:
    # The length first: turning a million digits into a number takes long.
    if len(text) > len(str(_LARGEST)) + 1 or not -_LARGEST <= (number := int(text)) <= _LARGEST:
        raise ValueError("a whole number has more than 64 bits")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found
