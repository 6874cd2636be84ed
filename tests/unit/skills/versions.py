"""Versions for the tests of what is done with them."""

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


def version(name, source, *, function="", kind=Kind.FUNCTION, files=(), **more):
    interface = Interface(
        function=function or name, description=f"What {name} does.", parameters={"type": "object"}
    )
    about = {
        "owner": "local",
        "number": 1,
        "limits": Limits(),
        "safe_mode": True,
        "allowed_imports": ("json", "math"),
        "examples": (),
        "label": "",
        "brought": Brought(origin=Origin.MODEL),
        "created_at": NOW,
        "warnings": (),
        "trial": Trial(at=NOW, passed=True),
        "standing": Standing.APPROVED,
        "interface": interface,
    }
    return Version(
        **{
            **about,
            "name": name,
            "kind": kind,
            "source": source,
            "files": files,
            "digest": digest_of(source, files),
            **more,
        }
    )
