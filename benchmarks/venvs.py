"""Makes `.venv-bench`: every contender in one environment, so all share the same libraries."""

import hashlib
import json
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-bench"

REQUIREMENTS = (
    "agno[os]==3.1.10",
    "aiosqlite==0.22.1",
    "chromadb==1.5.9",
    "deepagents==0.7.32",
    "greenlet==3.5.6",
    "langchain==1.4.7",
    "langchain-openai==1.7.3",
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "openai==3.49.0",
    "pydantic-ai-slim[openai]==2.62.0",
)

SHOWN = (
    "pydantic-ai-slim",
    "langgraph",
    "langchain",
    "langchain-openai",
    "langgraph-checkpoint-sqlite",
    "deepagents",
    "agno",
    "openai",
    "pydantic",
    "httpx",
    "httpx2",
    "sqlalchemy",
    "aiosqlite",
    "chromadb",
    "long-running-agents",
)
"""Distributions whose versions can move the figures; printed with every result."""


def ready() -> Path:
    """Return the environment's Python, installing first when the requirements changed."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / ".requirements"
    wanted = fingerprint()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print("Installing the contenders into .venv-bench (a minute or two) …", file=sys.stderr)
    venv.EnvBuilder(with_pip=True, clear=True).create(FOLDER)
    pip(python, "--upgrade", "pip>=25.1")
    pip(python, *REQUIREMENTS, "--editable", str(ROOT))
    stamp.write_text(wanted)
    return python


def fingerprint() -> str:
    """Name what the environment must match: this list, the project's own, and Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [sys.version, *project["dependencies"], *REQUIREMENTS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pip(python: Path, *arguments: str) -> None:
    """Run `pip install` quietly in the environment."""
    command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True)


def versions(python: Path) -> dict[str, str]:
    """Return what is installed, by distribution name."""
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions()}))"
    )
    output = subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True)
    installed: dict[str, str] = json.loads(output.stdout)
    return {name: installed[name] for name in SHOWN if name in installed}
