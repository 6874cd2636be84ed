"""The quick part of the attack suite; `make attack` runs all of it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def suite(*options):
    return subprocess.run(
        [sys.executable, "-m", "tests.attacks", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(300)
def test_no_attack_gets_out_of_the_sandbox():
    done = suite("--quick")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of" in done.stdout
    assert "escaped" in done.stdout


def test_the_attacks_succeed_where_there_is_no_sandbox():
    done = suite("--control")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "succeed without a sandbox" in done.stdout
