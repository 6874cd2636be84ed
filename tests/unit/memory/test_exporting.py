import json
from dataclasses import fields

import pytest
from tests.unit.memory.shelter import correct, every, exported, fact, forget, shelter, turns

from long_running_agents.domain.memory import Memory, MemoryScope

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with shelter(tmp_path / "home") as memories:
        yield memories


async def test_a_line_holds_every_field_of_a_memory_and_its_origins(memories):
    boat = await fact(memories, "The boat lies in Hamburg.")
    await fact(memories, "So it is in the north.", derived_from=(boat.id,))

    first, second = [json.loads(line) for line in await exported(memories)]

    assert set(first) == {field.name for field in fields(Memory)} | {"derived_from"}
    assert (first["content"], first["derived_from"]) == ("The boat lies in Hamburg.", [])
    assert second["derived_from"] == [boat.id]


async def test_an_export_has_every_scope_and_the_history_in_the_order_of_the_numbers(memories):
    old = await fact(memories, "The boat lies in Kiel.", scope=MemoryScope.SESSION, session_id="s9")
    await turns(memories, ("user", "Where is it?"), ("lra", "In Kiel."))
    await correct(memories, old, "The boat lies in Hamburg.")

    lines = [json.loads(line) for line in await exported(memories)]

    assert [line["id"] for line in lines] == [memory.id for memory in await every(memories)]
    assert lines[0]["superseded_by"] == lines[3]["id"]
    assert await exported(memories) == await exported(memories)


async def test_an_export_goes_on_beyond_a_page(memories):
    await turns(memories, *[("user", f"word {number}") for number in range(2050)])

    lines = await exported(memories)

    assert len(lines) == 2050
    assert len(set(lines)) == 2050


async def test_what_was_forgotten_is_in_no_export(memories):
    boat = await fact(memories, "The boat lies in Hamburg.")
    await fact(memories, "So it is in the north.", derived_from=(boat.id,))
    await fact(memories, "The car is red.")
    await forget(memories, boat.id)

    assert [json.loads(line)["content"] for line in await exported(memories)] == ["The car is red."]


async def test_an_export_is_one_owners_alone(memories):
    await fact(memories, "Mine is the boat.")
    await fact(memories, "Hers is the car.", owner="her")

    assert [json.loads(line)["owner"] for line in await exported(memories)] == ["me"]
