import pytest

from long_running_agents.sandbox import base
from long_running_agents.sandbox.base import System


def machine(root, release, **values):
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text(release)
    for name, value in values.items():
        path = root / "proc/sys" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return base.look("linux", root)


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=debian\n", "sudo apt install bubblewrap"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "sudo apt install bubblewrap"),
        ("ID=fedora\n", "sudo dnf install bubblewrap"),
        ("ID=arch\n", "sudo pacman -S bubblewrap"),
        ('ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n', "sudo zypper install bubblewrap"),
        ("ID=unheard-of\n", "Install the package 'bubblewrap'."),
    ],
)
def test_a_missing_program_comes_with_the_command_of_the_distribution(tmp_path, release, command):
    assert base.missing_bubblewrap(machine(tmp_path, release)) == command


def test_ubuntu_24_gets_its_apparmor_line(tmp_path):
    system = machine(tmp_path, "ID=ubuntu\n", kernel__apparmor_restrict_unprivileged_userns=1)

    fix = base.refused_bubblewrap(system)

    assert "/etc/apparmor.d/bwrap" in fix
    assert "userns," in fix


def test_a_kernel_without_user_namespaces_gets_its_settings(tmp_path):
    system = machine(tmp_path, "ID=debian\n", kernel__unprivileged_userns_clone=0)

    assert "sysctl" in base.refused_bubblewrap(system)


def test_a_container_is_told_how_to_be_started(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()

    assert "--security-opt" in base.refused_bubblewrap(machine(tmp_path, "ID=debian\n"))


def test_what_nobody_foresaw_has_a_way_round():
    assert "SANDBOX_URL" in base.refused_bubblewrap(System())


def test_a_mac_is_sent_to_docker():
    assert "Docker Desktop" in base.missing_bubblewrap(System(platform="darwin"))
    assert "Docker Desktop" in base.missing_docker(System(platform="darwin"))
    assert "systemctl" in base.missing_docker(System())
