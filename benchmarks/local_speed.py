"""What our server costs over the bare library: time to the first token, and tokens a second.

    python -m benchmarks.local_speed FOLDER [NAME]

Both run the same weights in this process with the same threads, and take turns, so that whatever
else the machine does falls on both. Ours is asked over HTTP, as a client would.
"""

import argparse
import asyncio
import json
import statistics
import threading
import time
from pathlib import Path

import httpx2
import xllamacpp

from long_running_agents.models.local import server
from long_running_agents.models.local.catalog import DEFAULT
from long_running_agents.models.local.model import open_engine

TOKENS = 64


def question(number):
    # A number in front, so that nothing but the template is known from the time before.
    return f"{number}: explain to a child how a tree grows, in detail. " + "Think well. " * 20


def body(number):
    return {
        "messages": [{"role": "user", "content": question(number)}],
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": True,
    }


class Bare:
    """The library as its own documents show it."""

    def __init__(self, path, threads):
        chosen = xllamacpp.CommonParams()
        chosen.model.path = str(path)
        chosen.n_ctx = 4096
        chosen.n_parallel = 1
        chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = threads
        chosen.warmup = False
        chosen.verbosity = -1
        chosen.use_jinja = True
        chosen.api_keys = ["key"]
        self._server = xllamacpp.Server(chosen)

    def ask(self, number):
        times = []

        def hear(chunk):
            choices = chunk.get("choices") or [{}]
            if choices[0].get("delta", {}).get("content"):
                times.append(time.perf_counter())
            return False

        began = time.perf_counter()
        self._server.handle_chat_completions(body(number), hear)
        return began, times


async def ours(client, url, number):
    times = []
    began = time.perf_counter()
    async with client.stream("POST", f"{url}/chat/completions", json=body(number)) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                if delta.get("content"):
                    times.append(time.perf_counter())
    return began, times


def figures(runs):
    first = [times[0] - began for began, times in runs]
    speed = [(len(times) - 1) / (times[-1] - times[0]) for _, times in runs]
    return statistics.median(first), statistics.median(speed)


def serve_aside(engine):
    """Our server on a thread of its own, as another process would be."""
    address = []
    there = threading.Event()

    def tell(url):
        address.append(url)
        there.set()

    def run():
        asyncio.run(server.serve(engine, "127.0.0.1", 0, ready=tell))

    threading.Thread(target=run, daemon=True).start()
    there.wait()
    return address[0]


async def compare(folder, name, threads, rounds):
    engine = open_engine(name, folder, context=4096, threads=threads)
    bare = Bare(folder / f"{name}.gguf", threads)
    url = serve_aside(engine)
    theirs, own = [], []
    async with httpx2.AsyncClient(trust_env=False, timeout=600) as client:
        await asyncio.to_thread(bare.ask, 0)
        await ours(client, url, 0)
        for number in range(1, rounds + 1):
            # Each goes first in turn.
            if number % 2:
                theirs.append(await asyncio.to_thread(bare.ask, number))
            own.append(await ours(client, url, number))
            if not number % 2:
                theirs.append(await asyncio.to_thread(bare.ask, number))
    (first, speed), (our_first, our_speed) = figures(theirs), figures(own)
    pairs = [(figures([a]), figures([b])) for a, b in zip(theirs, own, strict=True)]
    sooner = statistics.median(a[0] / b[0] for a, b in pairs)
    faster = statistics.median(b[1] / a[1] for a, b in pairs)
    print(f"{name}, {threads} thread(s), {rounds} rounds of {TOKENS} tokens, medians")
    print(f"  bare   first token {first:.3f} s, {speed:.1f} tokens/s")
    print(f"  server first token {our_first:.3f} s, {our_speed:.1f} tokens/s")
    print(f"  median of the pairs' ratios: first token {sooner:.3f}x, tokens/s {faster:.3f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the weights are")
    parser.add_argument("name", nargs="?", default=DEFAULT)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    chosen = parser.parse_args()
    asyncio.run(compare(chosen.folder, chosen.name, chosen.threads, chosen.rounds))


if __name__ == "__main__":
    main()
