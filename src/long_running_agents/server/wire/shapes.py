"""What all shapes have in common."""

from pydantic import BaseModel, ConfigDict


class Told(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, protected_namespaces=())


class Asked(BaseModel):
    """A body; a field that nobody knows is a mistake, not a wish that is ignored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=()
    )
