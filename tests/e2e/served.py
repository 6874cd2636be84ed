"""A real `lra serve` process with a scripted model."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

READY = "listening on "


class Served:
    """The process, and where it listens."""

    def __init__(self, process, address):
        self.process = process
        self.address = address

    def kill(self):
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def environment(home, model_url, **more):
    """What the process sees: nothing of the person who tests."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("LRA_", "AGENT_"))
    }
    return {
        **kept,
        "HOME": str(home),
        "LRA_HOME": str(home),
        "AGENT_MODEL": "scripted",
        "AGENT_MODEL_URL": model_url,
        **more,
    }


@contextmanager
def served(home, model_url, *arguments, **variables):
    """Start a server on a free port; it is ended by its process id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "long_running_agents", "serve", "--port", "0", *arguments],
        env=environment(home, model_url, **variables),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = ""
        while not line.startswith(READY):
            line = process.stdout.readline()
            assert line, "the server ended before it listened"
        yield Served(process, line.removeprefix(READY).split()[0])
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=300)
        process.stdout.close()
