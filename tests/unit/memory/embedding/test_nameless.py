import pytest

from long_running_agents.memory.embedding.nameless import without_names


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What did Anna buy?", "What did buy?"),
        ("Is anna's cat with Tom?", "Is cat with ?"),
        ("Where is Anna\u2019s boat", "Where is boat"),
        ("Annabel met Tommy", "Annabel met Tommy"),
        ("Did Anna Maria call?", "Did call?"),
        ("Anna?", "Anna?"),
        ("", ""),
    ],
)
def test_known_names_are_taken_out_unless_nothing_would_be_left(text, rest):
    assert without_names(text, ["Anna", "Tom", "Anna Maria"]) == rest


def test_a_name_is_no_pattern():
    assert without_names("call a.c or abc", ["a.c"]) == "call or abc"


def test_without_names_to_take_out_a_text_stays_as_it_is():
    assert without_names("two  spaces", ["", " "]) == "two  spaces"
