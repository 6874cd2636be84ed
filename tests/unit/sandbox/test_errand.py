import signal
import subprocess
import sys

import pytest

from long_running_agents.sandbox.subprocess import OUT_OF_MEMORY, ProcessBounds, _why

PROGRAM = """
import os, socket, sys
from long_running_agents.sandbox.subprocess import ProcessBounds, confine

confine(ProcessBounds(seconds=5, memory=256 << 20))
def tried(name, work):
    try:
        work()
    except (OSError, MemoryError) as error:
        print(name, type(error).__name__)
    else:
        print(name, "done")
tried("network", lambda: socket.socket())
tried("program", lambda: os.execv("/bin/true", ["true"]))
tried("memory", lambda: bytearray(512 << 20))
tried("reading", lambda: os.pread(os.open(sys.executable, os.O_RDONLY), 9, 0))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tried("writing", lambda: os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), b"x"))
"""


def test_an_errand_can_neither_connect_nor_start_nor_write_nor_swell(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [
        "network PermissionError",
        "program PermissionError",
        "memory MemoryError",
        "reading done",
        "writing OSError",
    ]


@pytest.mark.parametrize(
    ("code", "in_time", "whole", "words"),
    [
        (0, True, True, ""),
        (-9, False, True, "it took longer than 2 seconds"),
        (-signal.SIGXCPU, True, True, "it took longer than 2 seconds"),
        (-9, True, False, "it had more than 4 megabytes to tell"),
        (OUT_OF_MEMORY, True, True, "it needed more than 1024 megabytes of memory"),
        (-signal.SIGSEGV, True, True, "it crashed (SIGSEGV)"),
        (1, True, True, "it crashed (exit code 1)"),
    ],
)
def test_whoever_sent_an_errand_hears_how_it_ended(code, in_time, whole, words):
    bounds = ProcessBounds(seconds=2.0, memory=1 << 30)

    assert _why(code, bounds, in_time=in_time, whole=whole) == words
