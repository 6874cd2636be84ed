"""Sixty times kill -9 while memories are written, forgotten, indexed and embedded anew."""

import json
import subprocess
import sys

import pytest


@pytest.mark.timeout(960)
def test_no_memory_is_lost_and_none_comes_back_when_the_process_is_killed():
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.memory_chaos", "--random", "40"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    sys.stdout.write(run.stdout)
    assert report["problems"] == []
    assert report["kills"] >= 60
    assert report["memories"] > 100
    # The deaths came at every kind of point, and cut off every kind of deed.
    assert set(report["by_kind"]) == {
        "before a transaction",
        "before a commit",
        "after a commit",
        "statement",
        "step of SQLite",
        "embedding",
        "embedded",
        "random moment",
    }
    deeds = {"write", "talk", "correct", "forget", "undo", "reindex", "move"}
    assert set(report["deeds"]) == deeds
    assert set(report["cut_off"]) == deeds
