"""Kill -9 around compaction: every message counts once, and every fold is whole."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.heavy)])
def test_no_death_breaks_a_fold_or_loses_or_doubles_a_message(kills):
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.compaction_chaos", "--kills", str(kills)],
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
    assert report["folds"] >= report["homes"]
    assert report["steered"] > 0
