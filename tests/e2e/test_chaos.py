"""Sixty times kill -9, two hundred times with `make chaos`: nothing is lost, doubled or left."""

import json
import subprocess
import sys

import pytest

FEW, MANY = 1, 10
"""Homes that die at random moments, five times each."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("part", "homes"),
    [
        ("1/3", FEW),
        ("2/3", FEW),
        *(pytest.param(f"{part}/3", MANY, marks=pytest.mark.heavy) for part in (1, 2, 3)),
    ],
)
def test_no_death_loses_or_doubles_anything(part, homes):
    options = ["--part", part, "--random", str(homes), "--deaths", "5", "--seed", part[0]]
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.chaos", *options],
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    sys.stdout.write(run.stdout)
    assert report["problems"] == []
    # A third of two hundred, or of what a part of the points is.
    assert report["kills"] >= (67 if homes == MANY else 30)
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
