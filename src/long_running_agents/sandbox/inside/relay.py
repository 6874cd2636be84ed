"""A door in the sandbox's own loopback that leads to the host's proxy, and nowhere else."""

import contextlib
import os
import signal
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

PORT = 3128
_PIECE = 1 << 16


def start(proxy: str, hang_up: Callable[[], None]) -> int:
    """Start the relay as a process, which first hangs up on the host; its id."""
    listener = _listening()
    process = os.fork()
    if process:
        listener.close()
        return process
    hang_up()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Relay(listener, proxy).serve_forever()
    os._exit(0)


def _listening() -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(16)
    return listener


class _Relay(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, listener: socket.socket, proxy: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passage, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.proxy = proxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the client sees its connection end."""


class _Passage(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        """Pass everything on in both directions."""
        assert isinstance(self.server, _Relay)  # noqa: S101 - it starts us
        with socket.socket(socket.AF_UNIX) as outside:
            outside.connect(self.server.proxy)
            back = threading.Thread(target=_copy, args=(outside, self.request), daemon=True)
            back.start()
            _copy(self.request, outside)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(_PIECE):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
