"""Jobs as JSON: `cron.json` of the agent's folder, and exports."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from long_running_agents.domain.job import Job, JobDraft, JobSession, JobState
from long_running_agents.errors import UsageError, storing

CRON_FILE = "cron.json"
_SEED = ("id", "name", "schedule", "prompt")
_USUAL = JobDraft(name="", schedule="", prompt="", zone="UTC")


def parse_jobs(text: str, file: str = CRON_FILE) -> list[dict[str, Any]]:
    """The jobs that a file has, each as its fields, with ``enabled``; times are UTC unless said.

    Raises:
        UsageError: It is no JSON, no list, or one of its entries is not a job.
    """
    expected = 'Expected a list such as [{"name": …, "schedule": "daily 09:00", "prompt": …}].'
    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}.", hint=expected) from error
    if not isinstance(found, list):
        raise UsageError(f"{file} holds no list of jobs.", hint=expected)
    return [_entry(each, place, file) for place, each in enumerate(cast("list[object]", found), 1)]


def _entry(entry: object, place: int, file: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UsageError(f"{file}: entry {place} is no object.")
    said = dict(cast("dict[str, Any]", entry))
    if not isinstance(said.setdefault("enabled", True), bool):
        raise UsageError(f"{file}: 'enabled' of entry {place} is neither true nor false.")
    said.setdefault("zone", "UTC")
    said.setdefault("name", said.get("id"))
    if said.get("session_id"):
        said.setdefault("session_mode", JobSession.NAMED)
    return said


def dump_jobs(jobs: Sequence[Job]) -> str:
    """Jobs as a file that `parse_jobs` reads: what is as usual is left out."""
    return json.dumps([_as_entry(job) for job in jobs], indent=2, ensure_ascii=False) + "\n"


def _as_entry(job: Job) -> dict[str, Any]:
    said = {name: getattr(job, name) for name in _SEED}
    if job.session_id:
        said["session_id"] = job.session_id
    said["enabled"] = job.state is JobState.ACTIVE
    for each in fields(JobDraft):
        value = getattr(job, each.name)
        if each.name not in (*said, "limits", "session_id") and value != getattr(_USUAL, each.name):
            said[each.name] = value
    if said.get("session_mode") is JobSession.NAMED:
        del said["session_mode"]
    limits = {name: limit for name, limit in asdict(job.limits).items() if limit is not None}
    if limits:
        said["limits"] = {
            name: float(limit) if name == "cost" else limit for name, limit in limits.items()
        }
    return said


class CronFile:
    """The file `cron.json` of a home: read when it has changed, and written when its jobs do."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = ""

    def changed(self) -> list[Mapping[str, Any]] | None:
        """The jobs in it, if there is such a file and it is not as it was; else None.

        Raises:
            UsageError: It is broken; it is left as it is.
        """
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{CRON_FILE} cannot be read: {error}.") from error
        digest = _digest(text)
        if digest == self._known:
            return None
        found = parse_jobs(text)
        self._known = digest
        return list[Mapping[str, Any]](found)

    def write(self, jobs: Sequence[Job]) -> None:
        """Write its jobs back, all at once; a file that was changed meanwhile is read first."""
        if not self._known or not self._path.exists():
            return
        if _digest(self._path.read_text(encoding="utf-8", errors="replace")) != self._known:
            return
        text = dump_jobs(jobs)
        fresh = self._path.with_suffix(".json.new")
        with storing(f"{self._path}", "Check the permissions of its folder."):
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._path)
        self._known = _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
