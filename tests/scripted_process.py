"""The scripted server as a process of its own."""

import subprocess
import sys
import tempfile
from contextlib import contextmanager

_SAYS = "listening on "


@contextmanager
def scripted_process(script, *, options=()):
    """Serve a script from another process while inside; yields the address, ending in ``/v1``.

    The options are more words for ``python -m long_running_agents.testing.scripted_server``.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(script.to_json())
        file.flush()
        command = [sys.executable, "-m", "long_running_agents.testing.scripted_server"]
        server = subprocess.Popen(
            [*command, "--script", file.name, *options], stdout=subprocess.PIPE, text=True
        )
        try:
            line = server.stdout.readline() if server.stdout is not None else ""
            if not line.startswith(_SAYS):
                raise RuntimeError("The scripted model did not start; its own words are above.")
            yield line.removeprefix(_SAYS).strip()
        finally:
            server.terminate()
            server.communicate()
