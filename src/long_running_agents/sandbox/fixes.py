"""What to do when no sandbox can be had, in the words of the system at hand."""

from dataclasses import dataclass
from pathlib import Path

_INSTALL = {
    "debian": "sudo apt install {package}",
    "ubuntu": "sudo apt install {package}",
    "fedora": "sudo dnf install {package}",
    "rhel": "sudo dnf install {package}",
    "arch": "sudo pacman -S {package}",
    "suse": "sudo zypper install {package}",
    "opensuse": "sudo zypper install {package}",
    "alpine": "sudo apk add {package}",
    "nixos": "nix-env -iA nixos.{package}",
}
_APPARMOR = (
    "echo 'abi <abi/4.0>, include <tunables/global>"
    " profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }'"
    " | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What matters about the machine for the advice to be right."""

    platform: str = "linux"
    families: tuple[str, ...] = ()
    """The distribution's id, and those it is like."""
    apparmor_restricts: bool = False
    user_namespaces: bool = True
    contained: bool = False
    """Whether this is a container already."""


def look(platform: str, root: Path = Path("/")) -> System:
    """See what machine this is."""
    return System(
        platform=platform,
        families=_families(root / "etc/os-release"),
        apparmor_restricts=_number(
            root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0
        )
        == 1,
        user_namespaces=_number(root / "proc/sys/user/max_user_namespaces", 1) > 0
        and _number(root / "proc/sys/kernel/unprivileged_userns_clone", 1) > 0,
        contained=(root / ".dockerenv").exists() or (root / "run/.containerenv").exists(),
    )


def install(package: str, system: System) -> str:
    """The command that installs a package."""
    for family in system.families:
        if family in _INSTALL:
            return _INSTALL[family].format(package=package)
    return f"Install the package '{package}'."


def missing_bubblewrap(system: System) -> str:
    """What to do when there is no bwrap."""
    if system.platform != "linux":
        return "bubblewrap exists on Linux only: start Docker Desktop, or set SANDBOX_URL."
    return install("bubblewrap", system)


def refused_bubblewrap(system: System) -> str:
    """What to do when bwrap is there and may not work."""
    if system.apparmor_restricts:
        return _APPARMOR
    if not system.user_namespaces:
        return "sudo sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1"
    if system.contained:
        return (
            "Start this container with --security-opt seccomp=unconfined"
            " --security-opt apparmor=unconfined --security-opt systempaths=unconfined."
        )
    return "Use Docker, or set SANDBOX_URL to a sandbox server elsewhere."


def missing_docker(system: System) -> str:
    """What to do when no Docker API answers."""
    if system.platform == "darwin":
        return "Open Docker Desktop and wait until it is ready."
    return "Start Docker (sudo systemctl start docker), or set DOCKER_HOST to a podman socket."


def _families(release: Path) -> tuple[str, ...]:
    try:
        lines = release.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    words = f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".replace('"', "").split()
    return tuple(word.partition("-")[0] for word in words)


def _number(path: Path, default: int) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return default
