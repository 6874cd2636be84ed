"""Skills for tests, made without looking at them."""

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

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
NUMBER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}


def version(name="double", number=1, **values):
    """A version that passed its trial and waits."""
    interface = values.pop(
        "interface",
        Interface(
            function=values.pop("function", "double"),
            description=values.pop("description", "Twice as much."),
            parameters=values.pop("parameters", NUMBER),
            returns={"type": "integer"},
        ),
    )
    source = values.pop("source", DOUBLE)
    given = {
        "owner": "me",
        "kind": Kind.FUNCTION,
        "digest": digest_of(source, values.get("files", ())),
        "limits": Limits(),
        "safe_mode": True,
        "allowed_imports": ("math",),
        "examples": (),
        "files": (),
        "label": "",
        "brought": Brought(origin=Origin.PERSON),
        "created_at": NOON,
        "warnings": (),
        "trial": Trial(at=NOON, passed=True),
        "standing": Standing.PROPOSED,
    }
    return Version(
        name=name, number=number, source=source, interface=interface, **{**given, **values}
    )
