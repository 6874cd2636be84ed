"""What was learned, at the terminal."""

import json

from long_running_agents.domain.memory import MemoryId


def twice(lra):
    """Have the same remembered twice."""
    for words in ("The boat lies in Hamburg.", "The boat lies, in Hamburg!"):
        assert lra("memory", "add", words, "--keep-both")[0] == 0


def test_what_is_there_twice_is_put_aside_listed_and_woken(lra):
    assert "Nothing was learned" in lra("learned")[2]
    twice(lra)
    code, told, counted = lra("learned", "curate")
    assert (code, "#2 says the same" in told) == (0, True)
    assert "1 resting" in counted
    assert "Nothing was put aside" in lra("learned", "curate")[2]
    [rested] = json.loads(lra("learned", "--state", "resting", "--json")[1])
    assert (rested["number"], rested["kind"], rested["memory_id"]) == (1, "fact", MemoryId(1))
    assert json.loads(lra("learned", "--state", "new", "--json")[1]) == []
    assert "it is in use again" in lra("learned", "undo", "1")[1]
    assert "Nothing was learned" in lra("learned")[2]
    code, _, said = lra("learned", "undo", "1")
    assert (code, "Nothing was learned as 1" in said) == (3, True)


def test_reflection_says_what_it_has_read(lra):
    code, _, told = lra("reflect")
    assert (code, "tokens" in told) == (0, True)
    assert json.loads(lra("reflect", "--json")[1])["learned"] == []
    assert lra("reflect", "-s", "talk")[0] == 3
