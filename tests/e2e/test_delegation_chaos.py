"""Kill -9 while agents work for each other: each is there once, told of once, and not left."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.heavy)])
def test_no_death_loses_or_doubles_a_delegate_or_its_receipt(kills):
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.delegation_chaos", "--kills", str(kills)],
        capture_output=True,
        text=True,
        timeout=3500,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    sys.stdout.write(run.stdout)
    assert report["problems"] == []
    assert report["kills"] == kills
    # One home is there to be compared with.
    assert report["turns"] == 44 * report["homes"] > 44
    # Nothing that they do may be done only once.
    assert report["uncertain"] == 0
    assert {"after delegate_done", "before delegate_started", "lra serve"} <= {*report["by_kind"]}
