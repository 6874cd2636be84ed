"""The first thing that runs in a sandbox."""

import os
import sys

from . import processes
from .frames import read_frame
from .settings import Settings
from .supervisor import Supervisor
from .worker import listening_streams

_HIGHEST = 1 << 16


def main(channel: int) -> None:
    """Serve the host over this descriptor, or over standard input and output if it is 0.

    Whatever else was inherited is closed before any foreign code can look at it.
    """
    reading, writing = _channel(channel)
    processes.adopt_orphans()
    processes.hide()
    settings = Settings(read_frame(reading))
    sys.path += settings.paths
    listening_streams()
    for name in settings.preload:
        try:
            __import__(name)
        except Exception:  # noqa: BLE001, S112 - a cell that needs it will say what is wrong
            continue
    Supervisor(reading, writing, settings).run(filtered=_filtered(settings))


def _filtered(settings: Settings) -> bool:
    steps = settings.filter.get(os.uname().machine)
    if steps is None:
        return False
    # Only where the walls have none, since it takes a while to import.
    from .filtering import install  # noqa: PLC0415

    return install(bytes.fromhex(steps))


def _channel(channel: int) -> tuple[int, int]:
    reading = os.dup(channel)
    writing = os.dup(channel or 1)
    lower, upper = sorted((reading, writing))
    os.closerange(3, lower)
    os.closerange(lower + 1, upper)
    os.closerange(upper + 1, _HIGHEST)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return reading, writing
