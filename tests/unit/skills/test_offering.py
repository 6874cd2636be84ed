from datetime import timedelta

import pytest
from tests.unit.skills.versions import NOW, version

from long_running_agents.domain.skill import SkillCreator, SkillKind, SkillOrigin
from long_running_agents.skills.context import SkillIndex, new_here, offered

RSI = version("calculate_rsi", description="The relative strength index of prices.")
TEMPERATURE = version("to_fahrenheit", description="Convert a temperature from Celsius.")
GUIDE = version("pdf-forms", kind=SkillKind.GUIDE, description="How to fill PDF forms.")


def many(count):
    return [version(f"skill_{number}", description=f"Thing {number}.") for number in range(count)]


def names(versions):
    return [each.name for each in versions]


def test_few_skills_are_all_offered():
    assert names(offered(SkillIndex([RSI, TEMPERATURE]), "hello", most=10)) == [
        "calculate_rsi",
        "to_fahrenheit",
    ]


def test_of_many_those_are_offered_that_fit_the_words():
    shelf = SkillIndex([*many(50), RSI, TEMPERATURE])
    found = names(offered(shelf, "Is this celsius temperature warm?", most=3))
    assert found[0] == "to_fahrenheit"
    assert len(found) <= 3


def test_what_this_conversation_has_used_comes_first_and_always():
    shelf = SkillIndex([*many(50), RSI, TEMPERATURE])
    first = ["skill_7", "skill_7", "gone", "skill_9"]
    found = names(offered(shelf, "celsius", most=3, first=first))
    assert found == ["skill_7", "skill_9", "to_fahrenheit"]


def test_what_was_asked_for_is_not_cut_off():
    wanted = [f"skill_{number}" for number in range(5)]
    assert names(offered(SkillIndex(many(50)), "", most=2, first=wanted)) == wanted


def test_a_guide_is_found_and_never_offered_as_a_function():
    shelf = SkillIndex([*many(20), GUIDE])
    assert names(shelf.search("fill in a PDF form", 3)) == ["pdf-forms"]
    assert "pdf-forms" not in names(offered(shelf, "pdf form", most=5))


def test_rare_words_and_names_count_more():
    common = [version(f"prices_{number}", description="Prices of things.") for number in range(9)]
    shelf = SkillIndex([*common, RSI])
    assert names(shelf.search("rsi of prices", 1)) == ["calculate_rsi"]


@pytest.mark.parametrize("query", ["", "the of and", "zzz"])
def test_words_that_say_nothing_find_nothing(query):
    assert SkillIndex([RSI, TEMPERATURE]).search(query, 5) == []


def test_what_was_made_in_a_conversation_is_known_the_newest_first():
    def made(name, session, minutes):
        brought = SkillOrigin(origin=SkillCreator.MODEL, session_id=session)
        return version(name, brought=brought, created_at=NOW + timedelta(minutes=minutes))

    known = [made("old", "s", 0), made("other", "t", 1), made("new", "s", 2)]
    assert new_here(known, "s") == ["new", "old"]
