"""The container backend: Docker or podman, by their common API."""

import asyncio
import contextlib
import io
import json
import os
import resource
import secrets
import struct
import sys
import tarfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import base
from long_running_agents.sandbox.base import Json, Probe, SandboxSpec
from long_running_agents.sandbox.bubblewrap_command import (
    ENVIRONMENT,
    INSIDE,
    KERNEL,
    PACKAGES,
    PROXY,
    PROXY_VARIABLES,
    paths_inside,
    start,
)
from long_running_agents.sandbox.kernel import Kernel, KernelLost, kernel_settings
from long_running_agents.sandbox.kernel_sandbox import HostResources, KernelSandbox, prepare_host
from long_running_agents.sandbox.seccomp import MACHINES, build

_VERSION = "/v1.40"
_BASE = "http://docker"
_PATIENCE = 60.0
_BUILD = 1800.0
_STREAM = struct.Struct("!BxxxI")
_OUT = 1
_LONGEST_COMPLAINT = 4000
_OK = 300


class Attached:
    """A container's standard streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.out = asyncio.StreamReader()
        self.writer = writer
        self.complaints = b""
        """What it said on standard error."""
        self._reader = reader
        self._sorting = asyncio.ensure_future(self._sort())

    async def close(self) -> None:
        """Hang up."""
        self._sorting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sorting
        self.writer.close()

    async def _sort(self) -> None:
        """Tell output from complaints: they come mixed, each piece with a head."""
        try:
            while True:
                kind, size = _STREAM.unpack(await self._reader.readexactly(_STREAM.size))
                while size:
                    piece = await self._reader.read(min(size, 1 << 16))
                    if not piece:
                        return
                    size -= len(piece)
                    if kind == _OUT:
                        self.out.feed_data(piece)
                    else:
                        self.complaints = (self.complaints + piece)[-_LONGEST_COMPLAINT:]
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self.out.feed_eof()


class DockerApi:
    """Speaks to one daemon."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def version(self) -> Json:
        """What answers there."""
        transport = httpx2.HTTPTransport(uds=str(self.socket))
        try:
            with httpx2.Client(transport=transport, base_url=_BASE, timeout=_PATIENCE) as client:
                answer = client.get(f"{_VERSION}/version")
                return answer.json()
        except (httpx2.HTTPError, OSError, ValueError) as error:
            raise SandboxUnavailable(f"No Docker API answers at {self.socket}.") from error

    async def ask(
        self, method: str, path: str, *, body: Any = None, **more: str
    ) -> tuple[int, Json]:
        """Ask for something: the status, and what was answered."""
        async with self._client(_PATIENCE) as client:
            try:
                answer = await client.request(method, _VERSION + path, json=body, params=more)
            except httpx2.HTTPError as error:
                raise SandboxUnavailable(
                    f"The Docker API at {self.socket} does not answer ({type(error).__name__})."
                ) from error
        try:
            told: Json = answer.json() if answer.content else {}
        except ValueError:
            told = {"message": answer.text}
        return answer.status_code, told

    async def build(self, tag: str, context: bytes) -> None:
        """Build an image from an archive with a Dockerfile."""
        async with self._client(_BUILD) as client:
            try:
                answer = await client.post(
                    f"{_VERSION}/build",
                    params={"t": tag, "rm": "1"},
                    content=context,
                    headers={"Content-Type": "application/x-tar"},
                )
            except httpx2.HTTPError as error:
                raise SandboxUnavailable(f"The image {tag} cannot be built: {error}.") from error
        wrong = [line for line in answer.text.splitlines() if '"error"' in line]
        if answer.status_code >= _OK or wrong:
            told = wrong[-1] if wrong else answer.text
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told = str(json.loads(told)["error"])
            raise SandboxUnavailable(f"The image {tag} cannot be built: {told[-300:]}")

    async def attach(self, container: str) -> Attached:
        """Take over a container's streams; the connection stops being HTTP."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(
            f"POST {_VERSION}/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
            " HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            "Content-Length: 0\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        if status not in (b"101", b"200"):
            writer.close()
            raise SandboxUnavailable("The container's streams cannot be had.")
        return Attached(reader, writer)

    def _client(self, patience: float) -> httpx2.AsyncClient:
        transport = httpx2.AsyncHTTPTransport(uds=str(self.socket))
        return httpx2.AsyncClient(transport=transport, base_url=_BASE, timeout=patience)


NAME = "docker"
IMAGE = "longrunningagents-kernel:latest"
DOCKERFILE = Path(__file__).parent / "Dockerfile"
ISOLATION = ("container", "pid", "net", "ipc", "uts", "mount", "seccomp", "cgroup")
_WITHOUT_FILTER = tuple(wall for wall in ISOLATION if wall != "seccomp")
_CREATED = 201
_SPARE = 1.25
"""How much more memory the container gets than the code: the kernel ends a call before it."""
_FILES = 1024
_PROCESSES = 4096


class DockerBackend:
    """Makes sandboxes of containers."""

    name = NAME

    def __init__(
        self, clock: Clock, *, host: str = "", runtime: str = "", image: str = IMAGE
    ) -> None:
        """Take a daemon.

        Args:
            clock: Tells the time.
            host: Its address, as in DOCKER_HOST; the usual places are looked at unless given.
            runtime: Another runtime than the daemon's usual one, such as runsc.
            image: What containers are made of; built when it is missing.
        """
        self._clock = clock
        self._runtime = runtime
        self._image = image
        self._host = host
        self._building = asyncio.Lock()

    def probe(self) -> Probe:
        """See whether a daemon answers, once. The image is built when it is needed."""
        return self._found

    async def create(self, spec: SandboxSpec) -> KernelSandbox:
        """Make a sandbox."""
        api = self._api()
        await self._have_image(api)
        room = await prepare_host(spec)
        if room.mapped:
            await room.close()
            raise SandboxUnavailable(
                f"{room.workspace.root} belongs to root, and containers do not run as root.",
                hint="Install bubblewrap, or run lra as another user.",
            )
        try:
            container = await self._container(api, spec, room)
            room.later(lambda: _remove(api, container))
            return await self._open(api, spec, room, container)
        except BaseException:
            await room.close()
            raise

    async def _open(
        self, api: DockerApi, spec: SandboxSpec, room: HostResources, container: str
    ) -> KernelSandbox:
        attached = await api.attach(container)
        room.later(attached.close)
        status, told = await api.ask("POST", f"/containers/{container}/start")
        if status >= _OK:
            raise SandboxUnavailable(f"The container does not start: {told.get('message')}")
        ending: set[asyncio.Future[None]] = set()

        def kill() -> None:
            # Kept: a task that nobody holds may never be run.
            ending.add(asyncio.ensure_future(_remove(api, container)))

        kernel = Kernel(attached.out, attached.writer, self._clock, kill)
        settings = kernel_settings(
            spec,
            counted=False,
            proxy=PROXY if spec.network else "",
            paths=paths_inside(spec.packages),
        )
        # The container counts processes, and its user may have others outside.
        settings["processes"] = 0
        # That of the daemon lets through what ours does not, and may be none at all.
        settings["filter"] = {
            name: build(machine, memory_files=True).hex() for name, machine in MACHINES.items()
        }
        ready = await self._greet(kernel, settings, attached)
        walls = ISOLATION if ready.get("filtered") is True else _WITHOUT_FILTER
        return KernelSandbox(
            backend=NAME, isolation=walls, kernel=kernel, room=room, limits=spec.limits
        )

    async def _greet(self, kernel: Kernel, settings: Json, attached: Attached) -> Json:
        try:
            return await kernel.open(settings)
        except KernelLost as loss:
            said = attached.complaints.decode("utf-8", "replace").strip()[-300:]
            raise SandboxUnavailable(
                f"The container does not work: {said or loss.message}",
                hint=f"Rebuild the image: docker rmi {self._image}",
            ) from loss

    async def _container(self, api: DockerApi, spec: SandboxSpec, room: HostResources) -> str:
        name = f"lra-{secrets.token_hex(6)}"
        rootless = os.geteuid() != 0 and "podman" in self.probe().limits
        wanted = container_json(
            spec, room, image=self._image, runtime=self._runtime, rootless=rootless
        )
        status, told = await api.ask("POST", "/containers/create", body=wanted, name=name)
        if status != _CREATED:
            raise SandboxUnavailable(f"No container can be made: {told.get('message')}")
        return str(told["Id"])

    async def _have_image(self, api: DockerApi) -> None:
        async with self._building:
            status, _ = await api.ask("GET", f"/images/{self._image}/json")
            if status >= _OK:
                await api.build(self._image, _context())

    def _api(self) -> DockerApi:
        for socket in _sockets(self._host):
            if socket.is_socket():
                return DockerApi(socket)
        system = base.look(sys.platform)
        raise SandboxUnavailable(
            "There is no socket of a Docker API.", hint=base.missing_docker(system)
        )

    @cached_property
    def _found(self) -> Probe:
        try:
            version = self._api().version()
        except SandboxUnavailable as error:
            fix = error.hint or base.missing_docker(base.look(sys.platform))
            return Probe(backend=NAME, ok=False, reason=error.message.rstrip("."), fix=fix)
        podman = "podman" in str(version).lower()
        ways = ("container", "podman" if podman else "docker")
        return Probe(backend=NAME, ok=True, isolation=ISOLATION, limits=ways)


def container_json(
    spec: SandboxSpec, room: HostResources, *, image: str, runtime: str, rootless: bool
) -> Json:
    """What to ask the daemon for."""
    limits = spec.limits
    user, group = room.user, room.group
    if user is None:
        user, group = os.getuid(), os.getgid()
    environment = dict(ENVIRONMENT)
    if spec.packages is not None:
        environment["PYTHONPATH"] = PACKAGES
    if spec.network:
        environment.update(PROXY_VARIABLES)
    memory = int(limits.memory * _SPARE)
    host: Json = {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": limits.processes,
        "NanoCpus": int(limits.cpus * 1e9),
        "Ulimits": list(_ulimits()),
        "Mounts": list(_mounts(spec, room)),
        "Tmpfs": dict(_memory_folders(spec, room)),
        "ShmSize": 16 << 20,
    }
    if runtime:
        host["Runtime"] = runtime
    if rootless:
        host["UsernsMode"] = "keep-id"
    return {
        "Image": image,
        "Cmd": ["python3", "-I", "-B", "-c", start(KERNEL), "0"],
        "Entrypoint": [],
        "User": f"{user}:{group}",
        "WorkingDir": "/workspace",
        "Hostname": "sandbox",
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Labels": {"long-running-agents": "sandbox"},
        "HostConfig": host,
    }


def _ulimits() -> Iterator[Json]:
    # Named, since a daemon without rights may not set what it would by itself.
    wanted = (
        ("nofile", resource.RLIMIT_NOFILE, _FILES),
        ("nproc", resource.RLIMIT_NPROC, _PROCESSES),
    )
    for name, kind, most in wanted:
        allowed = resource.getrlimit(kind)[1]
        bound = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
        yield {"Name": name, "Soft": bound, "Hard": bound}


def _mounts(spec: SandboxSpec, room: HostResources) -> Iterator[Json]:
    yield _mount(room.workspace.root.resolve(), "/workspace", read_only=False)
    yield _mount(INSIDE, f"{KERNEL}/inside")
    if spec.packages is not None:
        yield _mount(spec.packages.resolve(), PACKAGES)
    if room.proxy is not None:
        yield _mount(room.proxy.path, PROXY, read_only=False)
    for path in room.protected:
        yield _mount(room.workspace.root.resolve() / path, f"/workspace/{path.rstrip('/')}")
    for path, is_folder in room.hidden:
        if not is_folder:
            yield _mount(Path(os.devnull), f"/workspace/{path}")


def _mount(source: Path, target: str, *, read_only: bool = True) -> Json:
    # In words of their own: a name may hold the colons that stand between them in a line.
    return {"Type": "bind", "Source": str(source), "Target": target, "ReadOnly": read_only}


def _memory_folders(spec: SandboxSpec, room: HostResources) -> Iterator[tuple[str, str]]:
    size = spec.limits.temporary_bytes
    yield "/tmp", f"rw,nosuid,nodev,mode=1777,size={size}"  # noqa: S108 - the container's own
    for path, is_folder in room.hidden:
        if is_folder:
            yield f"/workspace/{path}", "ro,mode=0000,size=4096"


def _sockets(host: str) -> Iterator[Path]:
    if host:
        if not host.startswith("unix://"):
            raise SandboxUnavailable(
                f"DOCKER_HOST is {host}, which is not on this machine.",
                hint="The workspace has to be on the same one; use SANDBOX_URL instead.",
            )
        yield Path(host.removeprefix("unix://"))
        return
    yield Path("/var/run/docker.sock")
    yield Path(os.environ.get("XDG_RUNTIME_DIR", "/run/user/0"), "podman/podman.sock")
    yield Path("/run/podman/podman.sock")
    yield Path.home() / ".docker/run/docker.sock"


def _context() -> bytes:
    """The Dockerfile as the archive that a daemon wants."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(DOCKERFILE, "Dockerfile")
    return archive.getvalue()


async def _remove(api: DockerApi, container: str) -> None:
    with contextlib.suppress(SandboxUnavailable):
        await api.ask("DELETE", f"/containers/{container}", force="true", v="true")
