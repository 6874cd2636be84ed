"""Kill -9 around every phase of a work: it ends as one that nobody killed, with all evidence."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.heavy)])
def test_no_death_loses_or_doubles_a_turn_or_evidence_of_a_work(kills):
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.work_chaos", "--kills", str(kills)],
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
    assert report["homes"] > 1
    assert report["turns"] == 9 * report["homes"]
    assert {"before work_phase", "after work_phase"} <= {*report["by_kind"]}
