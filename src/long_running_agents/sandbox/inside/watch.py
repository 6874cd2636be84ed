"""Waits for a call to end: drains what it prints, keeps its limits, stops it when it must be."""

from __future__ import annotations

import os
import select
import stat
import time

from . import process as processes
from .frames import HEAD, LARGEST, Broken, parse, suppress
from .process import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .frames import Message
    from .process import KernelConfig

_PIECE = 1 << 16
_TICK = 0.1
_MEMORY_EVERY = 0.1
_DISK_EVERY = 0.3
_DISK_SOON = 0.03
_SLACK = 1 << 20
_LATE = 10.0


class DiskWatch:
    """Looks at the workspace now and then, not more often than it can be afforded."""

    def __init__(self, config: KernelConfig) -> None:
        self._folder = config.workspace
        self._most = (config.workspace_bytes, config.workspace_files)
        self._busy = 0.0
        """Seconds of work since the last look."""
        self._pause = _DISK_EVERY
        self._full = (0, 0)
        """How full it was when a call was ended for it: it can be tidied up, and not be filled."""

    def over(self, worked: float) -> bool:
        """Whether the workspace is too full."""
        self._busy += worked
        if self._busy < self._pause:
            return False
        try:
            size, entries = self._look()
        except Unseen:
            return True
        self._full = (min(self._full[0], size), min(self._full[1], entries))
        # The file system itself adds a little when it gets round to writing.
        too_much = size > max(self._most[0], self._full[0] + _SLACK)
        return too_much or entries > max(self._most[1], self._full[1])

    def ended(self) -> None:
        """Begin the next call from here: more may have been written before the kill."""
        with suppress(Unseen):
            self._full = self._look()
        self._pause = _DISK_SOON

    def _look(self) -> tuple[int, int]:
        self._busy = 0.0
        begun = time.monotonic()
        size, entries = disk_usage(self._folder, 2 * self._most[1])
        self._pause = max(_DISK_EVERY, 5 * (time.monotonic() - begun))
        return size + deleted_bytes(), entries


class Pump:
    """One call while it runs."""

    def __init__(
        self, config: KernelConfig, watch: DiskWatch, timeout: float, keep: Collection[int]
    ) -> None:
        self.stopped = ""
        """Why we ended it, if we did."""
        self.truncated = False
        self._config = config
        self._watch = watch
        self._timeout = timeout
        self._keep = keep
        self._kept: dict[int, bytearray] = {}
        self._answer = bytearray()
        self._to_the_end = False
        self._heard = False
        """Whether all of the answer is there that there will be."""
        self._total = 0
        self._killed = False
        self._asked = 0.0
        self._memory_seen = time.monotonic()
        self._hidden = 0

    def run(
        self,
        streams: tuple[int, int],
        answer: int | None,
        process: int | None,
        host: int,
        *,
        to_the_end: bool = False,
    ) -> None:
        """Wait until the answer is complete or the process has ended, or the host says stop.

        Args:
            streams: What it prints.
            answer: Where it answers.
            process: Itself, as something to wait for.
            host: Where the host speaks.
            to_the_end: Whether it ends by itself once it has answered, so that whoever answers in
                its place is found out.
        """
        self._to_the_end = to_the_end
        begun = now = time.monotonic()
        self._kept = {stream: bytearray() for stream in streams}
        waited = {*streams, host, *(end for end in (answer, process) if end is not None)}
        while now - begun <= self._timeout + self._config.grace + _LATE:
            ready = select.select(list(waited), [], [], _TICK)[0]
            if self._over(ready, answer, process):
                return
            if self._heard:
                waited.discard(answer)
            if host in ready:
                waited.discard(host)
                self._kill("cancelled")
            for stream in streams:
                if stream in ready and not self._read(stream):
                    waited.discard(stream)
            before, now = now, time.monotonic()
            self._keep_time(now, begun)
            self._keep_memory(now)
            if self._watch.over(now - before):
                self._kill("disk")

    def _over(self, ready: list[int], answer: int | None, process: int | None) -> bool:
        """Whether nothing more is to come."""
        if answer is not None and answer in ready and self._read_answer(answer):
            self._heard = True
            if self._too_long():
                # It would wait for ever for somebody to read on.
                self._kill("output")
            if self.stopped or not self._to_the_end:
                return True
        if process is None or process not in ready:
            return False
        if answer is not None:
            # It may have answered and ended between two looks.
            self._read_what_is_there(answer)
        return True

    def finish(self, streams: tuple[int, int]) -> tuple[str, str]:
        """Read what is left, now that the call is over."""
        for stream in streams:
            while self._read(stream):
                pass
        out, err = (self._kept[stream].decode("utf-8", "replace") for stream in streams)
        return out, err

    def answer(self) -> Message | None:
        """What the call answered; None when it did not."""
        wanted = self._wanted()
        if not wanted or len(self._answer) < wanted:
            return None
        try:
            return parse(bytes(self._answer[HEAD.size : wanted]))
        except Broken:
            return None

    @property
    def more(self) -> bool:
        """Whether there was more than one answer."""
        return len(self._answer) > self._wanted() > 0

    def _wanted(self) -> int:
        """How long the answer is going to be; 0 when nobody knows yet."""
        size = HEAD.size
        return size + HEAD.unpack(self._answer[:size])[0] if len(self._answer) >= size else 0

    def _too_long(self) -> bool:
        return max(len(self._answer), self._wanted()) > LARGEST

    def _read_answer(self, descriptor: int) -> bool:
        """Read on; say whether there will be no more."""
        while True:
            part = os.read(descriptor, 1 << 20)
            self._answer += part
            if not part or self._too_long() or len(self._answer) >= self._wanted() > 0:
                return True
            if not select.select([descriptor], [], [], 0)[0]:
                return False

    def _read_what_is_there(self, descriptor: int) -> None:
        if select.select([descriptor], [], [], 0)[0]:
            self._read_answer(descriptor)

    def _read(self, stream: int) -> bool:
        """Read on; say whether there may be more."""
        try:
            part = os.read(stream, _PIECE)
        except BlockingIOError:
            # A cell may keep its streams for itself, so that they never end.
            return False
        self._total += len(part)
        kept = self._kept[stream]
        room = self._config.output_kept - len(kept)
        kept += part[: max(room, 0)]
        self.truncated |= len(part) > room
        if self._total > self._config.output_killed:
            self._kill("output")
            return False
        return bool(part)

    def _keep_time(self, now: float, begun: float) -> None:
        if not self._asked and now - begun >= self._timeout:
            self._asked = now
            self.stopped = self.stopped or "timeout"
            processes.tell(signal.SIGINT, self._keep)
        elif self._asked and now - self._asked >= self._config.grace:
            # Again and again: what forks faster than we kill must not win.
            processes.tell(signal.SIGKILL, self._keep)

    def _keep_memory(self, now: float) -> None:
        if not self._config.watch_memory or now - self._memory_seen < _MEMORY_EVERY:
            return
        self._memory_seen = now
        try:
            if processes.memory() > self._config.memory:
                self._kill("memory")
            self._hidden = 0
        except processes.Hidden:
            # Once is a process that is just being made.
            self._hidden += 1
            if self._hidden > 1:
                self._kill("memory")

    def _kill(self, why: str) -> None:
        self.stopped = self.stopped or why
        if not self._killed or why == "memory":
            self._killed = True
            processes.tell(signal.SIGKILL, self._keep)


class Unseen(Exception):
    """A folder does not let itself be looked into."""


def disk_usage(folder: str, most: int) -> tuple[int, int]:
    """Bytes and entries of a tree; looks at not many more entries than are allowed."""
    size = entries = 0
    left = [folder]
    while left and entries <= most:
        for entry in _entries(left.pop()):
            entries += 1
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            size += about.st_blocks * 512
            if stat.S_ISDIR(about.st_mode):
                left.append(entry.path)
    return size, entries


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        try:
            found = os.scandir(folder)
        except PermissionError:
            # It is ours, so a mode that shuts us out was meant to.
            os.chmod(folder, 0o700)
            found = os.scandir(folder)
        with found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Unseen from error


def deleted_bytes() -> int:
    """Bytes of files that have no name any more and are still held open."""
    seen: dict[tuple[int, int], int] = {}
    for process in processes.below():
        try:
            held = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for name in held:
            try:
                about = os.stat(f"/proc/{process}/fd/{name}")
            except OSError:
                continue
            if about.st_nlink == 0 and stat.S_ISREG(about.st_mode):
                seen[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(seen.values())
