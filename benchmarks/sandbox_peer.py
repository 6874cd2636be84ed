"""An ipykernel, driven over standard input: `start`, `cell`, `keeps CODE`, `stop`.

Each line is answered with one of JSON. It runs in an environment of its own.
"""

import json
import sys
import time

from jupyter_client.manager import KernelManager


class Peer:
    """One kernel at a time."""

    def __init__(self):
        self.manager = self.client = None

    def start(self):
        """Start a kernel; the milliseconds until it has run a first cell."""
        self.stop()
        begun = time.perf_counter()
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        return (time.perf_counter() - begun) * 1000

    def cell(self, code="x = 1", timeout=60):
        """Run a cell; the milliseconds, or None when no answer came."""
        begun = time.perf_counter()
        try:
            self.client.execute_interactive(code, timeout=timeout, output_hook=lambda _: None)
        except (TimeoutError, RuntimeError):
            return None
        return (time.perf_counter() - begun) * 1000

    def keeps(self, code):
        """Do what a careful client would after a hard end; whether the state is still there."""
        self.start()
        self.cell("kept = 41")
        if self.cell(code, timeout=2) is None:
            if self.manager.is_alive():
                self.manager.interrupt_kernel()
                self.cell("1", timeout=3)
            if not self.manager.is_alive() or self.cell("1", timeout=3) is None:
                self.start()
        found = []
        self.client.execute_interactive(
            "kept", timeout=10, output_hook=lambda message: found.append(message["msg_type"])
        )
        return "execute_result" in found

    def stop(self):
        """End the kernel."""
        if self.manager is not None:
            self.client.stop_channels()
            self.manager.shutdown_kernel(now=True)
        self.manager = self.client = None


def main():
    peer = Peer()
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        answer = getattr(peer, word)(*([json.loads(rest)] if rest else []))
        print(json.dumps(answer), flush=True)
    peer.stop()


if __name__ == "__main__":
    main()
