import difflib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from long_running_agents.errors import UsageError
from long_running_agents.workspace.edit import patched, replaced

POEM = "one\ntwo\nthree\ntwo\nfive\n"

LINES = st.lists(st.text(alphabet="ab \t", max_size=3), max_size=12)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a b c", "b", "x", "a x c"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\n", "b\nc", "x", "a\r\nx\n"),
        ("a\nb", "b", "b\nc", "a\nb\nc"),
        ("\N{SNOWMAN} ä", "ä", "ö", "\N{SNOWMAN} ö"),
        ("a\r\nb", "a\r\nb", "c\r\nd", "c\r\nd"),
        ("a\rb\n", "b", "c", "a\rc\n"),
        ("a.*b", ".*", r"\1", r"a\1b"),
    ],
)
def test_only_the_passage_changes(text, old, new, after):
    assert replaced(text, old, new) == (after, 1)


def test_two_places_that_overlap_are_two_places():
    with pytest.raises(UsageError, match="2 times"):
        replaced("aaa", "aa", "b")
    assert replaced("aaa", "aa", "b", every=True) == ("ba", 1)


def test_every_passage_is_replaced_on_demand():
    assert replaced(POEM, "two", "2", every=True) == ("one\n2\nthree\n2\nfive\n", 2)
    assert replaced("a\r\na\r\na\r\n", "a\n", "bb\n", every=True) == ("bb\r\nbb\r\nbb\r\n", 3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("two", "2", "2 times, at lines 2, 4. Give more"),
        ("", "x", "is empty"),
        ("one", "one", "are the same"),
        ("  three", "3", "line 3, 'three': it differs in white space"),
        ("three\nfour", "3", "line 3, 'three': a line near it differs"),
        ("thre3", "3", "line 3, 'three': it is not the same"),
        ("zzzzzz", "3", "No line is like"),
        ("     2\ttwo\n     3\tthree", "3", "Leave out the line numbers"),
    ],
)
def test_what_cannot_be_replaced_is_explained(old, new, words):
    with pytest.raises(UsageError) as refused:
        replaced(POEM, old, new)

    assert words in str(refused.value)


@given(st.text("a\r\n"), st.text("a\r\n"), st.text("b\n"), st.sampled_from(["\n", "\r\n"]))
def test_nothing_changes_but_the_passage(before, after, new, ending):
    text = f"{before}x{ending}x{after}"

    result, count = replaced(text, "x\nx", new)

    assert count == 1
    assert result.startswith(before)
    assert result.endswith(after)
    assert result[len(before) : len(result) - len(after)].replace("\r\n", "\n") == new


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 3))
def test_a_diff_of_two_texts_turns_one_into_the_other(before, after, ending, ended, context):
    assume(before != after)
    assume(context > 0 or not before)
    # An empty line at the very end cannot be told from an ending line break.
    assume((before or ["x"])[-1] != "" and (after or ["x"])[-1] != "")
    diff = "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm="", n=context))
    tail = ending if ended else ""
    old = ending.join(before) + (tail if before else "")
    uses = ending if ending in old else "\n"

    new, _ = patched(old, diff)

    ends = ended or not before
    assert new == uses.join(after) + (uses if after and ends else "")


DIFF = "--- a/poem\n+++ b/poem\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def test_a_diff_is_applied_where_its_lines_are():
    assert patched(POEM, DIFF) == (POEM.replace("two", "2", 1), 1)
    moved = "zero\n" * 7 + POEM
    assert patched(moved, DIFF) == (moved.replace("two", "2", 1), 1)
    assert patched(POEM, DIFF.replace("-1,3 +1,3", "-40,9 +50,1")) == patched(POEM, DIFF)
    assert patched(POEM, "@@\n-three\n+3\n") == (POEM.replace("three", "3"), 1)


def test_of_several_places_the_one_that_the_diff_names_is_taken():
    assert patched(POEM, "@@ -4 +4 @@\n-two\n+2\n")[0] == "one\ntwo\nthree\n2\nfive\n"


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("@@ -9 +9 @@\n-two\n+2\n", "fits at lines 2, 4"),
        ("@@\n-two\n+2\n", "fits at lines 2, 4"),
        ("@@ -1,2 +1,2 @@\n one\n-twO\n+2\n", "line 1, 'one': a line near it differs"),
        ("@@ -3 +3 @@\n-three \n+3\n", "line 3, 'three': it differs in white space"),
        ("@@ -2,0 +3 @@\n+new\n", "has no line of the file"),
        ("@@ -1 +1 @@\n one\n", "changes nothing"),
        ("", "changes nothing"),
        ("just words", "is no line of a diff"),
        ("@@ -1 +1 @@\nzero\n-one\n", "begins with no"),
        (DIFF + "--- a/other\n+++ b/other\n@@ -1 +1 @@\n-x\n+y\n", "several files"),
        (DIFF + "diff --git a/other b/other\n", "several files"),
        ("@@ -5 +5 @@\n-five\n+5\n@@ -1 +1 @@\n-one\n+1\n", "not in the file"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(diff, words):
    with pytest.raises(UsageError) as refused:
        patched(POEM, diff)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "diff", "after"),
    [
        ("", "@@ -0,0 +1 @@\n+a\n", "a\n"),
        ("a\n", "@@ -1 +0,0 @@\n-a\n", ""),
        ("a", "@@ -1 +1,2 @@\n a\n+b\n", "a\nb"),
        ("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b"),
        ("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nc\r\n"),
        ("a\r\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\r\nc"),
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n"),
        ("-- a\nx\n", "@@ -1,2 +1,2 @@\n--- a\n+++ b\n x\n", "++ b\nx\n"),
        ("z\nx\r", "@@ -1 +1 @@\n-z\n+y\n", "y\nx\r"),
    ],
)
def test_the_end_of_a_file_stays_as_it_is_unless_the_diff_says_so(text, diff, after):
    assert patched(text, diff)[0] == after
