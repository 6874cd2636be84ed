"""What a sandbox is made of: its limits, what it may reach, what lies ready in it."""

from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1 << 20

LONGEST_CALL = 600.0
"""Seconds that one call may be given at most."""

GRACE = 1.0
"""Seconds between asking a call to end and killing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the code in one sandbox may use."""

    timeout: float = 30.0
    """Seconds for a call that names none."""
    memory: int = 1024 * MEGABYTE
    """Bytes of memory, all processes together."""
    processes: int = 64
    cpus: float = 1.0
    """Processors, where the machine lets us say so (cgroup)."""
    file_size: int = 256 * MEGABYTE
    """Bytes of one file."""
    workspace_bytes: int = 512 * MEGABYTE
    workspace_files: int = 50_000
    temporary_bytes: int = 128 * MEGABYTE
    """Bytes in /tmp, which is memory."""
    output_kept: int = MEGABYTE
    """Bytes of each stream that are handed back."""
    output_killed: int = 64 * MEGABYTE
    """Bytes of output at which a call is killed."""
    descriptors: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """One sandbox as it is wanted. Equal specs are interchangeable."""

    workspace: Path | None = None
    """The folder seen as /workspace; None makes one that goes away with the sandbox."""
    protected: tuple[str, ...] = ()
    """Paths of the workspace that code may read and not change; one that ends in / is a folder."""
    hidden: tuple[str, ...] = ()
    """Further paths of the workspace that code must not see; secrets are always covered."""
    limits: Limits = field(default_factory=Limits)
    network: tuple[str, ...] = ()
    """Hosts that may be reached, such as example.org, *.example.org or example.org:8443."""
    packages: Path | None = None
    """A folder of Python packages, seen read-only."""
    preload: tuple[str, ...] = ()
    """Modules imported before the first call, so that no call has to wait for them."""
    transactional: bool = True
    """Whether a cell that fails hard leaves the state as it was. Off, threads outlive a cell."""
