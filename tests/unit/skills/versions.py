"""Versions for tests, made without looking at them."""

from datetime import UTC, datetime

from long_running_agents.domain.skill import (
    Interface,
    SkillApproval,
    SkillCreator,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillTrial,
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
        "kind": SkillKind.FUNCTION,
        "limits": SkillLimits(),
        "safe_mode": True,
        "allowed_imports": ("json", "math"),
        "examples": (),
        "label": "",
        "brought": SkillOrigin(origin=SkillCreator.MODEL),
        "created_at": NOW,
        "warnings": (),
        "trial": SkillTrial(at=NOW, passed=True),
        "standing": SkillApproval.PROPOSED,
        "interface": interface,
    }
    made = {
        "name": name,
        "source": source,
        "files": files,
        "digest": digest_of(source, files),
    }
    return Version(**{**about, **made, **more})
