"""Many sessions at once: our server and Agno's AgentOS, on the same scripted model.

Each client has a session of its own and sends its next message when the last is answered. Both are
driven over the same transport (server-sent events) for the ratio; ours over WebSockets as well,
where every event is checked: none lost, none twice, and how long after it was stored it arrived.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from websockets.asyncio.client import connect

from benchmarks import venvs
from benchmarks.processes import Model, environment
from long_running_agents.clock import SystemClock

KINDS = {
    "empty": "Go. steps=0",
    "3 tools": "Go. steps=3",
    "100 words": "Go. steps=0 words=100",
}
HERTZ = os.sysconf("SC_CLK_TCK")


class Server:
    """One server process."""

    def __init__(self, python: Path, name: str, url: str, folder: Path, *more: str) -> None:
        folder.mkdir(parents=True)
        self.name = name
        began = time.perf_counter()
        self.log = (folder / "log").open("wb")
        self.process = subprocess.Popen(
            [str(python), "-m", f"benchmarks.servers.{name}", url, str(folder), *more],
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=venvs.ROOT,
            env=environment(),
            text=True,
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"{name} did not start:\n{(folder / 'log').read_text()[-3000:]}")
        self.port = int(self.address.rpartition(":")[2])
        wait_until_it_answers(self.port)
        self.start = time.perf_counter() - began
        self.start_cpu = self.cpu()

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / HERTZ

    def memory(self) -> float:
        """Resident megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) / 1024

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def wait_until_it_answers(port: int) -> None:
    async def answers() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            if (await reader.readline()).startswith(b"HTTP/1.1 200"):
                writer.close()
                return
            writer.close()

    asyncio.run(asyncio.wait_for(answers(), 60))


@dataclass
class Tally:
    """What the clients saw."""

    turns: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    events: int = 0
    lost: int = 0
    doubled: int = 0
    failed: list[str] = field(default_factory=list)


async def stream_lines(port: int, head: str, body: bytes):
    """Send one request on a connection of its own and yield the lines of its streamed answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        writer.write(
            f"POST {head}\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"{status!r} {(await reader.read(500))!r}")
        while (await reader.readline()).strip():
            pass
        while line := await reader.readline():
            yield line
    finally:
        writer.close()


async def our_turn(port: int, session: str, text: str) -> bool:
    head = (
        f"/api/chat/{session} HTTP/1.1\r\nContent-Type: application/json\r\n"
        "Accept: text/event-stream"
    )
    done = False
    async for line in stream_lines(port, head, json.dumps({"message": text}).encode()):
        done = done or line.startswith(b"event: done")
    return done


async def agno_turn(port: int, session: str, text: str) -> bool:
    body = urllib.parse.urlencode({"message": text, "stream": "true", "session_id": session})
    head = "/agents/bench/runs HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded"
    done = False
    async for line in stream_lines(port, head, body.encode()):
        done = done or line.startswith(b"event: RunCompleted")
    return done


TURNS = {"lra": our_turn, "agno": agno_turn}


async def over_streams(server: Server, kind: str, clients: int, seconds: float) -> Tally:
    """Drive a server by server-sent events."""
    tally = Tally()
    turn = TURNS[server.name]
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        session = f"{kind.replace(' ', '-')}-{clients}-{number}-{time.monotonic_ns()}"
        while time.perf_counter() < until:
            began = time.perf_counter()
            try:
                if not await turn(server.port, session, KINDS[kind]):
                    tally.failed.append("the stream ended without an answer")
            except (OSError, RuntimeError) as error:
                tally.failed.append(repr(error))
                return
            tally.turns.append(time.perf_counter() - began)

    await asyncio.gather(*(client(number) for number in range(clients)))
    return tally


async def over_sockets(server: Server, kind: str, clients: int, seconds: float) -> Tally:
    """Drive ours by WebSockets, and look at every event."""
    tally, clock = Tally(), SystemClock()
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        session = f"ws-{kind.replace(' ', '-')}-{clients}-{number}-{time.monotonic_ns()}"
        url = f"ws://127.0.0.1:{server.port}/ws/{session}"
        seen: list[int] = []
        async with connect(url, compression=None, open_timeout=60, ping_interval=None) as socket:
            while time.perf_counter() < until:
                began = time.perf_counter()
                await socket.send(json.dumps({"type": "message", "content": KINDS[kind]}))
                while True:
                    heard = json.loads(await socket.recv())
                    if "seq" not in heard:
                        continue
                    stored = datetime.fromisoformat(heard["at"])
                    tally.delays.append((clock.now() - stored).total_seconds())
                    seen.append(heard["seq"])
                    if heard["type"] == "done":
                        break
                    if heard["type"] == "error":
                        tally.failed.append(heard["message"])
                        return
                tally.turns.append(time.perf_counter() - began)
        tally.events += len(seen)
        tally.doubled += len(seen) - len(set(seen))
        tally.lost += len(set(range(1, seen[-1] + 1)) - set(seen)) if seen else 0

    await asyncio.gather(*(client(number) for number in range(clients)))
    return tally


def measured(server: Server, kind: str, clients: int, seconds: float, *, sockets: bool) -> dict:
    drive = over_sockets if sockets else over_streams
    cpu, began = server.cpu(), time.perf_counter()
    tally = asyncio.run(drive(server, kind, clients, seconds))
    took = time.perf_counter() - began
    turns = sorted(tally.turns)
    if tally.failed:
        print(f"  {server.name}: {len(tally.failed)} failed, first: {tally.failed[0][:300]}")
    return {
        "server": server.name + (" (sockets)" if sockets else ""),
        "rate": len(turns) / took,
        "p50": statistics.median(turns) * 1000 if turns else 0.0,
        "p99": turns[int(len(turns) * 0.99)] * 1000 if turns else 0.0,
        "cpu": (server.cpu() - cpu) / max(1, len(turns)) * 1000,
        "tally": tally,
    }


def show(row: dict) -> None:
    line = (
        f"  {row['server']:14} {row['rate']:7.1f} turns/s   p50 {row['p50']:7.0f} ms"
        f"   p99 {row['p99']:7.0f} ms   {row['cpu']:6.1f} ms CPU a turn"
    )
    tally: Tally = row["tally"]
    if tally.delays:
        delays = sorted(tally.delays)
        line += (
            f"   {tally.events} events, {tally.lost} lost, {tally.doubled} twice,"
            f" delay p50 {delays[len(delays) // 2] * 1000:.1f}"
            f" p99 {delays[int(len(delays) * 0.99)] * 1000:.1f} ms"
        )
    print(line, flush=True)


def idle(server: Server, seconds: float) -> None:
    cpu = server.cpu()
    time.sleep(seconds)
    share = (server.cpu() - cpu) / seconds * 100
    print(
        f"{server.name}: ready after {server.start:.2f} s ({server.start_cpu:.2f} s CPU);"
        f" idle {share:.2f} % CPU, {server.memory():.0f} MB"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, nargs="+", default=[50, 200])
    options.add_argument("--seconds", type=float, default=8)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--kinds", nargs="+", default=list(KINDS))
    options.add_argument(
        "--alike", action="store_true", help="give ours no more than the other has: one tool"
    )
    options.add_argument("--only", choices=["lra", "agno"])
    given = options.parse_args()
    python = venvs.ready()
    folder = Path(tempfile.mkdtemp(prefix="lra-load-"))
    names = [given.only] if given.only else ["lra", "agno"]
    servers: list[Server] = []
    try:
        with Model(python, folder) as model:
            for name in names:
                more = ["alike"] if given.alike and name == "lra" else []
                servers.append(Server(python, name, model.url, folder / name, *more))
            for server in servers:
                idle(server, 5)
            for clients in given.clients:
                for kind in given.kinds:
                    print(f"{kind}, {clients} sessions")
                    compare(servers, kind, clients, given)
            for server in servers:
                print(f"{server.name}: {server.memory():.0f} MB at the end")
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


def compare(servers: list[Server], kind: str, clients: int, given: argparse.Namespace) -> None:
    rates: dict[str, list[float]] = {}
    for number in range(given.rounds):
        order = servers if number % 2 == 0 else servers[::-1]
        for server in order:
            row = measured(server, kind, clients, given.seconds, sockets=False)
            rates.setdefault(server.name, []).append(row["rate"])
            show(row)
    ours = next((server for server in servers if server.name == "lra"), None)
    if ours is not None:
        show(measured(ours, kind, clients, given.seconds, sockets=True))
    if len(rates) == 2:
        ratio = statistics.mean(rates["lra"]) / max(0.001, statistics.mean(rates["agno"]))
        print(f"  ours does {ratio:.2f} times the turns of Agno's")


if __name__ == "__main__":
    main()
