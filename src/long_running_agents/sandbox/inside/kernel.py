"""The kernel: takes requests from the host, has them run, and answers each exactly once."""

from __future__ import annotations

import _socket
import os
import select
import sys
import time

from . import process as processes
from .frames import Broken, read_frame, send, suppress, write_frame, written
from .process import KernelConfig, apply_limits, signal
from .watch import DiskWatch, Pump
from .worker import DIED, GO, READY, begin, call, listening_streams, send_with, serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Self

    from .frames import Message

_SHELL = "/bin/bash"
_FIRST_PIECE = 1 << 16
_PATIENCE = 1.0
_SOON = 0.02
_HIGHEST = 1 << 16
_FORGED = "something besides its result came from where results come from"


def main(channel: int) -> None:
    """Serve the host over this descriptor, or over standard input and output if it is 0.

    Whatever else was inherited is closed before any foreign code can look at it.
    """
    reading, writing = _channel(channel)
    processes.adopt_orphans()
    processes.hide()
    config = KernelConfig(read_frame(reading))
    sys.path += config.paths
    listening_streams()
    Supervisor(reading, writing, config).run(filtered=_filtered(config))


def _filtered(config: KernelConfig) -> bool:
    steps = config.filter.get(os.uname().machine)
    return steps is not None and processes.install_filter(bytes.fromhex(steps))


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


class Supervisor:
    """Owns the channel to the host and the newest good state."""

    def __init__(self, reading: int, writing: int, config: KernelConfig) -> None:
        self._reading = reading
        self._writing = writing
        self._config = config
        self._watch = DiskWatch(config)
        self._worker: _socket.socket | None = None
        self._state = 0
        """The process that holds the state."""
        self._waiting = False
        """Whether the state has not been told yet to make the next fork."""
        self._forking = False
        """Whether it has, and has not said yet that the fork is there."""
        self._leaving = 0
        """The one that held it before, and has been told to end."""
        self._relay = 0

    def run(self, *, filtered: bool) -> None:
        """Answer until the host hangs up; first of all, whether a filter of ours is in place."""
        self._begin_state()
        write_frame(self._writing, {"ready": True, "filtered": filtered})
        while True:
            try:
                request = self._next()
            except Broken:
                return
            # A call that the host wanted stopped may have ended by itself in the meantime.
            if request["do"] != "stop":
                answer = self._answer(request)
                self._go_on()
                write_frame(self._writing, answer)
                processes.reap()

    def _answer(self, request: Message) -> Message:
        begun = time.monotonic()
        self._open_door()
        match request["do"]:
            case "execute":
                answer = self._execute(request)
            case "call" | "shell":
                answer = self._apart(request)
            case _:
                self._begin_state()
                answer = {}
        answer["id"] = request["id"]
        answer["duration_ms"] = round((time.monotonic() - begun) * 1000, 2)
        return answer

    def _execute(self, request: Message) -> Message:
        if not self._alive():
            self._begin_state()
        worker = self._wake()
        keep = {self._relay}
        if self._config.transactional:
            keep.add(self._state)
        with _Pipes() as pipes:
            with suppress(OSError):
                _send(worker, request, pipes)
            pipes.close_writing()
            pump = Pump(self._config, self._watch, float(request["timeout"]), keep)
            pump.run(pipes.streams, pipes.answer, worker.fileno(), self._reading)
            found = pump.answer() or {"died": None}
            committed = self._settle(found, stopped=bool(pump.stopped))
            answer = self._end(pump, pipes, {self._relay, self._state, self._leaving})
        # Somebody may have killed the state before the call, too; then it says nothing any more.
        kept = not committed and self._config.transactional and _heard(worker) == DIED
        answer["rolled_back"] = kept
        if committed or kept:
            self._waiting = True
        else:
            self._begin_state()
            answer["state_lost"] = True
        answer.update(display=found.get("display", []), error=found.get("error"))
        answer["died"] = "died" in found
        return answer

    def _next(self) -> Message:
        """Wait for the host; when that takes longer, nothing goes on meanwhile."""
        if not select.select([self._reading], [], [], _SOON)[0] and self._config.transactional:
            # A thread that a cell began must not work on unwatched.
            with suppress(OSError):
                os.kill(self._state, signal.SIGSTOP)
        return read_frame(self._reading)

    def _go_on(self) -> None:
        """Have the next call's fork made, while the answer is on its way."""
        if self._waiting and self._worker is not None:
            self._waiting, self._forking = False, True
            with suppress(OSError):
                self._worker.send(GO)

    def _settle(self, found: Message, *, stopped: bool) -> bool:
        """Make the process that answered the new state, unless the call had to be stopped."""
        if not self._config.transactional:
            return "died" not in found
        process = found.get("process")
        if stopped or "died" in found or not isinstance(process, int):
            return False
        if process in (1, os.getpid(), self._relay) or not processes.lives(process):
            return False
        with suppress(OSError):
            os.kill(self._state, signal.SIGKILL)
        self._leaving, self._state = self._state, process
        return True

    def _apart(self, request: Message) -> Message:
        """Run a call or a command in a process of its own, beside the state."""
        self._wake()
        # Whatever is there now belongs to the state: what a call leaves behind is swept away.
        keep = {*processes.below(), self._relay}
        with _Pipes() as pipes:
            process = os.fork()
            if not process:
                self._become(request, pipes)
            watched = os.pidfd_open(process)
            pipes.close_writing()
            pump = Pump(self._config, self._watch, float(request["timeout"]), keep)
            is_call = request["do"] == "call"
            there = pipes.answer if is_call else None
            pump.run(pipes.streams, there, watched, self._reading, to_the_end=is_call)
            os.close(watched)
            answer = self._end(pump, pipes, keep, process)
            if is_call:
                found = pump.answer()
                if found and not pump.stopped and (pump.more or answer["exit_code"]):
                    found = _error("ProtocolError", _FORGED)
                answer.update(found or {}, died=found is None, exit_code=None)
        return answer

    def _become(self, request: Message, pipes: _Pipes) -> NoReturn:
        """Turn this fork into the call."""
        self._hang_up()
        if self._worker is not None:
            self._worker.close()
        processes.show()
        apply_limits(self._config, memory=request.get("memory"))
        begin(pipes.written[0], pipes.written[1], self._config.workspace)
        if request["do"] == "shell":
            os.execv(_SHELL, [_SHELL, "-c", request["command"]])  # noqa: S606 - a shell is wanted
        found = call(request["source"], request["function"], request["kwargs"])
        _write_value(pipes.written[2], found)
        os._exit(0)

    def _end(self, pump: Pump, pipes: _Pipes, keep: set[int], process: int = 0) -> Message:
        """Clear away what a call left behind, and gather what it printed."""
        status, memory = None, 0
        if process:
            if pump.stopped or pump.answer() is not None:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                _, ended, used = os.wait4(process, 0)
                status, memory = os.waitstatus_to_exitcode(ended), used.ru_maxrss << 10
        strays, clean = processes.end_all(keep)
        out, err = pump.finish(pipes.streams) if clean else ("", "")
        if pump.stopped == "disk":
            self._watch.ended()
        return {
            "stdout": out,
            "stderr": err,
            "truncated": pump.truncated,
            "stopped": pump.stopped,
            "exit_code": status,
            "memory": memory,
            "strays": strays,
            "clean": clean,
        }

    def _begin_state(self) -> None:
        """Throw the state away, and begin an empty one."""
        if self._worker is not None:
            self._worker.close()
        processes.end_all({self._relay})
        ours, theirs = _socket.socketpair()
        process = os.fork()
        if not process:
            ours.close()
            self._hang_up()
            processes.show()
            serve(theirs, self._config)
        theirs.close()
        self._worker, self._state = ours, process
        self._waiting = True
        self._go_on()

    def _hang_up(self) -> None:
        """Close the channel in a fork: it is not for foreign code."""
        os.close(self._reading)
        os.close(self._writing)

    def _open_door(self) -> None:
        """Start the way to the proxy, again if somebody has killed it."""
        if not self._config.proxy:
            return
        if not processes.lives(self._relay):
            # Most sandboxes have no network, and do not wait for this.
            from . import relay  # noqa: PLC0415

            self._relay = relay.start(self._config.proxy, self._hang_up)

    def _alive(self) -> bool:
        return processes.lives(self._state)

    def _wake(self) -> _socket.socket:
        """Let the state see to its fork while that runs the call."""
        assert self._worker is not None  # noqa: S101 - a state has been begun
        with suppress(OSError):
            os.kill(self._state, signal.SIGCONT)
        if self._forking and not self._forked(self._worker):
            self._begin_state()
            _heard(self._worker)
        self._forking = False
        return self._worker

    def _forked(self, worker: _socket.socket) -> bool:
        """Whether the fork for this call is there; made again if somebody has killed it."""
        heard = _heard(worker)
        if heard == DIED:
            with suppress(OSError):
                worker.send(GO)
            heard = _heard(worker)
        return heard == READY


def _heard(worker: _socket.socket) -> bytes:
    """The last word of the state, for which we do not wait for ever; nothing if there is none."""
    now = time.monotonic()
    until, wait, said = now + _PATIENCE, _PATIENCE, b""
    while now < until and select.select([worker], [], [], wait)[0]:
        part = b""
        with suppress(OSError):
            part = worker.recv(_FIRST_PIECE)
        if not part or (not said and part in (READY, DIED)):
            return part
        # Usually that is all. But a cell can speak here too, and must not be taken for the state.
        said, wait, now = part, _SOON, time.monotonic()
    return said[-1:]


def _send(worker: _socket.socket, request: Message, pipes: _Pipes) -> None:
    body = written(request)
    sent = send_with(worker, body[:_FIRST_PIECE], pipes.written)
    worker.sendall(body[sent:])


class _Pipes:
    """Standard output, standard error and the answer of one call."""

    def __init__(self) -> None:
        pairs = [os.pipe() for _ in range(3)]
        self.streams = (pairs[0][0], pairs[1][0])
        for stream in self.streams:
            os.set_blocking(stream, False)
        self.answer = pairs[2][0]
        self.written = [pair[1] for pair in pairs]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_writing()
        for descriptor in (*self.streams, self.answer):
            os.close(descriptor)

    def close_writing(self) -> None:
        """Leave the writing ends to the call alone."""
        while self.written:
            os.close(self.written.pop())


def _write_value(descriptor: int, found: Message) -> None:
    """Send a call's answer; what is no JSON is sent as an error."""
    try:
        content = written(found, strict=True)
    except (TypeError, ValueError, RecursionError) as raised:
        content = written(_error("TypeError", f"no JSON: {raised}"))
    send(descriptor, content)


def _error(name: str, message: str) -> Message:
    return {"error": {"name": name, "message": message, "traceback": ""}}
