"""What the names in a workspace mean, wherever they come up: in a command, a path or a wall."""

import re
from collections.abc import Iterable

WORKSPACE = "/workspace"
"""What the agent's folder is called inside of sandboxes."""

INSTRUCTIONS = ("SOUL.md", "USER.md", "AGENTS.md", "cron.json", "memory/", "skills/")
"""What in it tells later turns what to do; one that ends in / is a folder."""
PROJECT = "AGENTS.md"
"""What a project says of itself, and a folder of its part."""

_SENSITIVE = re.compile(
    r"""(
        \.env(\..+)? | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.netrc | \.pgpass
      | \.npmrc | \.pypirc | \.git-credentials | \.htpasswd | credentials(\.json)?
      | id_(rsa|dsa|ecdsa|ed25519)(\..+)? | .+\.(pem|key|p12|pfx|kdbx|keystore|jks)
      | lra\.db(-.+)?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(example|sample|template)", re.IGNORECASE)


def is_sensitive(name: str) -> bool:
    """Whether a file or folder of this name usually holds secrets."""
    return bool(_SENSITIVE.fullmatch(name)) and not _HARMLESS.fullmatch(name)


def is_instruction(inside: str) -> bool:
    """Whether a path relative to the workspace is what later turns are told what to do by."""
    # Lower case, since some file systems take both for the same.
    path = inside.lower()
    return path.endswith(f"/{PROJECT.lower()}") or any(
        path.startswith(name) or path == name.rstrip("/") if name.endswith("/") else path == name
        for name in map(str.lower, INSTRUCTIONS)
    )


def folders_below(paths: Iterable[str]) -> list[str]:
    """The folders of the workspace on the way to whole paths, shallow ones first.

    What a path leads to may be a folder, and is one of them.
    """
    found: dict[str, int] = {}
    for path in paths:
        if path.startswith(f"{WORKSPACE}/"):
            parts = path.removeprefix(f"{WORKSPACE}/").split("/")
            found |= {"/".join(parts[:depth]): depth for depth in range(1, len(parts) + 1)}
    return sorted(found, key=lambda folder: (found[folder], folder))
