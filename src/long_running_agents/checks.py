"""The checks of `lra doctor`: each looks at one thing and changes nothing."""

import asyncio
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import CorruptData, LraError, StorageFailed
from long_running_agents.home import Home
from long_running_agents.mcp import servers_file
from long_running_agents.memory.opening import open_memories
from long_running_agents.models import looking, names
from long_running_agents.models.embedded import Embedded
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.result import UNSANDBOXED
from long_running_agents.store import memory_words
from long_running_agents.store.health import Health, examine, has_full_text_search
from long_running_agents.store.opening import database_path

_OLDEST_PYTHON = (3, 11)
_LITTLE_DISK = 1_000_000_000
_NO_DISK = 50_000_000
_BUILT = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows an earlier time."""


class State(StrEnum):
    """What a check found."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    state: State
    detail: str
    fix: str = ""
    """What to do about it."""


def examine_all(loaded: Loaded, clock: Clock) -> list[Check]:
    """Run every check."""
    where = Home(loaded.home)
    return [
        python(),
        home(where),
        owner(where),
        database(loaded),
        full_text_search(),
        memory(loaded, clock),
        secrets(where.env_file),
        model(loaded),
        sandbox(loaded, clock),
        gate(loaded),
        mcp(loaded),
        disk(where.path),
        time(clock.now()),
    ]


def python() -> Check:
    """Is Python new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST_PYTHON:
        return Check("python", State.OK, version)
    return Check("python", State.PROBLEM, version, "Install Python 3.11 or newer.")


def home(where: Home) -> Check:
    """Can the home be written."""
    if not where.path.exists():
        return Check("home", State.WARNING, f"{where.path} is not there yet", "Run 'lra init'.")
    if not os.access(where.path, os.W_OK | os.X_OK):
        fix = f"chmod u+rwx {where.path}, or choose another home with --home or LRA_HOME."
        return Check("home", State.PROBLEM, f"{where.path} cannot be written", fix)
    if stat.S_IMODE(where.path.stat().st_mode) & 0o077:
        return Check(
            "home",
            State.WARNING,
            f"{where.path} can be read by others",
            f"chmod 700 {where.path}",
        )
    return Check("home", State.OK, str(where.path))


def owner(where: Home) -> Check:
    """Who works in the home right now."""
    try:
        pid = where.owner()
    except OSError as error:
        return Check("owner", State.PROBLEM, f"{where.lock}: {error.strerror}", "Check its owner.")
    return Check("owner", State.OK, "nobody" if pid is None else f"process {pid} is using it")


def database(loaded: Loaded) -> Check:
    """Does the database open, is it sound, is its schema ours."""
    try:
        path = database_path(loaded)
        if not path.exists():
            return Check("database", State.OK, "none yet; 'lra chat' makes it")
        health = examine(path)
    except LraError as error:
        return Check("database", State.PROBLEM, error.message, error.hint)
    return _verdict(path, health)


def _verdict(path: Path, health: Health) -> Check:
    found, expected = health.schema, health.expected
    state, detail, fix = State.OK, f"{path}, schema {found}", ""
    if health.damage:
        state, detail = State.PROBLEM, f"{path} is damaged: {health.damage}"
        fix = "Move it away and restore the newest file of 'backups/'."
    elif found is None:
        state, detail = State.PROBLEM, f"{path} is not one of ours"
        fix = "Choose another home or move the file away."
    elif found > expected:
        state, detail = State.PROBLEM, f"schema {found} is newer than this version's {expected}"
        fix = "pip install --upgrade long-running-agents"
    elif found < expected:
        state, detail = State.WARNING, f"schema {found}, this version uses {expected}"
        fix = "Run 'lra chat' once: it upgrades after a backup."
    return Check("database", state, detail, fix)


def full_text_search() -> Check:
    """Can SQLite search text."""
    if has_full_text_search():
        return Check("full-text search", State.OK, "FTS5")
    fix = "Install a Python whose SQLite has FTS5."
    return Check("full-text search", State.PROBLEM, "SQLite lacks FTS5", fix)


def memory(loaded: Loaded, clock: Clock) -> Check:
    """Is what is remembered whole, and found by words and by meaning."""
    if not loaded.settings.memory.enabled:
        return Check("memory", State.OK, "switched off (memory.enabled)")
    try:
        if not database_path(loaded).exists():
            return Check("memory", State.OK, "nothing yet")
        remembered = asyncio.run(_remembered(loaded, clock))
    except (StorageFailed, CorruptData):
        # The check of the database says what is wrong.
        return Check("memory", State.WARNING, "not looked at before the database is in order")
    except LraError as error:
        return Check("memory", State.PROBLEM, error.message, error.hint)
    return remembered.verdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What there is to say about a home's memory."""

    count: int
    embedder: str | None
    missing: int
    sound: bool

    def verdict(self) -> Check:
        """All of it as one finding, the worst first."""
        counted = "1 memory" if self.count == 1 else f"{self.count:,} memories"
        if not self.sound:
            fix = "Run 'lra memory reindex': nothing is lost, the index is made again."
            return Check("memory", State.PROBLEM, f"{counted}, the index does not match", fix)
        if self.embedder is None:
            fix = "Unset memory.embedder to use the bundled one."
            detail = f"{counted}, found by words only: no embedder"
            return Check("memory", State.WARNING, detail, fix)
        if self.missing:
            fix = "'lra chat' makes them in the background, 'lra memory reindex' at once."
            detail = f"{counted}, {self.embedder}, vectors missing: {self.missing:,}"
            return Check("memory", State.WARNING, detail, fix)
        return Check("memory", State.OK, f"{counted}, {self.embedder}")


async def _remembered(loaded: Loaded, clock: Clock) -> Remembered:
    async with open_memories(loaded, clock=clock, read_only=True) as memories:
        stats = await memories.stats(loaded.settings.owner)
        return Remembered(
            count=sum(stats.counts.values()),
            embedder=None if memories.embedder is None else memories.embedder.space,
            missing=stats.missing,
            sound=await memories.database.read(memory_words.sound),
        )


def secrets(path: Path) -> Check:
    """Is the key file for its owner alone."""
    if not path.exists():
        return Check("secrets", State.OK, "no .env file")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        fix = f"chmod 600 {path}"
        return Check("secrets", State.PROBLEM, f"{path} can be read by others", fix)
    return Check("secrets", State.OK, f"{path} is private")


def model(loaded: Loaded) -> Check:
    """Is there a model, by name; it is not asked anything."""
    chosen = loaded.settings.agent.model
    try:
        found = asyncio.run(looking.decide(loaded))
        settled = looking.settled(loaded, found).settings.agent.model
        name = names.parse(found.name, settled)
        names.require(name, settled, loaded.variables)
        if name.provider == names.LOCAL:
            Embedded(Home(loaded.home).models).check(name.model)
    except LraError as error:
        return Check("model", State.PROBLEM, error.message, error.hint)
    if chosen.base_url:
        return Check("model", State.OK, f"{name.model} at {loaded.redact(chosen.base_url)}")
    why = "" if found.why == "settings" else f" ({found.why})"
    return Check("model", State.OK, f"{found.name}{why}")


def sandbox(loaded: Loaded, clock: Clock) -> Check:
    """Can foreign code be run; without that the agent still talks."""
    probes = [
        backend.probe()
        for backend in opening.backends(loaded.settings.sandbox, loaded.variables, clock)
    ]
    working = next((probe for probe in probes if probe.ok), None)
    if working is None:
        error = opening.unavailable(probes)
        return Check("sandbox", State.WARNING, error.message, error.hint)
    if not working.isolation:
        return Check("sandbox", State.WARNING, UNSANDBOXED, "Unset sandbox.unsafe_local.")
    return Check("sandbox", State.OK, f"{working.backend}, limits by {', '.join(working.limits)}")


def gate(loaded: Loaded) -> Check:
    """Is anything switched off that stands between foreign words and your data."""
    tools = loaded.settings.agent.tools
    if not tools.taint:
        fix = "Unset agent.tools.taint to be asked after foreign words."
        return Check("gate", State.WARNING, "foreign words make no difference", fix)
    if tools.non_interactive_approval_policy == "allow":
        fix = "Unset agent.tools.non_interactive_approval_policy to have them refused."
        return Check("gate", State.WARNING, "calls that need consent run unattended", fix)
    return Check("gate", State.OK, f"{len(tools.rules)} rules of your own")


def mcp(loaded: Loaded) -> Check:
    """Can mcp.json be understood; its servers are not started."""
    path = Home(loaded.home).mcp_file
    try:
        found = servers_file.read(path, loaded.variables)
    except LraError as error:
        return Check("mcp", State.PROBLEM, error.message, error.hint)
    for server in found.servers:
        if server.problem and not server.disabled:
            detail = f"{server.name}: {server.problem}"
            return Check("mcp", State.WARNING, detail, f"Set it in {Home(loaded.home).env_file}.")
    if found.secrets and stat.S_IMODE(path.stat().st_mode) & 0o077:
        detail = f"{path} holds secrets and can be read by others"
        return Check("mcp", State.WARNING, detail, f"chmod 600 {path}")
    return Check("mcp", State.OK, f"{len(found.servers)} foreign servers")


def disk(path: Path) -> Check:
    """Is there room."""
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    detail = f"{free / 1e9:.1f} GB free"
    if free < _NO_DISK:
        return Check("disk", State.PROBLEM, detail, "Free some space: writes will fail.")
    if free < _LITTLE_DISK:
        return Check("disk", State.WARNING, detail, "Free some space soon.")
    return Check("disk", State.OK, detail)


def time(now: datetime) -> Check:
    """Does the clock show a possible time."""
    detail = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < _BUILT:
        return Check("clock", State.PROBLEM, detail, "Set the machine's clock.")
    return Check("clock", State.OK, detail)
