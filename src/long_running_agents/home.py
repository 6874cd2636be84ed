"""The home: the one folder that holds everything, and who owns it right now."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from long_running_agents.config import Loaded
from long_running_agents.errors import HomeBusy, StorageFailed


@dataclass(frozen=True, slots=True)
class Home:
    """Paths inside a home."""

    path: Path

    @property
    def database(self) -> Path:
        """Sessions, turns, memories: everything the agent knows."""
        return self.path / "lra.db"

    @property
    def workspace(self) -> Path:
        """The agent's own folder."""
        return self.path / "workspace"

    @property
    def workspaces(self) -> Path:
        """The folders it has for others than the owner of the home."""
        return self.path / "workspaces"

    @property
    def backups(self) -> Path:
        """Copies of the database."""
        return self.path / "backups"

    @property
    def logs(self) -> Path:
        """Log files."""
        return self.path / "logs"

    @property
    def sessions(self) -> Path:
        """Exported sessions."""
        return self.path / "sessions"

    @property
    def models(self) -> Path:
        """Weights of the models that run inside this program."""
        return self.path / "models"

    @property
    def env_file(self) -> Path:
        """Keys and other secrets."""
        return self.path / ".env"

    @property
    def mcp_file(self) -> Path:
        """Foreign servers whose tools the agent may use."""
        return self.path / "mcp.json"

    @property
    def history(self) -> Path:
        """What was typed at the prompt."""
        return self.path / "prompt_history"

    @property
    def lock(self) -> Path:
        """Held by the process that owns the home."""
        return self.path / "lra.lock"

    @property
    def server(self) -> Path:
        """Where the server that owns the home can be reached, while it runs."""
        return self.path / "server.json"

    def create(self) -> None:
        """Make the folder, for its owner alone."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageFailed(
                f"The home {self.path} cannot be created: {error.strerror}.",
                hint="Choose another with --home or LRA_HOME.",
            ) from error

    @contextmanager
    def owned(self) -> Generator[None]:
        """Own the home while inside; a second owner is refused.

        The kernel frees the lock when the process dies, however it dies.
        """
        self.create()
        try:
            handle = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageFailed(
                f"The home {self.path} cannot be written: {error.strerror}.",
                hint="Check its permissions, or choose another with --home or LRA_HOME.",
            ) from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._busy(handle) from None
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            yield
            os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def owner(self) -> int | None:
        """The process that owns the home now, if any."""
        try:
            handle = os.open(self.lock, os.O_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _pid(handle)
        finally:
            os.close(handle)
        return None

    def _busy(self, handle: int) -> HomeBusy:
        return HomeBusy(
            f"Process {_pid(handle)} is using {self.path}.",
            hint="Close it, or choose another home with --home.",
        )


def _pid(handle: int) -> int:
    text = os.pread(handle, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isdigit() else 0


def workspace_of(loaded: Loaded, owner: str | None = None) -> Path:
    """The agent's folder, or the one it has for somebody else."""
    if owner not in (None, loaded.settings.owner):
        return Home(loaded.home).workspaces / quote(owner, safe="")
    chosen = loaded.settings.agent.workspace
    return Path(chosen).expanduser() if chosen else Home(loaded.home).workspace
