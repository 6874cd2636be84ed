import errno

import pytest
from tests.unit.sandbox.filter_machine import ALLOW, ERROR, KILL, verdict

from long_running_agents.sandbox.seccomp import FORBIDDEN, MACHINES, build

CLONE_NEWUSER = 0x10000000
THREAD = 0x3D0F00
AF_UNIX, AF_INET, AF_NETLINK, AF_INET6, AF_VSOCK = 1, 2, 16, 10, 40
TIOCSTI, TIOCGWINSZ = 0x5412, 0x5413
HARMLESS = {"x86_64": (0, 1, 9, 59, 202, 257, 434), "aarch64": (56, 63, 64, 221, 222, 434)}


@pytest.fixture(params=MACHINES)
def asked(request):
    machine = MACHINES[request.param]
    program = build(machine, memory_files=False)

    def ask(number, *arguments, audit=machine.audit, program=program):
        return verdict(program, audit, number, *arguments)

    return machine, ask


def test_every_forbidden_call_is_refused(asked):
    machine, ask = asked

    assert {ask(number) for number in machine.forbidden} == {ERROR | errno.EPERM}
    assert len(machine.forbidden) >= len(FORBIDDEN) - 4


def test_ordinary_calls_pass(asked):
    machine, ask = asked
    name = next(name for name, known in MACHINES.items() if known is machine)

    assert {ask(number) for number in HARMLESS[name]} == {ALLOW}


def test_the_ways_in_of_other_processors_kill(asked):
    _, ask = asked

    assert ask(1, audit=0x40000003) == KILL
    assert ask(0x40000000 | 39) == KILL


def test_calls_that_nobody_knew_when_this_was_written_do_not_exist(asked):
    machine, ask = asked

    assert ask(machine.newest + 1) == ERROR | errno.ENOSYS
    assert ask(machine.newest) == ALLOW


def test_clone_makes_threads_and_processes_but_no_namespaces(asked):
    machine, ask = asked

    assert ask(machine.clone, THREAD) == ask(machine.clone, 17) == ALLOW
    assert ask(machine.clone, CLONE_NEWUSER | 17) == ERROR | errno.EPERM
    assert ask(machine.clone3) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("call", ["socket", "socketpair"])
def test_only_three_families_of_sockets_exist(asked, call):
    machine, ask = asked
    number = getattr(machine, call)

    assert {ask(number, family) for family in (AF_UNIX, AF_INET, AF_INET6)} == {ALLOW}
    for family in (AF_NETLINK, AF_VSOCK, 0, 17, 38):
        assert ask(number, family) == ERROR | errno.EAFNOSUPPORT


def test_no_file_is_made_that_runs_with_the_rights_of_its_owner(asked):
    machine, ask = asked

    assert len(machine.modes) >= 5
    for number, argument in machine.modes:
        before = [0] * argument
        assert ask(number, *before, 0o755) == ask(number, *before, 0o1777) == ALLOW
        assert ask(number, *before, 0o4755) == ERROR | errno.EPERM
        assert ask(number, *before, 0o2755) == ERROR | errno.EPERM
    assert ask(machine.openat2) == ERROR | errno.ENOSYS


def test_nobody_types_into_a_terminal(asked):
    machine, ask = asked

    assert ask(machine.ioctl, 0, TIOCGWINSZ) == ALLOW
    assert ask(machine.ioctl, 0, TIOCSTI) == ERROR | errno.EPERM
    assert ask(machine.ioctl, 0, 1 << 32 | TIOCSTI) == ERROR | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_memory_in_files_is_allowed_only_where_somebody_counts_it(machine):
    for allowed, expected in ((True, ALLOW), (False, ERROR | errno.ENOSYS)):
        program = build(machine, memory_files=allowed)
        assert verdict(program, machine.audit, machine.memfd_create) == expected
