"""What the host tells the kernel before anything runs."""

import resource
from dataclasses import dataclass

from .frames import Message


@dataclass(frozen=True)
class Settings:
    """The first message of the host."""

    memory: int
    address_space: int
    """Bytes one process may map; 0 where a cgroup counts what is really used."""
    processes: int
    file_size: int
    descriptors: int
    processor_seconds: int
    workspace_bytes: int
    workspace_files: int
    output_kept: int
    output_killed: int
    grace: float
    transactional: bool
    watch_memory: bool
    """Whether nobody else watches it."""
    proxy: str
    """The socket of the host's proxy; empty without network."""
    paths: tuple[str, ...]
    """Folders of packages."""
    preload: tuple[str, ...]


def read(message: Message) -> Settings:
    """Take the host's word."""
    known = {name: message[name] for name in Settings.__dataclass_fields__}
    known["paths"] = tuple(known["paths"])
    known["preload"] = tuple(known["preload"])
    return Settings(**known)


def apply_limits(settings: Settings) -> None:
    """Bound this process and all that it will start."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: settings.memory,
        resource.RLIMIT_AS: settings.address_space,
        resource.RLIMIT_NPROC: settings.processes,
        resource.RLIMIT_FSIZE: settings.file_size,
        resource.RLIMIT_NOFILE: settings.descriptors,
        resource.RLIMIT_CPU: settings.processor_seconds,
    }
    for kind, most in wanted.items():
        if most or kind == resource.RLIMIT_CORE:
            allowed = resource.getrlimit(kind)[1]
            if allowed != resource.RLIM_INFINITY:
                most = min(most, allowed)  # noqa: PLW2901 - a limit can only be lowered
            resource.setrlimit(kind, (most, most))
