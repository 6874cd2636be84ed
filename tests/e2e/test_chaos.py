"""At least two hundred kill -9, and nothing is lost, doubled or left behind."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(600)
def test_two_hundred_deaths_lose_nothing_and_double_nothing():
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.chaos", "--random", "22", "--deaths", "5"],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    sys.stdout.write(run.stdout)
    assert report["problems"] == []
    assert report["kills"] >= 200
    # The deaths came at every kind of point, and some of them did cut calls off.
    assert set(report["by_kind"]) == {
        "before a transaction",
        "before a commit",
        "after a commit",
        "statement",
        "before the effect",
        "after the effect",
        "at the end of the tool",
        "word",
        "random moment",
    }
    assert report["uncertain"] > 0
