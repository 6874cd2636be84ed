"""The container backend: Docker or podman, by their common API."""

import asyncio
import contextlib
import io
import os
import resource
import secrets
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import fixes
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
from long_running_agents.sandbox.docker_api import Attached, DockerApi
from long_running_agents.sandbox.furnishing import furnished
from long_running_agents.sandbox.kernel import Kernel, KernelLost, kernel_settings
from long_running_agents.sandbox.kernel_sandbox import KernelSandbox, Room
from long_running_agents.sandbox.port import Probe
from long_running_agents.sandbox.result import Json
from long_running_agents.sandbox.seccomp import build
from long_running_agents.sandbox.spec import SandboxSpec
from long_running_agents.sandbox.syscalls import MACHINES

NAME = "docker"
IMAGE = "longrunningagents-kernel:latest"
DOCKERFILE = Path(__file__).parent / "Dockerfile"
ISOLATION = ("container", "pid", "net", "ipc", "uts", "mount", "seccomp", "cgroup")
_WITHOUT_FILTER = tuple(wall for wall in ISOLATION if wall != "seccomp")
_CREATED = 201
_OK = 300
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
        self._probed: Probe | None = None
        self._building = asyncio.Lock()

    def probe(self) -> Probe:
        """See whether a daemon answers, once. The image is built when it is needed."""
        if self._probed is None:
            self._probed = self._find_out()
        return self._probed

    async def create(self, spec: SandboxSpec) -> KernelSandbox:
        """Make a sandbox."""
        api = self._api()
        await self._have_image(api)
        room = await furnished(spec)
        try:
            container = await self._container(api, spec, room)
            room.later(lambda: _remove(api, container))
            return await self._open(api, spec, room, container)
        except BaseException:
            await room.close()
            raise

    async def _open(
        self, api: DockerApi, spec: SandboxSpec, room: Room, container: str
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

    async def _container(self, api: DockerApi, spec: SandboxSpec, room: Room) -> str:
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
        system = fixes.look(sys.platform)
        raise SandboxUnavailable(
            "There is no socket of a Docker API.", hint=fixes.missing_docker(system)
        )

    def _find_out(self) -> Probe:
        try:
            version = self._api().version()
        except SandboxUnavailable as error:
            fix = error.hint or fixes.missing_docker(fixes.look(sys.platform))
            return Probe(backend=NAME, ok=False, reason=error.message.rstrip("."), fix=fix)
        podman = "podman" in str(version).lower()
        ways = ("container", "podman" if podman else "docker")
        return Probe(backend=NAME, ok=True, isolation=ISOLATION, limits=ways)


def container_json(
    spec: SandboxSpec, room: Room, *, image: str, runtime: str, rootless: bool
) -> Json:
    """What to ask the daemon for."""
    limits = spec.limits
    user = room.user if room.user is not None else os.getuid()
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
        "User": f"{user}:{user if room.user is not None else os.getgid()}",
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


def _mounts(spec: SandboxSpec, room: Room) -> Iterator[Json]:
    yield _mount(room.workspace.root.resolve(), "/workspace", read_only=False)
    yield _mount(INSIDE, f"{KERNEL}/inside")
    if spec.packages is not None:
        yield _mount(spec.packages.resolve(), PACKAGES)
    if room.proxy is not None:
        yield _mount(room.proxy.path, PROXY, read_only=False)
    for path in spec.protected:
        yield _mount(room.workspace.root.resolve() / path, f"/workspace/{path.rstrip('/')}")
    for path, is_folder in room.hidden:
        if not is_folder:
            yield _mount(Path(os.devnull), f"/workspace/{path}")


def _mount(source: Path, target: str, *, read_only: bool = True) -> Json:
    # In words of their own: a name may hold the colons that stand between them in a line.
    return {"Type": "bind", "Source": str(source), "Target": target, "ReadOnly": read_only}


def _memory_folders(spec: SandboxSpec, room: Room) -> Iterator[tuple[str, str]]:
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
