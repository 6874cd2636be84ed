"""Becomes a browser: with another user, hard limits, and its number written down for its end."""

import os
import resource
import sys
from pathlib import Path

_FILE = 256 << 20


def main() -> None:
    """Launch: the folder, the user or -1, seconds of processor time, the program, its arguments."""
    folder, user, seconds, program, *arguments = sys.argv[1:]
    # The driver has given us a session of our own: this number is that of all our processes.
    Path(folder, "pid").write_text(str(os.getpid()), encoding="ascii")
    for kind, value in (
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    if int(user) >= 0:
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    home = str(Path(folder, "profile"))
    environment = {"HOME": home, "TMPDIR": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    os.execve(program, [program, *arguments], environment)  # noqa: S606 - a browser, found by us


if __name__ == "__main__":
    main()
