"""Versions for tests, made without looking at them."""

from datetime import UTC, datetime

from long_running_agents.domain.skill import (
    Brought,
    Interface,
    Kind,
    Limits,
    Origin,
    Standing,
    Trial,
    Version,
    digest_of,
)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
NUMBER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}


def version(
    name="double", source=DOUBLE, *, function="", description="Twice as much.", files=(), **more
):
    """A version that passed its trial and waits."""
    interface = Interface(
        function=function or name,
        description=description,
        parameters=NUMBER,
        returns={"type": "integer"},
    )
    about = {
        "owner": "me",
        "number": 1,
        "kind": Kind.FUNCTION,
        "limits": Limits(),
        "safe_mode": True,
        "allowed_imports": ("json", "math"),
        "examples": (),
        "label": "",
        "brought": Brought(origin=Origin.MODEL),
        "created_at": NOW,
        "warnings": (),
        "trial": Trial(at=NOW, passed=True),
        "standing": Standing.PROPOSED,
        "interface": interface,
    }
    made = {
        "name": name,
        "source": source,
        "files": files,
        "digest": digest_of(source, files),
    }
    return Version(**{**about, **made, **more})
