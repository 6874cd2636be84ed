"""The home: the one folder that holds everything, and who owns it right now."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from long_running_agents.errors import HomeBusy, storing

if TYPE_CHECKING:
    from long_running_agents.config import LoadedSettings

_LOOKS = 50


class Home:
    """Paths inside a home."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "lra.db"
        """Sessions, turns, memories: everything the agent knows."""
        self.workspace = path / "workspace"
        """The agent's own folder."""
        self.workspaces = path / "workspaces"
        """The folders it has for others than the owner of the home."""
        self.backups = path / "backups"
        """Copies of the database."""
        self.logs = path / "logs"
        """Log files."""
        self.sessions = path / "sessions"
        """Exported sessions."""
        self.models = path / "models"
        """Weights of the models that run inside this program."""
        self.env_file = path / ".env"
        """Keys and other secrets."""
        self.mcp_file = path / "mcp.json"
        """Foreign servers whose tools the agent may use."""
        self.history = path / "prompt_history"
        """What was typed at the prompt."""
        self.lock = path / "lra.lock"
        """Held by the process that owns the home."""
        self.server = path / "server.json"
        """Where the server that owns the home can be reached, while it runs."""

    def create(self) -> None:
        """Make the folder, for its owner alone."""
        advice = "Choose another with --home or LRA_HOME."
        with storing(f"The home {self.path}", advice, done="created"):
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    @contextmanager
    def owned(self) -> Generator[None]:
        """Own the home while inside; a second owner is refused.

        The kernel frees the lock when the process dies, however it dies.
        """
        self.create()
        advice = "Check its permissions, or choose another with --home or LRA_HOME."
        with storing(f"The home {self.path}", advice):
            handle = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _locked(handle):
                raise self.busy(_pid(handle))
            with storing(f"The home {self.path}", advice):
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

    def busy(self, pid: int) -> HomeBusy:
        """What somebody is told who cannot have the home because of a process."""
        return HomeBusy(
            f"Process {pid} is using {self.path}.",
            hint="Close it, or choose another home with --home.",
        )


def _locked(handle: int) -> bool:
    """Take the lock; one that is held for the moment of a look does not count."""
    for _ in range(_LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _pid(handle: int) -> int:
    text = os.pread(handle, 32, 0).decode(errors="replace").strip()
    return int(text) if text.isdigit() else 0


# For each turn a few times, and it is a dozen paths.
_home = lru_cache(maxsize=4)(Home)


def agent_folder(loaded: "LoadedSettings", owner: str | None = None) -> Path:
    """Where SOUL.md, USER.md, memories and skills lie: always in the home, so always ours."""
    if owner not in (None, loaded.settings.owner):
        return _home(loaded.home).workspaces / quote(owner, safe="")
    return _home(loaded.home).workspace


def archives_of(loaded: "LoadedSettings") -> Path:
    """Where what has left the view of the models lies in Markdown, a folder for each session."""
    return Path(loaded.home) / (loaded.settings.sessions.directory or "sessions")


def workspace_of(loaded: "LoadedSettings", owner: str | None = None) -> Path:
    """Where the agent works: its own folder, unless the settings name another one.

    A relative one is meant from where it is written: a file of the home, or the current folder.
    """
    chosen = loaded.settings.agent.workspace
    if not chosen or owner not in (None, loaded.settings.owner):
        return agent_folder(loaded, owner)
    written_at_home = loaded.origin("agent.workspace").startswith(f"{loaded.home}{os.sep}")
    return (loaded.home if written_at_home else Path.cwd()) / Path(chosen).expanduser()
