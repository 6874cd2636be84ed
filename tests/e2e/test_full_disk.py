"""A real server on a real disk that becomes full.

The disk is a small tmpfs in a mount namespace of the server's own, made by bubblewrap: it needs
neither root nor a mount that somebody would have to clean up.
"""

import subprocess
import sys
from contextlib import contextmanager

import httpx2
from tests.e2e.served import READY, environment
from tests.scripted_process import scripted_process

from long_running_agents.testing import say
from long_running_agents.testing.script import Rule, Script

SIZE = 40_000_000
LRA = (sys.executable, "-m", "long_running_agents")
INSIDE = """
import contextlib, os, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(server.stdout.readline(), end="", flush=True)
filler = sys.argv[1] + "/filler"
for order in sys.stdin:
    if order.startswith("leave "):
        disk = os.statvfs(sys.argv[1])
        # What the server writes meanwhile takes some of it: then the disk is full already.
        with contextlib.suppress(OSError), open(filler, "ab", buffering=0) as file:
            file.write(bytes(max(0, disk.f_bavail * disk.f_frsize - int(order.split()[1]))))
    elif order == "free\\n":
        os.unlink(filler)
    elif order == "kill\\n":
        server.kill()
        print(repr(server.stdout.read()), flush=True)
        continue
    elif order.startswith("run "):
        words = [*sys.argv[2:5], *order.split()[1:]]
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        print(ran.returncode, repr(ran.stderr), flush=True)
        continue
    print("done", flush=True)
server.kill()
"""
"""Runs a server, and does beside it what is asked for: fill the disk, free it, kill, run."""


class Machine:
    """A machine with a small disk, on which a server runs."""

    def __init__(self, process):
        self._process = process

    def do(self, order):
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


@contextmanager
def machine(home, model_url):
    """Yields the machine and a client of its server."""
    home.mkdir()
    serve = [*LRA, "serve", "--port", "0"]
    process = subprocess.Popen(
        [
            "bwrap", "--dev-bind", "/", "/", "--perms", "0700", "--size", str(SIZE),
            "--tmpfs", str(home), "--die-with-parent",
            sys.executable, "-c", INSIDE, str(home), *serve,
        ],
        env=environment(home, model_url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert line.startswith(READY), line
        address = line.removeprefix(READY).split()[0]
        with httpx2.Client(base_url=address, trust_env=False, timeout=120) as client:
            yield Machine(process), client
    finally:
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


SCRIPT = Script((Rule("long", (say("x" * 2_000_000),)), Rule("", (say("hello"),))))


def test_a_full_disk_is_named_and_a_turn_goes_on_when_there_is_room_again(tmp_path):
    with (
        scripted_process(SCRIPT) as model,
        machine(tmp_path / "home", model) as (small, client),
    ):
        assert client.post("/api/chat/talk", json={"message": "hi"}).status_code == 200
        assert client.get("/ready").status_code == 200
        small.do("leave 1500000")
        # There is room for the question and not for the answer.
        failed = client.post("/api/chat/talk", json={"message": "a long one"})
        small.do("leave 0")
        unready, refused = client.get("/ready"), client.post("/api/chat/x", json={"message": "hi"})
        assert [each.status_code for each in (failed, unready, refused)] == [503] * 3
        for each in (failed, unready, refused):
            assert "disk is full" in each.json()["message"]
        small.do("free")
        # The next in line has its turn when the one before it has come to its end.
        assert client.post("/api/chat/talk", json={"message": "hi"}).status_code == 200
        turns = client.get("/api/sessions/talk/turns").json()["turns"]
        assert [turn["status"] for turn in turns] == ["done"] * 3
        assert client.get("/ready").status_code == 200
        small.do("leave 0")
        assert "Traceback" not in small.do("kill")
        for words in ("serve --port 0", "ask hi", "backup"):
            small.do("leave 0")  # a process that ends gives back what only it had open
            code, _, said = small.do(f"run {words}").partition(" ")
            assert code == "75", said
            assert "free some" in said.lower()
            assert "permissions" not in said
            assert "Traceback" not in said
