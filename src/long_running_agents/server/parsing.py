"""Reading JSON from strangers."""

import json
from typing import Any, NoReturn

from long_running_agents.errors import UsageError


def parsed(text: str | bytes) -> Any:
    """The value that a JSON text says.

    Raises:
        UsageError: It is not JSON, or says something that JSON has no words for.
    """
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise UsageError("The JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        # Not what was said: only where it went wrong.
        raise UsageError(
            f"This is not JSON (line {error.lineno}, column {error.colno}).",
            hint="Send one JSON value.",
        ) from None
    except ValueError:
        # A number of thousands of digits, or bytes that are no text.
        raise UsageError("This is not JSON.", hint="Send one JSON value.") from None


def _no_number(name: str) -> NoReturn:
    raise UsageError(f"{name} is no JSON number.")
