"""A model server that sends too much fails its turn, and takes little memory with it."""

import subprocess
import sys

import pytest

FLOODS = {
    "a text without an end": "an answer of more than 2000000 letters",
    "a line without an end": "a line of more than 8388608 bytes",
    "arguments in one line": "a line of more than 8388608 bytes",
    "arguments in pieces": "an answer of more than 2000000 letters",
    "calls": "more than 128 tool calls at once",
}
MEGABYTES = 100


def flooded(home, flood):
    """How the turn ended, how many megabytes it took, the requests made, and the error."""
    program = [sys.executable, "-m", "tests.integration.flooded", str(home), flood]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    status, grown, asked, error = done.stdout.split("\n", 3)
    return status, int(grown), int(asked), error


@pytest.mark.parametrize(("flood", "words"), FLOODS.items(), ids=FLOODS.keys())
def test_a_flood_is_cut_off_with_a_clear_error_and_little_memory(tmp_path, flood, words):
    status, grown, asked, error = flooded(tmp_path, flood)

    assert (status, asked) == ("failed", 1)
    assert words in error
    assert grown < MEGABYTES


def test_the_longest_arguments_that_are_taken_need_little_memory(tmp_path):
    _, grown, asked, _ = flooded(tmp_path, "the longest arguments that are taken")

    assert asked == 1
    assert grown < MEGABYTES
