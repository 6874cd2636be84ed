"""The stage: a machine's worth of canaries in a folder that is thrown away afterwards."""

import http.server
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CANARY = "canary-7f91"
UNTOUCHED = "untouched\n"


class Stage:
    """Secrets, files, services and processes that an attack would like to reach."""

    def __init__(self, user: int | None) -> None:
        """Build it.

        Args:
            user: Whom everything belongs to, if not to us.
        """
        self.user = user
        self.root = Path(tempfile.mkdtemp(prefix="attack-"))
        self.root.chmod(0o755)
        self.home, self.outside = self.root / "home", self.root / "outside"
        self.hits = 0
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._start(self._http.serve_forever)
        self._name = f"{self.root.name}-canary"
        self._shared = Path("/dev/shm", self._name)
        self._doors = [self._door(str(self.root / "agent.sock")), self._door(f"\0{self._name}")]
        self.reset()
        self._victims: list[subprocess.Popen[bytes]] = []
        self._keep_victims()

    @property
    def places(self) -> dict[str, str]:
        """What the place-holders of the cases stand for."""
        return {
            "HOME": str(self.home),
            "OUT": str(self.outside),
            "NAME": self._name,
            "SOCK": str(self.root / "agent.sock"),
            "PORT": str(self._http.server_port),
            "VICTIM": str(self._victims[0].pid),
        }

    @property
    def environment(self) -> dict[str, str]:
        """What the agent's own environment would hold."""
        return {"HOME": str(self.home), "CANARY_KEY": CANARY, "OPENAI_API_KEY": f"{CANARY}-sk"}

    def reset(self) -> None:
        """Put every canary back."""
        # Not the folder itself: a process of the machine works in it.
        (self.outside / "pwned").unlink(missing_ok=True)
        for path, text in {
            self.home / ".ssh/id_rsa": CANARY,
            self.home / ".bashrc": UNTOUCHED,
            self.outside / ".env": f"KEY={CANARY}\n",
            self.outside / "agent.db": CANARY,
            self.outside / "victim.txt": UNTOUCHED,
            self._shared: CANARY,
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if self.user is not None:
            for path in (self.root, *self.root.rglob("*"), self._shared):
                os.chown(path, self.user, self.user)

    def damage(self, hits_before: int) -> list[str]:
        """What has happened to the canaries."""
        found: list[str] = []
        if (self.outside / "pwned").exists():
            found.append("a file was planted outside")
        if _text(self.outside / "victim.txt") != UNTOUCHED:
            found.append("a file outside was changed")
        if _text(self.home / ".bashrc") != UNTOUCHED:
            found.append("the shell's start file was changed")
        if self.hits != hits_before:
            found.append("a service of the machine was reached")
        if any(victim.poll() is not None for victim in self._victims):
            found.append("a process of the machine was ended")
            self._keep_victims()
        return found

    def close(self) -> None:
        """Take the stage down."""
        for victim in self._victims:
            victim.kill()
            victim.wait()
        self._http.shutdown()
        self._http.server_close()
        for door in self._doors:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)
            door.close()
        self._shared.unlink(missing_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def _keep_victims(self) -> None:
        self._victims = [victim for victim in self._victims if victim.poll() is None]
        while len(self._victims) < 2:
            words = [["sleep", "3600"], ["bash", "-c", "sleep 3600 # sbx-victim"]]
            self._victims.append(
                subprocess.Popen(
                    words[len(self._victims)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=self.outside,
                    env={"CANARY": CANARY, "PATH": "/usr/bin:/bin"},
                    user=self.user,
                )
            )

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        stage = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle(self) -> None:
                stage.hits += 1

        return Handler

    def _door(self, address: str) -> socket.socket:
        door = socket.socket(socket.AF_UNIX)
        door.bind(address)
        door.listen(8)

        def welcome() -> None:
            with suppress(OSError):
                while True:
                    door.accept()[0].close()
                    self.hits += 1

        self._start(welcome)
        return door

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
