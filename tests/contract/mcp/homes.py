"""Homes with foreign servers in them."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
REAL = {"command": sys.executable, "args": [str(HERE / "real.py"), "stdio"]}


def plain(folder, *tools, name="plain", **script):
    """A server of the first generation with these tools."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.script.json"
    path.write_text(json.dumps({"tools": tools, **script}))
    return {"command": sys.executable, "args": ["-I", str(HERE / "plain.py"), str(path)]}


def starts(folder, name="plain"):
    """The processes that were started as such a server."""
    path = folder / f"{name}.script.json.starts"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def write(home, **servers):
    """Name servers in a home's mcp.json."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


async def until(condition):
    """Wait for something outside that tells nobody when it happens."""
    async with asyncio.timeout(100):
        while not condition():
            await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0.001))])


def lives(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def web_server(*options):
    """The library's server at an address; yields it, its process, and what it has heard."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "real.py"), "http", *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parents[2],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[2] / "src")},
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        yield line.removeprefix("listening on ").strip(), process
    finally:
        process.terminate()
        process.communicate()
