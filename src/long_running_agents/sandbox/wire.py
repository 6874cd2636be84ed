"""The JSON of the sandbox server, both ways."""

from dataclasses import asdict, replace
from typing import Any

from pydantic import ConfigDict, Field

from long_running_agents.domain.described import Described
from long_running_agents.sandbox.port import Probe
from long_running_agents.sandbox.result import CodeError, ExecResult, FileEntry, Json
from long_running_agents.sandbox.sandboxes import Held
from long_running_agents.sandbox.spec import LONGEST_CALL, MEGABYTE, SandboxSpec

_SECONDS = Field(default=None, gt=0, le=LONGEST_CALL)


class _Request(Described):
    model_config = ConfigDict(extra="ignore")


class LimitsWanted(_Request):
    """What a client may ask for; never more than the server itself allows."""

    memory: int | None = Field(default=None, ge=64 * MEGABYTE)
    processes: int | None = Field(default=None, ge=8)
    timeout: float | None = _SECONDS


class CreateRequest(_Request):
    """`POST /sandboxes`."""

    lang: str = "python"
    network: list[str] | None = None
    """Hosts to be reached; never more than the server allows."""
    limits: LimitsWanted = LimitsWanted()
    transactional: bool = True


class ExecuteRequest(_Request):
    """`POST /sandboxes/{id}/execute`."""

    code: str
    timeout: float | None = _SECONDS


class ShellRequest(_Request):
    """`POST /sandboxes/{id}/shell`."""

    command: str
    timeout: float | None = _SECONDS


class CallRequest(_Request):
    """`POST /sandboxes/{id}/call`."""

    source: str
    function: str
    kwargs: dict[str, Any] = Field(default_factory=dict)
    timeout: float | None = _SECONDS
    memory: int | None = Field(default=None, ge=1 << 20)
    """Bytes it may use, if less than the sandbox may."""


class FileRequest(_Request):
    """`PUT /sandboxes/{id}/files`."""

    path: str
    content_b64: str


def spec_within(wanted: CreateRequest, usual: SandboxSpec) -> SandboxSpec:
    """What a client asks for, as far as the server's own sandboxes go."""
    limits = usual.limits
    asked = wanted.limits
    network = usual.network
    if wanted.network is not None:
        network = tuple(host for host in usual.network if host in wanted.network)
    return SandboxSpec(
        limits=replace(
            limits,
            memory=min(asked.memory or limits.memory, limits.memory),
            processes=min(asked.processes or limits.processes, limits.processes),
            timeout=asked.timeout or limits.timeout,
        ),
        network=network,
        packages=usual.packages,
        preload=usual.preload,
        transactional=wanted.transactional,
    )


def sandbox_json(held: Held) -> Json:
    """A sandbox as it is listed."""
    return {
        "id": held.id,
        "status": "running" if held.sandbox.alive else "dead",
        "port": None,
        "backend": held.sandbox.backend,
        "isolation": list(held.sandbox.isolation),
    }


def result_json(result: ExecResult) -> Json:
    """An outcome. Its first four keys are all that simple clients know."""
    error = result.error
    return {
        "type": "result",
        "stdout": result.stdout,
        "stderr": result.stderr if error is None else f"{result.stderr}{error}\n",
        "success": result.success,
        "error": None
        if error is None
        else {"ename": error.name, "evalue": error.message, "traceback": error.traceback},
        "own_stderr": result.stderr,
        "display": list(result.display),
        "value": result.value,
        "exit_code": result.exit_code,
        "rolled_back": result.rolled_back,
        "truncated": result.truncated,
        "alive": result.alive,
        "duration_ms": result.duration_ms,
        "memory": result.memory,
        "isolation": list(result.isolation),
        "warning": result.warning,
    }


def result_from(answer: Json) -> ExecResult:
    """The same, read by a client of ours."""
    error = answer["error"]
    return ExecResult(
        stdout=answer["stdout"],
        stderr=answer["own_stderr"],
        display=tuple(answer["display"]),
        value=answer["value"],
        error=error
        and CodeError(name=error["ename"], message=error["evalue"], traceback=error["traceback"]),
        exit_code=answer["exit_code"],
        rolled_back=answer["rolled_back"],
        truncated=answer["truncated"],
        alive=answer["alive"],
        duration_ms=answer["duration_ms"],
        memory=answer.get("memory", 0),
        isolation=tuple(answer["isolation"]),
    )


def probe_json(probe: Probe) -> Json:
    """A probe."""
    return asdict(probe)


def entry_json(entry: FileEntry) -> Json:
    """A file or folder."""
    return asdict(entry)
