"""The protocol of a sandbox server, and its client: a backend whose sandboxes are elsewhere."""

import base64
from dataclasses import replace
from typing import Any

import httpx2
from pydantic import ConfigDict, Field, TypeAdapter
from typing_extensions import override

from long_running_agents.domain.events import DescribedModel
from long_running_agents.errors import Denied, LraError, NotFound, PathRefused, SandboxUnavailable
from long_running_agents.sandbox.base import (
    LONGEST_CALL,
    MEGABYTE,
    CodeError,
    ExecResult,
    FailureName,
    FileEntry,
    Json,
    Probe,
    Sandbox,
    SandboxSpec,
)
from long_running_agents.sandbox.manager import HeldSandbox

_SECONDS = Field(default=None, gt=0, le=LONGEST_CALL)


class _Request(DescribedModel):
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
        transactional=wanted.transactional,
    )


def sandbox_json(held: HeldSandbox) -> Json:
    """A sandbox as it is listed."""
    return {
        "id": held.id,
        "status": "running" if held.sandbox.alive else "dead",
        "port": None,
        "backend": held.sandbox.backend,
        "isolation": list(held.sandbox.isolation),
    }


_AS_IT_IS = ("value", "exit_code", "rolled_back", "truncated", "alive", "duration_ms", "memory")
"""The fields of an outcome that are the same in JSON."""


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
        **{name: getattr(result, name) for name in _AS_IT_IS},
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
        error=error
        and CodeError(name=error["ename"], message=error["evalue"], traceback=error["traceback"]),
        isolation=tuple(answer["isolation"]),
        **{name: answer[name] for name in _AS_IT_IS if name in answer},
    )


NAME = "remote"
_PROBE = TypeAdapter(Probe)
_PATIENCE = 30.0
_OK = 200
_MARGIN = 15.0
_HINT = "Start it with 'lra sandbox serve', and check SANDBOX_URL and SANDBOX_API_KEY."
_ERRORS: dict[str, type[LraError]] = {
    kind.code: kind for kind in (Denied, NotFound, PathRefused, SandboxUnavailable)
}


class RemoteBackend:
    """Makes sandboxes on a server."""

    name = NAME

    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._headers = {"Authorization": f"Bearer {key}"}

    def probe(self) -> Probe:
        """Ask the server how it is."""
        if not self._key:
            reason = f"SANDBOX_URL is {self._url}, but there is no SANDBOX_API_KEY"
            fix = "Set SANDBOX_API_KEY to the key that 'lra sandbox serve' has printed."
            return Probe(backend=NAME, ok=False, reason=reason, fix=fix)
        try:
            with httpx2.Client(headers=self._headers, timeout=_PATIENCE, trust_env=False) as client:
                answer = client.get(f"{self._url}/health")
        except httpx2.HTTPError as error:
            reason = f"{self._url} does not answer ({type(error).__name__})"
            return Probe(backend=NAME, ok=False, reason=reason, fix=_HINT)
        if answer.status_code != _OK:
            reason = f"{self._url} answers {answer.status_code}"
            return Probe(backend=NAME, ok=False, reason=reason, fix=_HINT)
        [told] = answer.json()["probes"]
        return replace(_PROBE.validate_python(told), backend=NAME)

    async def create(self, spec: SandboxSpec) -> "RemoteSandbox":
        """Make a sandbox; the server's own limits go before ours."""
        client = httpx2.AsyncClient(
            base_url=self._url, headers=self._headers, timeout=_PATIENCE, trust_env=False
        )
        wanted = {
            "lang": "python",
            "network": list(spec.network),
            "limits": {"memory": spec.limits.memory, "processes": spec.limits.processes},
            "transactional": spec.transactional,
        }
        try:
            made = await _asked(client, "POST", "/sandboxes", json=wanted)
        except BaseException:
            await client.aclose()
            raise
        return RemoteSandbox(client, made, spec.limits.timeout)


class RemoteSandbox(Sandbox):
    """One sandbox on a server."""

    def __init__(self, client: httpx2.AsyncClient, made: Json, timeout: float) -> None:
        self.backend = str(made["backend"])
        self.isolation = tuple(str(wall) for wall in made["isolation"])
        self._alive = True
        self._client = client
        self._path = f"/sandboxes/{made['id']}"
        self._timeout = timeout

    @property
    @override
    def alive(self) -> bool:
        return self._alive

    @override
    async def put_file(self, path: str, content: bytes) -> None:
        wanted = {"path": path, "content_b64": base64.b64encode(content).decode()}
        await _asked(self._client, "PUT", f"{self._path}/files", json=wanted)

    @override
    async def get_file(self, path: str) -> bytes:
        found = await _asked(self._client, "GET", f"{self._path}/files", params={"path": path})
        return base64.b64decode(found["content_b64"])

    @override
    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        where = {"folder": path, "depth": str(depth)}
        found = await _asked(self._client, "GET", f"{self._path}/files", params=where)
        return [FileEntry(**entry) for entry in found]

    @override
    async def reset(self) -> None:
        await _asked(self._client, "POST", f"{self._path}/reset")

    @override
    async def destroy(self) -> None:
        if self._client.is_closed:
            return
        self._alive = False
        try:
            await _asked(self._client, "DELETE", self._path)
        except (NotFound, SandboxUnavailable):
            # Gone already, or the server is: then all of its sandboxes are.
            return
        finally:
            await self._client.aclose()

    @override
    async def _run(self, call: str, request: Json, timeout: float | None) -> ExecResult:
        seconds = min(self._timeout if timeout is None else timeout, LONGEST_CALL)
        if self._client.is_closed:
            return self._lost("the sandbox is gone")
        try:
            answer = await _asked(
                self._client,
                "POST",
                f"{self._path}/{call}",
                json={**request, "timeout": max(0.1, seconds)},
                timeout=seconds + _MARGIN,
            )
        except (NotFound, SandboxUnavailable) as error:
            return self._lost(error.message)
        result = result_from(answer)
        self._alive = result.alive
        return replace(result, elsewhere=True)

    def _lost(self, message: str) -> ExecResult:
        self._alive = False
        error = CodeError(name=FailureName.DIED, message=message)
        return ExecResult(error=error, alive=False, isolation=self.isolation)


async def _asked(client: httpx2.AsyncClient, method: str, path: str, **more: Any) -> Any:
    try:
        answer = await client.request(method, path, **more)
    except httpx2.HTTPError as error:
        raise SandboxUnavailable(
            f"The sandbox server does not answer ({type(error).__name__}).", hint=_HINT
        ) from error
    if answer.status_code == _OK:
        return answer.json()
    try:
        told: Json = answer.json()
    except ValueError:
        told = {}
    kind = _ERRORS.get(str(told.get("error")), SandboxUnavailable)
    message = str(told.get("message") or f"The sandbox server answers {answer.status_code}.")
    raise kind(message, hint=str(told.get("hint") or _HINT))
