"""The client of a sandbox server: a backend whose sandboxes are somewhere else."""

import base64
from collections.abc import Mapping
from typing import Any

import httpx2

from long_running_agents.errors import Denied, LraError, NotFound, PathRefused, SandboxUnavailable
from long_running_agents.sandbox import wire
from long_running_agents.sandbox.port import Probe
from long_running_agents.sandbox.result import CodeError, ExecResult, Failure, FileEntry, Json
from long_running_agents.sandbox.spec import LONGEST_CALL, SandboxSpec

NAME = "remote"
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
        self._headers = {"Authorization": f"Bearer {key}"}

    def probe(self) -> Probe:
        """Ask the server how it is."""
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
        return Probe(
            backend=NAME,
            ok=told["ok"],
            isolation=tuple(told["isolation"]),
            limits=tuple(told["limits"]),
            reason=told["reason"],
            fix=told["fix"],
        )

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


class RemoteSandbox:
    """One sandbox on a server."""

    def __init__(self, client: httpx2.AsyncClient, made: Json, timeout: float) -> None:
        self.backend = str(made["backend"])
        self.isolation = tuple(str(wall) for wall in made["isolation"])
        self.alive = True
        self._client = client
        self._path = f"/sandboxes/{made['id']}"
        self._timeout = timeout

    async def execute(self, code: str, timeout: float | None = None) -> ExecResult:
        """Run a cell."""
        return await self._do("execute", {"code": code}, timeout)

    async def call(
        self,
        source: str,
        function: str,
        kwargs: Mapping[str, Any],
        timeout: float | None = None,
        *,
        memory: int | None = None,
    ) -> ExecResult:
        """Call a function, with JSON in and JSON out."""
        wanted: Json = {"source": source, "function": function, "kwargs": dict(kwargs)}
        if memory is not None:
            wanted["memory"] = memory
        return await self._do("call", wanted, timeout)

    async def shell(self, command: str, timeout: float | None = None) -> ExecResult:
        """Run a command in bash."""
        return await self._do("shell", {"command": command}, timeout)

    async def put_file(self, path: str, content: bytes) -> None:
        """Write a file of its workspace."""
        wanted = {"path": path, "content_b64": base64.b64encode(content).decode()}
        await _asked(self._client, "PUT", f"{self._path}/files", json=wanted)

    async def get_file(self, path: str) -> bytes:
        """Read a file of its workspace."""
        found = await _asked(self._client, "GET", f"{self._path}/files", params={"path": path})
        return base64.b64decode(found["content_b64"])

    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        """List a folder of its workspace."""
        where = {"folder": path, "depth": str(depth)}
        found = await _asked(self._client, "GET", f"{self._path}/files", params=where)
        return [FileEntry(**entry) for entry in found]

    async def reset(self) -> None:
        """Forget the state of the cells."""
        await _asked(self._client, "POST", f"{self._path}/reset")

    async def destroy(self) -> None:
        """End it. Asking twice is asking once."""
        if self._client.is_closed:
            return
        self.alive = False
        try:
            await _asked(self._client, "DELETE", self._path)
        except (NotFound, SandboxUnavailable):
            # Gone already, or the server is: then all of its sandboxes are.
            return
        finally:
            await self._client.aclose()

    async def _do(self, what: str, wanted: Json, timeout: float | None) -> ExecResult:
        seconds = min(self._timeout if timeout is None else timeout, LONGEST_CALL)
        if self._client.is_closed:
            return self._lost("the sandbox is gone")
        try:
            answer = await _asked(
                self._client,
                "POST",
                f"{self._path}/{what}",
                json={**wanted, "timeout": max(0.1, seconds)},
                timeout=seconds + _MARGIN,
            )
        except (NotFound, SandboxUnavailable) as error:
            return self._lost(error.message)
        result = wire.result_from(answer)
        self.alive = result.alive
        return result

    def _lost(self, message: str) -> ExecResult:
        self.alive = False
        error = CodeError(name=Failure.DIED, message=message)
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
