"""The processes of a run: the scripted model, and one worker per contender."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from benchmarks.venvs import ROOT

FOREIGN = ("OPENAI_", "LANGCHAIN_", "LANGSMITH_", "LANGGRAPH_", "AGNO_", "AGENT_", "LRA_", "PYTHON")
"""Settings of the person who measures must not reach the contenders."""


def environment() -> dict[str, str]:
    """Return this environment without settings, keys and proxies."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(FOREIGN) and not name.lower().endswith("_proxy")
    }
    return kept | {"LANGSMITH_TRACING": "false", "PYTHONUNBUFFERED": "1"}


class Talker:
    """A child process that answers each line with a line."""

    def __init__(self, python: Path, folder: Path, module: str, *arguments: str) -> None:
        folder.mkdir(parents=True)
        self.name = " ".join([module, *arguments[:1]])
        self.log = folder / "stderr.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [str(python), "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=environment(),
                text=True,
            )

    def read(self) -> Any:
        """Return the next line as JSON; a process that ended instead shows its last words."""
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(timeout=10)
            raise SystemExit(f"{self.name} ended early:\n{self.log.read_text()[-3000:]}")
        return json.loads(line)

    def ask(self, line: str) -> Any:
        """Send a line and return the answer."""
        with suppress(BrokenPipeError):  # read() tells what happened.
            print(line, file=self.process.stdin, flush=True)
        return self.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Model(Talker):
    """The scripted model."""

    def __init__(self, python: Path, folder: Path) -> None:
        super().__init__(python, folder / "model", "benchmarks.model")
        self.url = f"http://127.0.0.1:{self.read()}/v1"

    def take(self) -> dict[str, int]:
        """Return what was received since this was last asked."""
        return self.ask("take")


class Worker(Talker):
    """One contender; `left_out` says why it does not take part."""

    def __init__(self, python: Path, folder: Path, contender: str, url: str) -> None:
        own = folder / contender.replace(" ", "-")
        super().__init__(python, own, "benchmarks.worker", contender, url, str(own))
        self.contender = contender
        self.left_out: str | None = self.read().get("left_out")
