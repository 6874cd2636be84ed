"""The shapes of JSON: what all bodies have in common, and answers derived from domain types."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    create_model,
)

from long_running_agents.domain.events import DescribedModel, meanings
from long_running_agents.domain.ids import SessionId, shown

LONGEST = 200_000
"""Characters of a message; what is longer belongs into a file."""
_NONE = re.compile(r"\bNone\b")


def example(shown: str | dict[str, JsonValue], **options: Any) -> ConfigDict:
    """What a model says of itself: an example, as JSON has it."""
    told = json.loads(shown) if isinstance(shown, str) else shown
    return ConfigDict(json_schema_extra={"example": told}, **options)


class _Besides:
    """A thing, some attributes of which are others."""

    def __init__(self, value: object, also: Mapping[str, object]) -> None:
        self.__dict__.update(also)
        self._value = value

    def __getattr__(self, name: str) -> object:
        return getattr(self._value, name)


class WireResponse(DescribedModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, protected_namespaces=(), from_attributes=True)

    @classmethod
    def of(cls, value: object, **also: object) -> Self:
        """Something of the domain, as JSON has it, with what is known besides."""
        return cls.model_validate(_Besides(value, also) if also else value)


class WireRequest(DescribedModel):
    """A body; a field that nobody knows is a mistake, not a wish that is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


Made = TypeVar("Made")


def built(shape: Callable[..., Made], request: BaseModel, **also: object) -> Made:
    """A domain dataclass of a request's fields of the same names, and what is known besides."""
    named = {each.name for each in fields(cast("Any", shape))} & type(request).model_fields.keys()
    return shape(**{**{name: getattr(request, name) for name in named}, **also})


def derived(
    shape: type[Any],
    base: type[WireResponse] = WireResponse,
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    flat: str = "",
) -> type[WireResponse]:
    """A model with the fields of a domain dataclass, which `of` fills from one.

    All fields are required, and whose it is (``owner``) is left out. Dataclasses within it are
    derived as well, tuples are lists, and sets are sorted lists. `flat` names a field whose own
    fields are told beside the others, instead of within it.
    """

    def taken(shape: type[Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        told = meanings(shape)
        for name, hint in get_type_hints(shape, include_extras=True).items():
            if name == flat:
                yield from taken(hint, (name,))
            elif name != "owner" and name not in without and (not only or name in only):
                alias = AliasPath(*path, name) if path or name in (renamed or {}) else None
                about = _NONE.sub(_null, told[name]) if name in told else None
                field = Field(validation_alias=alias, description=about)
                yield (renamed or {}).get(name, name), (_as_json(hint), field)

    found = dict(taken(shape, ()))
    return create_model(shape.__name__, __base__=base, __doc__=shape.__doc__, **found)


_within = cache(derived)
ShownSession = Annotated[SessionId, AfterValidator(shown)]
"""A session, told as its owner calls it."""


def _as_json(hint: Any) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if hint is SessionId:
        return ShownSession
    if is_dataclass(hint):
        return _within(hint)
    if origin in (Union, UnionType):
        return _union(_as_json(each) for each in inside)
    if origin in (tuple, list, Sequence):
        return list[_as_json(inside[0])]
    if origin is frozenset:
        return Annotated[list[inside[0]], BeforeValidator(sorted)]
    return hint


def _union(hints: Iterable[Any]) -> Any:
    first, *others = hints
    for each in others:
        first |= each
    return first


def _null(found: re.Match[str]) -> str:
    return "null" if found.start() else "Null"
