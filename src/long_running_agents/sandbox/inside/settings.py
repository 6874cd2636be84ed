"""What the host tells the kernel before anything runs."""

from __future__ import annotations

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .frames import Message


class Settings:
    """The first message of the host."""

    def __init__(self, message: Message) -> None:
        self.workspace: str = message["workspace"]
        """The folder that is worked in."""
        self.memory: int = message["memory"]
        self.address_space: int = message["address_space"]
        """Bytes one process may map; 0 where a cgroup counts what is really used."""
        self.processes: int = message["processes"]
        self.file_size: int = message["file_size"]
        self.descriptors: int = message["descriptors"]
        self.processor_seconds: int = message["processor_seconds"]
        self.workspace_bytes: int = message["workspace_bytes"]
        self.workspace_files: int = message["workspace_files"]
        self.output_kept: int = message["output_kept"]
        self.output_killed: int = message["output_killed"]
        self.grace: float = message["grace"]
        self.transactional: bool = message["transactional"]
        self.watch_memory: bool = message["watch_memory"]
        """Whether nobody else watches it."""
        self.proxy: str = message["proxy"]
        """The socket of the host's proxy; empty without network."""
        self.paths: list[str] = message["paths"]
        """Folders of packages."""
        self.preload: list[str] = message["preload"]
        self.filter: dict[str, str] = message.get("filter", {})
        """Our filter of system calls for each machine, where the walls have none; in hex."""


def apply_limits(settings: Settings, memory: int | None = None) -> None:
    """Bound this process and all that it will start.

    Args:
        settings: What the host said.
        memory: How many bytes it may use, if less than all of the sandbox.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: min(settings.memory, memory or settings.memory),
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
