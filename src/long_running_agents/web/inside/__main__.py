"""Reads one order and one document from its input, and writes one answer."""

import contextlib
import json
import resource
import sys
from typing import Any

_MEMORY = 1 << 30
_FILES = 64


def main() -> None:
    """Work once."""
    order: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _limit(int(order["seconds"]))
    body = sys.stdin.buffer.read()
    # After the limits, since these bring foreign code with them.
    from long_running_agents.web.inside.converting import convert  # noqa: PLC0415

    answer = convert(
        body,
        media_type=order["media_type"],
        charset=order["charset"],
        url=order["url"],
        most=order["most"],
    )
    sys.stdout.write(json.dumps(answer))


def _limit(seconds: int) -> None:
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # Some systems know a limit and refuse to set it; time is kept outside, too.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main()
