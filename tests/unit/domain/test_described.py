"""What fields mean is told from the strings below them."""

from pydantic import Field, TypeAdapter

from long_running_agents.domain.events import DescribedModel, meanings


class Bird(DescribedModel):
    """A bird."""

    name: str
    """What it is called."""
    legs: int = Field(default=2, description="Given by hand.")
    """Overruled."""
    silent: bool = False


class Heron(Bird):
    """A bird that stands in water."""

    depth: float = Field(alias="waterDepth")
    """How deep it stands,
    in metres."""
    name: str
    """What the others call it."""


def test_a_schema_tells_what_fields_mean():
    fields = Bird.model_json_schema()["properties"]
    assert fields["name"]["description"] == "What it is called."
    assert fields["legs"]["description"] == "Given by hand."
    assert "description" not in fields["silent"]


def test_a_shape_has_the_fields_of_the_one_it_comes_from_and_may_say_more_of_them():
    assert meanings(Heron) == {
        "name": "What the others call it.",
        "legs": "Overruled.",
        "depth": "How deep it stands,\nin metres.",
    }
    schema = TypeAdapter(list[Heron]).json_schema()
    [heron] = schema["$defs"].values()
    assert heron["properties"]["waterDepth"]["description"].startswith("How deep")


def test_without_the_source_nothing_is_told():
    made = type(
        "Made", (DescribedModel,), {"__module__": "nowhere", "__annotations__": {"name": str}}
    )
    assert meanings(made) == {}
