"""The checks of `lra doctor`: each looks at one thing and changes nothing; and what mends."""

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.events import EVENT
from long_running_agents.domain.job import Notice
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import (
    CorruptData,
    EmbedderFailed,
    LraError,
    NotConfigured,
    StorageFailed,
)
from long_running_agents.home import Home
from long_running_agents.jobs.notifiers import require_senders, target
from long_running_agents.mcp import config
from long_running_agents.memory.factory import open_memories
from long_running_agents.models import names, selection
from long_running_agents.models.embedded import Embedded
from long_running_agents.sandbox import factory
from long_running_agents.sandbox.base import UNSANDBOXED
from long_running_agents.store import backups, memory_index
from long_running_agents.store import jobs as store_jobs
from long_running_agents.store.integrity import backup_folder, check_whole, examine
from long_running_agents.store.messages import StoredMessage
from long_running_agents.store.schema import (
    database_path,
    has_full_text_search,
    open_database,
    refuse_unknown,
)
from long_running_agents.store.tables import HEAD

_OLDEST_PYTHON = (3, 11)
_LITTLE_DISK = 1_000_000_000
_NO_DISK = 50_000_000
_NEWEST = 200
"""Notices that are looked at."""
_BUILT = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows an earlier time."""


class CheckState(StrEnum):
    """What a check found."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    name: str
    state: CheckState = field(kw_only=True)
    detail: str
    fix: str = ""
    """What to do about it; empty where nothing has to be done."""


_ok = partial(Check, state=CheckState.OK)
_warning = partial(Check, state=CheckState.WARNING)
_problem = partial(Check, state=CheckState.PROBLEM)


def examine_all(loaded: LoadedSettings, clock: Clock) -> list[Check]:
    """Run every check."""
    where = Home(loaded.home)
    return [
        python(),
        home(where),
        database(loaded),
        backup(loaded),
        full_text_search(),
        memory(loaded, clock),
        secrets(where.env_file),
        model(loaded),
        embedded(loaded),
        sandbox(loaded, clock),
        gate(loaded),
        mcp(loaded),
        notices(loaded, clock),
        disk(where.path),
        time(clock.now()),
    ]


def python() -> Check:
    """Is Python new enough."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST_PYTHON:
        return _ok("python", version)
    return _problem("python", version, "Install Python 3.11 or newer.")


def home(where: Home) -> Check:
    """Can the home be written, and who works in it right now."""
    if not where.path.exists():
        return _warning("home", f"{where.path} is not there yet", "Run 'lra init'.")
    if not os.access(where.path, os.W_OK | os.X_OK):
        fix = f"chmod u+rwx {where.path}, or choose another home with --home or LRA_HOME."
        return _problem("home", f"{where.path} cannot be written", fix)
    if stat.S_IMODE(where.path.stat().st_mode) & 0o077:
        return _warning("home", f"{where.path} can be read by others", f"chmod 700 {where.path}")
    try:
        pid = where.owner()
    except OSError as error:
        return _problem("home", f"{where.lock}: {error.strerror}", "Check its owner.")
    use = "not in use" if pid is None else f"in use by process {pid}"
    return _ok("home", f"{where.path}, {use}")


def database(loaded: LoadedSettings) -> Check:
    """Does the database open, is it sound, is its schema ours."""
    try:
        path = database_path(loaded)
        if not path.exists():
            return _ok("database", "none yet; 'lra chat' makes it")
        check_whole(path, Home(loaded.home))
        found = examine(path)
        refuse_unknown(found, path)
    except LraError as error:
        return _problem("database", error.message, error.hint)
    if found != HEAD:
        fix = "Run 'lra chat' once: it upgrades after a backup."
        return _warning("database", f"schema {found}, this version uses {HEAD}", fix)
    return _ok("database", f"{path}, schema {found}")


def backup(loaded: LoadedSettings) -> Check:
    """Which is the newest backup; whether it is sound is 'lra verify FILE' to say."""
    try:
        found = sorted(backup_folder(database_path(loaded)).glob("*.db"), key=os.path.getmtime)
    except LraError as error:
        return _problem("backup", error.message, error.hint)
    if not found:
        return _ok("backup", "none yet; 'lra backup' makes one, 'lra serve' one a day")
    made = datetime.fromtimestamp(found[-1].stat().st_mtime, UTC)
    return _ok("backup", f"{found[-1]}, of {made:%Y-%m-%d %H:%M} UTC, the newest of {len(found)}")


def fix(loaded: LoadedSettings, clock: Clock) -> list[str]:
    """Mend the database if nobody uses it: what was done, in words.

    Raises:
        HomeBusy: A process has the home open.
        CorruptData: Nothing can be saved; the hint says what is left.
    """
    where, path, done = Home(loaded.home), database_path(loaded), list[str]()
    if not path.exists():
        return done
    with where.owned():
        found = verify(loaded, path)
        if found.damage:
            done += [found.damage[0], backups.repair(path, clock.now(), _readers())]
    if done or found.indexes:
        done += [*found.indexes, asyncio.run(_reindexed(loaded, clock))]
    return done


def verify(loaded: LoadedSettings, path: Path) -> backups.DatabaseFaults:
    """Look thoroughly at the database of a home, or at a backup of it."""
    return backups.verify(path, Home(loaded.home), _readers())


def _readers() -> dict[str, backups.RowReader]:
    """Whoever understands the rows whose form the store does not know."""
    # Only here: the library of models takes a second.
    from long_running_agents.agent import transcript  # noqa: PLC0415

    return {
        "events": lambda row: EVENT.validate_json(row["body"]),
        "messages": lambda row: transcript.loaded(
            [StoredMessage(step=row["step"], kind=row["kind"], body=row["body"])]
        ),
    }


async def _reindexed(loaded: LoadedSettings, clock: Clock) -> str:
    try:
        async with open_memories(loaded, clock=clock) as memories:
            await memories.reindex()
    except EmbedderFailed as error:
        return f"the words of memories were indexed again; vectors are missing: {error}"
    return "words and vectors of memories were indexed again"


def full_text_search() -> Check:
    """Can SQLite search text."""
    if has_full_text_search():
        return _ok("full-text search", "FTS5")
    fix = "Install a Python whose SQLite has FTS5."
    return _problem("full-text search", "SQLite lacks FTS5", fix)


def memory(loaded: LoadedSettings, clock: Clock) -> Check:
    """Is what is remembered whole, and found by words and by meaning."""
    if not loaded.settings.memory.enabled:
        return _ok("memory", "switched off (memory.enabled)")
    try:
        if not database_path(loaded).exists():
            return _ok("memory", "nothing yet")
        return asyncio.run(_remembered(loaded, clock))
    except (StorageFailed, CorruptData):
        # The check of the database says what is wrong.
        return _warning("memory", "not looked at before the database is in order")
    except LraError as error:
        return _problem("memory", error.message, error.hint)


async def _remembered(loaded: LoadedSettings, clock: Clock) -> Check:
    """All about a home's memory as one finding, the worst first."""
    async with open_memories(loaded, clock=clock, read_only=True) as memories:
        stats = await memories.stats(loaded.settings.owner)
        sound = await memories.database.read(memory_index.sound)
        embedder = memories.embedder
    count = sum(stats.counts.values())
    counted = "1 memory" if count == 1 else f"{count:,} memories"
    if not sound:
        fix = "Run 'lra memory reindex': nothing is lost, the index is made again."
        return _problem("memory", f"{counted}, the index does not match", fix)
    if embedder is None:
        fix = "Unset memory.embedder to use the bundled one."
        return _warning("memory", f"{counted}, found by words only: no embedder", fix)
    if stats.missing:
        fix = "'lra chat' makes them in the background, 'lra memory reindex' at once."
        detail = f"{counted}, {embedder.space}, vectors missing: {stats.missing:,}"
        return _warning("memory", detail, fix)
    return _ok("memory", f"{counted}, {embedder.space}")


def secrets(path: Path) -> Check:
    """Is the key file for its owner alone."""
    if not path.exists():
        return _ok("secrets", "no .env file")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        fix = f"chmod 600 {path}"
        return _problem("secrets", f"{path} can be read by others", fix)
    return _ok("secrets", f"{path} is private")


def embedded(loaded: LoadedSettings) -> Check:
    """Can the engine of the embedded models be loaded; it is needed only for them."""
    name, models = "embedded model", Embedded(Home(loaded.home).models)
    try:
        models.require_runtime()
    except NotConfigured as error:
        return _warning(name, error.message, error.hint)
    return _ok(name, f"{', '.join(models.installed()) or 'none downloaded yet'}")


def model(loaded: LoadedSettings) -> Check:
    """Is there a model, and does its server answer; the model itself is not asked anything."""
    chosen = loaded.settings.agent.model
    try:
        found = asyncio.run(selection.decide(loaded))
        settled = selection.settled(loaded, found).settings.agent.model
        name = names.parse(found.name, settled)
        names.require(name, settled, loaded.model_variables)
        if name.provider == names.LOCAL:
            Embedded(Home(loaded.home).models).check(name.model)
        there = asyncio.run(selection.listed(loaded, name, settled))
    except LraError as error:
        return _problem("model", error.message, error.hint)
    where = f"{name.model} at {loaded.redact(name.base_url or chosen.base_url)}"
    if there is None:
        fix = "Start that server, or choose another model: 'lra models list'."
        return _problem("model", f"{found.name}: its server does not answer", fix)
    if there and name.model not in there:
        return _warning("model", f"{where} is not one that it lists", "lra models list")
    if chosen.base_url and not chosen.selected:
        return _ok("model", where)
    why = "" if found.why == "settings" else f" ({found.why})"
    return _ok("model", f"{found.name}{why}")


def sandbox(loaded: LoadedSettings, clock: Clock) -> Check:
    """Can foreign code be run; without that the agent still talks."""
    probes = [
        backend.probe()
        for backend in factory.backends(loaded.settings.sandbox, loaded.variables, clock)
    ]
    working = next((probe for probe in probes if probe.ok), None)
    if working is None:
        error = factory.unavailable(probes)
        return _warning("sandbox", error.message, error.hint)
    if not working.isolation:
        return _warning("sandbox", UNSANDBOXED, "Unset sandbox.unsafe_local.")
    return _ok("sandbox", f"{working.backend}, limits by {', '.join(working.limits)}")


def gate(loaded: LoadedSettings) -> Check:
    """Is anything switched off that stands between foreign words and your data."""
    tools = loaded.settings.agent.tools
    if not tools.taint:
        fix = "Unset agent.tools.taint to be asked once content from outside was read."
        return _warning("gate", "taint tracking is off: content from outside is trusted", fix)
    if tools.non_interactive_approval_policy == "allow":
        fix = "Unset agent.tools.non_interactive_approval_policy to have them refused."
        return _warning("gate", "calls that need consent run unattended", fix)
    return _ok("gate", f"{len(tools.rules)} rules of your own")


def mcp(loaded: LoadedSettings) -> Check:
    """Can mcp.json be understood; its servers are not started."""
    path = Home(loaded.home).mcp_file
    try:
        found = config.read(path, loaded.variables)
    except LraError as error:
        return _problem("mcp", error.message, error.hint)
    for server in found.servers:
        if server.problem and not server.disabled:
            detail = f"{server.name}: {server.problem}"
            return _warning("mcp", detail, f"Set it in {Home(loaded.home).env_file}.")
    if found.secrets and stat.S_IMODE(path.stat().st_mode) & 0o077:
        detail = f"{path} holds secrets and can be read by others"
        return _warning("mcp", detail, f"chmod 600 {path}")
    return _ok("mcp", f"{len(found.servers)} servers in mcp.json")


def notices(loaded: LoadedSettings, clock: Clock) -> Check:
    """Do notices about jobs reach the addresses they are for; none is sent."""
    name, urls = "notices", loaded.settings.notices.urls
    if not urls:
        return _ok(name, "nobody is told about jobs (notices.urls)")
    try:
        require_senders(urls)
    except NotConfigured as error:
        return _warning(name, error.message, error.hint)
    try:
        told: Sequence[Notice] = asyncio.run(_told(loaded, clock))
    except LraError:
        # There is nothing yet, or the check of the database says what is wrong.
        told = []
    newest = {each.target: each for each in reversed(told) if each.attempts}
    for each in map(target, urls):
        if each in newest and newest[each].sent_at is None:
            detail = f"{each}: {newest[each].error}"
            return _warning(name, detail, "'lra jobs notices' shows what was not sent.")
    return _ok(name, ", ".join(map(target, urls)))


async def _told(loaded: LoadedSettings, clock: Clock) -> Sequence[Notice]:
    async with open_database(loaded, clock, read_only=True) as opened:
        owner = loaded.settings.owner
        return await opened.read(lambda tx: store_jobs.notices_of(tx, owner, limit=_NEWEST))


def disk(path: Path) -> Check:
    """Is there room."""
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    detail = f"{free / 1e9:.1f} GB free"
    if free < _NO_DISK:
        return _problem("disk", detail, "Free some space: writes will fail.")
    if free < _LITTLE_DISK:
        return _warning("disk", detail, "Free some space soon.")
    return _ok("disk", detail)


def time(now: datetime) -> Check:
    """Does the clock show a possible time."""
    detail = f"{now:%Y-%m-%d %H:%M} UTC"
    if now < _BUILT:
        return _problem("clock", detail, "Set the machine's clock.")
    return _ok("clock", detail)
