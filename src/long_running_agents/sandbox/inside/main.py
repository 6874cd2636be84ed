"""The first thing that runs in a sandbox."""

import importlib
import os
import sys

from . import processes
from .frames import read_frame
from .settings import read
from .supervisor import Supervisor
from .worker import listening_streams

_HIGHEST = 1 << 16


def main(channel: int) -> None:
    """Serve the host over this descriptor.

    Whatever else was inherited is closed before any foreign code can look at it.
    """
    os.closerange(3, channel)
    os.closerange(channel + 1, _HIGHEST)
    os.set_inheritable(channel, False)  # noqa: FBT003 - its only argument
    processes.adopt_orphans()
    processes.hide()
    settings = read(read_frame(channel))
    sys.path[:] = [path for path in sys.path if not path.startswith("/opt/kernel")]
    sys.path += settings.paths
    listening_streams()
    for name in settings.preload:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - a cell that needs it will say what is wrong
            continue
    Supervisor(channel, settings).run()
