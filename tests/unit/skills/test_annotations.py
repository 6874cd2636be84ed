import ast

import pytest

from long_running_agents.skills.annotations import SchemaReader, UnknownHint

CLASSES = """
class Point(TypedDict):
    x: float
    y: NotRequired[float]

class Loose(TypedDict, total=False):
    a: int
    b: Required[str]

class Place(Point):
    name: str

@dataclass(frozen=True)
class Order:
    item: str
    count: int = 1
    tags: list[str] = field(default_factory=list)
    odd: int = field(repr=False)
    kind: ClassVar[int] = 3

@dataclasses.dataclass
class Node:
    value: int
    children: list["Node"]

class Colour(StrEnum):
    RED = "red"
    BLUE = auto()

class Size(str, Enum):
    BIG = "big"

class Level(IntEnum):
    LOW = 1

class Plain(Enum):
    A = "a"

class Thing:
    x: int
"""

NUMBER, WHOLE, TEXT, NONE = ({"type": name} for name in ("number", "integer", "string", "null"))


def schema(hint, aliases=None):
    classes = {node.name: node for node in ast.parse(CLASSES).body}
    node = ast.parse("\n\n" + hint).body[0].value
    return SchemaReader(classes, aliases or {}, node.lineno).read(node)


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ("int", WHOLE),
        ("float", NUMBER),
        ("str", TEXT),
        ("bool", {"type": "boolean"}),
        ("None", NONE),
        ("Any", {}),
        ("typing.Any", {}),
        ("object", {}),
        ("list", {"type": "array"}),
        ("list[int]", {"type": "array", "items": WHOLE}),
        ("List[int]", {"type": "array", "items": WHOLE}),
        ("typing.List[int]", {"type": "array", "items": WHOLE}),
        ("collections.abc.Sequence[str]", {"type": "array", "items": TEXT}),
        ("Iterable[str]", {"type": "array", "items": TEXT}),
        ("list[Any]", {"type": "array"}),
        ("list[list[float]]", {"type": "array", "items": {"type": "array", "items": NUMBER}}),
        ("dict", {"type": "object"}),
        ("dict[str, int]", {"type": "object", "additionalProperties": WHOLE}),
        ("Mapping[str, Any]", {"type": "object"}),
        (
            "dict[Literal['a', 'b'], int]",
            {
                "type": "object",
                "additionalProperties": WHOLE,
                "propertyNames": {"enum": ["a", "b"]},
            },
        ),
        (
            "tuple[int, str]",
            {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 2, "maxItems": 2},
        ),
        ("tuple[int, ...]", {"type": "array", "items": WHOLE}),
        ("tuple[()]", {"type": "array", "maxItems": 0}),
        ("tuple", {"type": "array"}),
        ("set[int]", {"type": "array", "items": WHOLE, "uniqueItems": True}),
        ("frozenset", {"type": "array", "uniqueItems": True}),
        ("Optional[int]", {"anyOf": [WHOLE, NONE]}),
        ("Union[int, str, None]", {"anyOf": [WHOLE, TEXT, NONE]}),
        ("int | str | None", {"anyOf": [WHOLE, TEXT, NONE]}),
        ("int | int", WHOLE),
        ("int | Any", {}),
        ("Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
        ("Literal[1, 'b', None, True]", {"enum": [1, "b", None, True]}),
        ("Literal[-1]", {"type": "integer", "enum": [-1]}),
        ("Annotated[int, 'How many.', 3]", {"type": "integer", "description": "How many."}),
        ("'list[int]'", {"type": "array", "items": WHOLE}),
        ("list['int | None']", {"type": "array", "items": {"anyOf": [WHOLE, NONE]}}),
        ("Colour", {"type": "string", "enum": ["red", "blue"]}),
        ("Size", {"type": "string", "enum": ["big"]}),
        ("Level", {"type": "integer", "enum": [1]}),
        (
            "Point",
            {
                "type": "object",
                "properties": {"x": NUMBER, "y": NUMBER},
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_a_hint_has_a_schema(hint, found):
    assert schema(hint) == found


def test_fields_with_a_value_are_not_required():
    assert schema("Loose")["required"] == ["b"]
    assert schema("Order")["required"] == ["item", "odd"]
    assert list(schema("Order")["properties"]) == ["item", "count", "tags", "odd"]
    assert list(schema("Place")["properties"]) == ["x", "y", "name"]


def test_a_class_that_refers_to_itself_ends_somewhere():
    assert schema("Node")["properties"]["children"] == {
        "type": "array",
        "items": {"type": "object"},
    }


def test_a_name_may_stand_for_another_hint():
    alias = ast.parse("list[float]").body[0].value
    assert schema("Prices | None", {"Prices": alias})["anyOf"][0]["items"] == NUMBER


@pytest.mark.parametrize(
    ("hint", "repair"),
    [
        ("datetime", "Take it as str"),
        ("datetime.date", "Take it as str"),
        ("Decimal", "Take it as str or float"),
        ("Path", "make a Path of it"),
        ("bytes", "base64"),
        ("pd.DataFrame", "list[dict[str, Any]]"),
        ("np.ndarray", "Use list"),
        ("Callable[[int], str]", "Literal"),
        ("Iterator[int]", "Use list"),
        ("dict[int, str]", "dict[str, …]"),
        ("Unheard", "Use str, int"),
        ("list[Unheard]", "Use str, int"),
        ("list[int, str]", "Use str, int"),
        ("Plain", "Make it one"),
        ("Thing", "Make it one"),
        ("Literal[1.5]", "Write its values out"),
        ("Literal[x]", "Write its values out"),
        ("Optional[()]", "Use str"),
        ("f(x)", "Use str"),
        ("3", "Use str"),
        ("'('", "Use str"),
    ],
)
def test_a_hint_without_a_meaning_is_refused_with_its_line_and_a_repair(hint, repair):
    with pytest.raises(UnknownHint) as caught:
        schema(hint)
    assert caught.value.finding.line == 3
    assert repair in caught.value.finding.repair
