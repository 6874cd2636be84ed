"""How a large CSV is looked at: `python -m benchmarks.data_view [--gigabytes 1] [--folder DIR]`.

Each look is a call of the tool as a turn makes it: a new process that parses the file within its
bounds. Peak memory is that of the process, as the kernel counted it.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from pathlib import Path

from long_running_agents.clock import SystemClock
from long_running_agents.workspace.tables import Look, TableQuery, view
from long_running_agents.workspace.workspace import Workspace

NAME = "large.csv"
PLACES = ("north", "south", "east", "west", "alpha", "beta", "gamma")
BLOCK = 100_000
LOOKS = {
    "head": TableQuery(),
    "tail": TableQuery(look=Look.TAIL),
    "sample": TableQuery(look=Look.SAMPLE),
    "head of a filter": TableQuery(where=({"column": "amount", "op": ">", "value": 9999.9},)),
    "sorted": TableQuery(order_by="-amount"),
    "describe": TableQuery(look=Look.DESCRIBE),
}


def made(path, size):
    """Write a table with numbers, dates, words and quoted texts."""
    if path.exists() and path.stat().st_size >= size:
        return
    number = 0
    with path.open("w", encoding="utf-8", buffering=1 << 22) as file:
        file.write("id,when,region,amount,flag,comment\n")
        while file.tell() < size:
            file.write("".join(row(n) for n in range(number, number + BLOCK)))
            number += BLOCK


def row(number):
    when = f"2025-{1 + number % 12:02}-{1 + number % 28:02} 12:{number % 60:02}:00"
    amount = number * 7919 % 1_000_003 / 100
    flag = "true" if number % 3 else "false"
    said = f'"said ""hello"", row {number}"'
    return f"{number},{when},{PLACES[number % 7]},{amount},{flag},{said}\n"


def look(workspace, question):
    """Seconds and megabytes of one look, in a process of our own so that peaks do not mix."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        began = time.perf_counter()
        asyncio.run(view(workspace, NAME, question, SystemClock(), seconds=600))
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        os.write(writing, f"{took} {peak}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    told = os.read(reading, 100)
    os.close(reading)
    return [float(word) for word in told.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = options.folder or Path(own)
        made(folder / NAME, int(options.gigabytes * 1e9))
        size = (folder / NAME).stat().st_size
        print(f"{size / 1e9:.1f} GB of CSV")
        for name, question in LOOKS.items():
            seconds, peak = look(Workspace(folder), question)
            print(f"{name:<18} {seconds:7.1f} s {peak:7.0f} MB")


if __name__ == "__main__":
    main()
