"""Runs a case in a sandbox of ours, and looks for what must not have come of it."""

import asyncio
import re
import shutil
import socket
import subprocess

from tests.attacks.cases import Case, filled
from tests.attacks.stage import Stage

from long_running_agents.errors import LraError
from long_running_agents.sandbox.base import (
    MEGABYTE,
    ExecResult,
    SandboxBackend,
    SandboxLimits,
    SandboxSpec,
    printable,
)
from long_running_agents.sandbox.limits import living

MARK = "ESCAPE"
LIMITS = SandboxLimits(
    memory=256 * MEGABYTE,
    processes=48,
    file_size=64 * MEGABYTE,
    workspace_bytes=128 * MEGABYTE,
    workspace_files=20_000,
    temporary_bytes=32 * MEGABYTE,
    output_kept=100_000,
    output_killed=8 * MEGABYTE,
)
LEAD = 10
_SHARES_A_SANDBOX = {"secret-file", "env", "proc", "device", "write", "mount", "syscall", "ipc"}
_ANSWERS_LATE = 11


class Attacked:
    """A sandbox under attack, replaced whenever it has died or must be fresh."""

    def __init__(self, stage: Stage, backend: SandboxBackend) -> None:
        self._backend = backend
        self._stage = stage
        self._folder = stage.root / "workspaces"
        self._folder.mkdir(mode=0o755)
        self._count = 0
        self.sandbox = None

    async def run(self, case: Case) -> list[str]:
        """Run a case; what came of it that must not have."""
        self._stage.reset()
        if self.sandbox is None or not self.sandbox.alive or case.kind not in _SHARES_A_SANDBOX:
            await self._renew()
        hits, before = self._stage.hits, await self._processes()
        begun = asyncio.get_running_loop().time()
        result = await self._do(case)
        if case.twice:
            result = await self._do(case)
        seconds = asyncio.get_running_loop().time() - begun
        found = self._stage.damage(hits)
        text = f"{result.stdout}{result.stderr}{result.value}{result.display}"
        if MARK in text:
            found.append("it says so")
        if seconds > case.timeout + _ANSWERS_LATE:
            found.append(f"no answer in {seconds:.0f} s")
        check = getattr(self, f"_check_{case.check.replace('-', '_')}", None)
        if check is not None:
            found += await check(case, result, text, seconds, before)
        return found

    async def close(self) -> None:
        if self.sandbox is not None:
            await self.sandbox.destroy()

    async def _renew(self, *, fresh: bool = True) -> None:
        await self.close()
        if fresh:
            shutil.rmtree(self._folder / str(self._count), ignore_errors=True)
            self._count += 1
        workspace = self._folder / str(self._count)
        workspace.mkdir(exist_ok=True)
        self.sandbox = await self._backend.create(SandboxSpec(limits=LIMITS, workspace=workspace))
        # A sandbox in which nothing works would hold against everything.
        works = await self.sandbox.execute("1 + 1")
        if not works.success:
            raise RuntimeError(works.error)

    async def _do(self, case: Case) -> ExecResult:
        code = filled(case.code, self._stage.places)
        if case.lang == "tool":
            return await self.sandbox.call(
                code["source"], code["function"], code["kwargs"], case.timeout
            )
        act = self.sandbox.shell if case.lang == "shell" else self.sandbox.execute
        return await act(code, case.timeout)

    async def _processes(self) -> int:
        # The next cell's fork is made after an answer; a command waits for it.
        inside = await self.sandbox.shell("ls -d /proc/[0-9]* | wc -l")
        if self.sandbox.watcher is None:
            return int(inside.stdout or 0)
        return len(await asyncio.to_thread(living, self.sandbox.watcher.process))

    async def _check_time(self, case, result, text, seconds, before):
        return [f"ran {seconds:.1f} s"] if seconds > case.timeout + LEAD else []

    async def _check_output(self, case, result, text, seconds, before):
        return [f"{len(text)} characters"] if len(text) > 3 * LIMITS.output_kept else []

    async def _check_quiet(self, case, result, text, seconds, before):
        after = await self._processes() if self.sandbox.alive else 0
        return [f"processes: {before} before, {after} after"] if after > before else []

    async def _check_mem(self, case, result, text, seconds, before):
        group, watcher = self.sandbox.group, self.sandbox.watcher
        if watcher is None:
            # A container sees its own cgroup, of either version; one that is gone was ended for it.
            where = "memory/memory.max_usage_in_bytes memory.peak"
            shown = await self.sandbox.shell(f"cd /sys/fs/cgroup; cat {where} 2>/dev/null")
            peak = int(shown.stdout or 0)
        else:
            peak = group.peak() if group is not None else watcher.peak
        return [f"{peak >> 20} MB of memory"] if peak > 1.5 * LIMITS.memory else []

    async def _check_disk(self, case, result, text, seconds, before):
        used = sum(
            path.lstat().st_blocks * 512 for path in self.sandbox.room.workspace.root.rglob("*")
        )
        return [f"{used >> 20} MB on disk"] if used > 3 * LIMITS.workspace_bytes else []

    async def _check_listen(self, case, result, text, seconds, before):
        port = re.search(r"PORTOPEN (\d+)", text)
        with socket.socket() as client:
            client.settimeout(0.3)
            reached = port and client.connect_ex(("127.0.0.1", int(port[1]))) == 0
        return ["its port can be reached"] if reached else []

    async def _check_filetool_link(self, case, result, text, seconds, before):
        return await self._reads("hostlink/.env", "hostlink/agent.db", "pw")

    async def _check_filetool_fifo(self, case, result, text, seconds, before):
        return await self._reads("pipe.txt")

    async def _reads(self, *paths):
        found = []
        for path in paths:
            try:
                async with asyncio.timeout(0.5):
                    await self.sandbox.get_file(path)
                found.append(f"{path} was read")
            except LraError:
                continue
            except TimeoutError:
                found.append(f"reading {path} hangs")
        return found

    async def _check_fresh_kernel(self, case, result, text, seconds, before):
        await self._renew(fresh=False)
        works = await self.sandbox.call("import json\ndef f(): return json.dumps([1])", "f", {})
        found = [] if works.value == "[1]" else [f"a planted file broke the kernel: {works.error}"]
        return found + self._stage.damage(self._stage.hits)

    async def _check_git(self, case, result, text, seconds, before):
        # As a host would have to: the sandbox is the better place for git.
        words = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false"]
        await asyncio.to_thread(
            subprocess.run,
            [*words, "-c", "core.hooksPath=/dev/null", "status"],
            cwd=self.sandbox.room.workspace.root,
            capture_output=True,
            check=False,
        )
        return self._stage.damage(self._stage.hits)

    async def _check_ansi(self, case, result, text, seconds, before):
        return ["it commands the terminal"] if "\x1b" in printable(text) else []

    async def _check_alive(self, case, result, text, seconds, before):
        again = await self.sandbox.execute("1 + 1", 5)
        if not self.sandbox.alive:
            await self._renew()
            again = await self.sandbox.execute("1 + 1", 5)
        return [] if again.success else [f"nothing works any more: {again.error}"]
