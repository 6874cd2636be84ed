"""Runs the suite: `python -m tests.attacks [--only REGEX] [--quick] [--no-cgroup] [--control]`.

As the superuser it is run once more as a plain user, from a copy that such a user can read. With
`--backend docker` it attacks a container, of the daemon whose socket is in LRA_TEST_DOCKER.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.attacks import unprotected
from tests.attacks.cases import Case, load
from tests.attacks.sandboxed import Attacked
from tests.attacks.stage import Stage

from long_running_agents.clock import SystemClock
from long_running_agents.sandbox import bubblewrap_command, kernel_sandbox
from long_running_agents.sandbox.base import SandboxBackend
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend

ROOT = Path(__file__).parents[2]
NEEDED = 0.9
"""The share of control cases that must succeed, or the suite shows nothing."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="just cases with such an id")
    parser.add_argument("--quick", action="store_true", help="leave out what takes seconds")
    parser.add_argument("--no-cgroup", action="store_true", help="limits by rlimit and watcher")
    parser.add_argument("--backend", choices=["bubblewrap", "docker"], default="bubblewrap")
    parser.add_argument("--control", action="store_true", help="without a sandbox, harmless cases")
    parser.add_argument("--here", action="store_true", help="only as the user who runs it")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Case]:
    cases = [case for case in load() if re.search(options.only, case.id)]
    cases = [case for case in cases if options.backend not in case.not_for]
    # A guide is no code; `tests/contract/test_skill_attacks.py` runs all that is about skills.
    cases = [case for case in cases if case.lang != "guide"]
    if options.quick:
        cases = [case for case in cases if case.kind not in ("resource", "deny-list")]
    return [case for case in cases if case.control] if options.control else cases


def backend(options: argparse.Namespace) -> SandboxBackend:
    if options.backend == "docker":
        from long_running_agents.sandbox.docker import DockerBackend  # noqa: PLC0415 - the plain user's Python has no HTTP

        return DockerBackend(SystemClock(), host=f"unix://{os.environ['LRA_TEST_DOCKER']}")
    return BubblewrapBackend(SystemClock(), use_cgroup=not options.no_cgroup)


async def attack(cases: list[Case], stage: Stage, options: argparse.Namespace) -> int:
    attacked = Attacked(stage, backend(options))
    escaped = 0
    for case in cases:
        found = await attacked.run(case)
        escaped += bool(found)
        show(case, found, "ESCAPED", "held")
    await attacked.close()
    return escaped


def control(cases: list[Case], stage: Stage) -> int:
    succeeded = 0
    for case in cases:
        found = unprotected.run(case, stage)
        succeeded += bool(found)
        show(case, found, "succeeded", "failed")
    return succeeded


def show(case: Case, found: list[str], bad: str, good: str) -> None:
    if found or sys.stdout.isatty():
        print(f"{bad if found else good:<9} {case.id:<20} {'; '.join(found)}", flush=True)


def here(options: argparse.Namespace) -> int:
    """Run the suite as the user we are."""
    cases = chosen(options)
    spare = kernel_sandbox.borrow() if os.geteuid() == 0 else None
    stage = Stage(None if spare is None else spare.uid)
    who = "superuser" if os.geteuid() == 0 else "plain user"
    os.environ.update(stage.environment)
    try:
        if options.control:
            count = control(cases, stage)
            print(f"control, {who}: {count} of {len(cases)} succeed without a sandbox")
            return int(count < NEEDED * len(cases))
        count = asyncio.run(attack(cases, stage, options))
        print(f"{options.backend}, {who}: {count} of {len(cases)} escaped")
        return int(count > 0)
    finally:
        stage.close()
        if spare is not None:
            spare.release()


def as_plain_user() -> int:
    """Run the same once more as somebody without any rights."""
    python = bubblewrap_command.find()
    spare = kernel_sandbox.borrow()
    with tempfile.TemporaryDirectory(prefix="attack-copy-") as folder:
        copy = Path(folder)
        copy.chmod(0o755)
        for name in ("src/long_running_agents", "tests/attacks"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.pyc"))
        subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
        done = subprocess.run(
            [python.program, "-B", "-m", "tests.attacks", *sys.argv[1:]],
            cwd=copy,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{copy}/src", "HOME": "/nonexistent"},
            user=spare.uid,
            group=spare.uid,
            extra_groups=[],
            check=False,
        )
    spare.release()
    return done.returncode


def main() -> int:
    options = arguments()
    failed = here(options)
    if os.geteuid() == 0 and not options.here and options.backend == "bubblewrap":
        failed |= as_plain_user()
    return failed


if __name__ == "__main__":
    sys.exit(main())
