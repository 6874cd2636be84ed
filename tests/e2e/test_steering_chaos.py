"""Kill -9 around messages that steer: each is stored once and given to the model once."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("every", "homes", "kills"),
    [(7, 2, 12), pytest.param(1, 20, 100, marks=pytest.mark.heavy)],
)
def test_no_death_loses_or_doubles_a_message_that_steers(every, homes, kills):
    options = ["--every", str(every), "--random", str(homes)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.steering_chaos", *options],
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    sys.stdout.write(run.stdout)
    assert report["problems"] == []
    assert report["kills"] >= kills
    # Most were given to the turn that ran; the others came too late for it, as they were meant to.
    assert report["turns"] >= 4 * report["homes"]
