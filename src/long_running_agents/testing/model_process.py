"""A scripted model in a process of its own, for programs that are tested from outside."""

import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from long_running_agents.testing.script import Script

_SAYS = "listening on "


@contextmanager
def scripted_process(script: Script, *, options: Iterable[str] = ()) -> Generator[str]:
    """Serve a script from another process while inside; yields the address, ending in ``/v1``.

    Args:
        script: What the model says.
        options: More words for ``python -m long_running_agents.testing.model_server``.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(script.to_json())
        file.flush()
        server = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [
                sys.executable,
                "-m",
                "long_running_agents.testing.model_server",
                "--script",
                file.name,
                *options,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            line = server.stdout.readline() if server.stdout is not None else ""
            if not line.startswith(_SAYS):
                raise RuntimeError("The scripted model did not start; its own words are above.")
            yield line.removeprefix(_SAYS).strip()
        finally:
            server.terminate()
            server.communicate()
