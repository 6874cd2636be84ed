"""What the names in a workspace mean, wherever they come up: in a command, a path or a wall."""

import re

WORKSPACE = "/workspace"
"""What the agent's folder is called inside of sandboxes."""

INSTRUCTIONS = ("SOUL.md", "USER.md", "AGENTS.md", "cron.json", "memory/", "skills/")
"""What in it tells later turns what to do; one that ends in / is a folder."""

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
    return any(
        path.startswith(name) or path == name.rstrip("/") if name.endswith("/") else path == name
        for name in map(str.lower, INSTRUCTIONS)
    )
