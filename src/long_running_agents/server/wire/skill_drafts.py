"""Skills as somebody wishes them, and what is said about those that there are."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.skill import Brought, Draft, Example, File, Kind, Limits, Origin
from long_running_agents.server.parameters import PLAIN
from long_running_agents.server.wire.shapes import Asked

_DEEPEST = 50
_LONGEST = 200_000
_LONGEST_FILE = 1 << 20
_LONGEST_MODULE = 4 << 20
_MOST_FILES = 100
_MOST_EXAMPLES = 50
_MOST_MODULES = 200
_LAST = 2**53 - 1

_CELSIUS = (
    "def celsius(fahrenheit: float) -> float:\n"
    '    """Turn degrees of Fahrenheit into degrees of Celsius."""\n'
    "    return (fahrenheit - 32) * 5 / 9\n"
)


def _shallow(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    # What is nested deeper can be read, and then not be written any more.
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST):
        inner = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [part for each in inner if isinstance(each, list) for part in each]
        if not level:
            return value
    raise ValueError(f"it is nested deeper than {_DEEPEST} levels")


Values = Annotated[dict[str, JsonValue], AfterValidator(_shallow)]
"""A JSON object that is not nested too deeply."""
VersionNumber = Annotated[int, Field(ge=1, le=_LAST)]


class ExampleCall(Asked):
    """A call to try a function with."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"args": {"fahrenheit": 212}, "result": 100}}
    )

    args: Values
    result: JsonValue = None
    """What it must return; leave it out when any result will do."""

    def example(self) -> Example:
        """The example that is meant."""
        checked = "result" in self.model_fields_set
        return Example(args=self.args, result=self.result, checked=checked)


class GuideFile(Asked):
    """A file of a guide."""

    path: str = Field(min_length=1, max_length=300, pattern=PLAIN)
    content: str = Field(max_length=_LONGEST_FILE)


class SkillDraft(Asked):
    """A skill as somebody wishes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "source": _CELSIUS,
                "examples": [{"args": {"fahrenheit": 212}, "result": 100}],
            }
        }
    )

    source: str = Field(min_length=1, max_length=_LONGEST)
    """Python; of a guide, its SKILL.md."""
    kind: Kind = Kind.FUNCTION
    name: str = Field(default="", max_length=200, pattern=PLAIN)
    """What the tool is to be called; the function's own name unless given."""
    function: str = Field(default="", max_length=200, pattern=PLAIN)
    """Which function of the source; else the one called as the tool, or the last public one."""
    description: str = Field(default="", max_length=5000)
    """Instead of the docstring."""
    examples: list[ExampleCall] = Field(default=[], max_length=_MOST_EXAMPLES)
    timeout: float | None = Field(default=None, gt=0, le=600)
    """Seconds that a call may take; the usual unless given."""
    memory: int | None = Field(default=None, ge=32, le=65_536)
    """Megabytes that a call may use; the usual unless given."""
    safe_mode: bool = True
    """Whether only allowed modules may be imported."""
    allowed_imports: (
        list[Annotated[str, Field(min_length=1, max_length=200, pattern=PLAIN)]] | None
    ) = Field(default=None, max_length=_MOST_MODULES)
    """Instead of the allowed modules of the settings."""
    input_schema: Values | None = None
    """What its arguments are declared to be, beside what the signature says."""
    output_schema: Values | None = None
    """What its result is declared to be."""
    is_async: bool | None = None
    """Whether it is declared to be asynchronous."""
    requires_context: bool | None = None
    """Whether it is declared to take the context of the call."""
    label: str = Field(default="", max_length=100, pattern=PLAIN)
    """What you call this version, such as 1.0."""
    files: list[GuideFile] = Field(default=[], max_length=_MOST_FILES)
    """The other files of a guide."""

    def draft(self, usual: SkillSettings) -> Draft:
        """The draft that is meant.

        Args:
            usual: What a call may use where nothing is said.
        """
        return Draft(
            source=self.source,
            brought=Brought(origin=Origin.PERSON),
            kind=self.kind,
            name=self.name,
            function=self.function,
            description=self.description,
            examples=tuple(each.example() for each in self.examples),
            limits=self._limits(usual),
            safe_mode=self.safe_mode,
            allowed_imports=None if self.allowed_imports is None else tuple(self.allowed_imports),
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            is_async=self.is_async,
            requires_context=self.requires_context,
            label=self.label,
            files=tuple(File(path=each.path, content=each.content) for each in self.files),
        )

    def _limits(self, usual: SkillSettings) -> Limits | None:
        if self.timeout is None and self.memory is None:
            return None
        return Limits(timeout=self.timeout or usual.timeout, memory=self.memory or usual.memory)


class NewSkill(SkillDraft):
    """A skill to be kept."""

    enable: bool = False
    """Whether it is approved and used at once."""


class SkillModule(Asked):
    """A Python module, all public functions of which are to be skills."""

    model_config = ConfigDict(json_schema_extra={"example": {"source": _CELSIUS}})

    source: str = Field(min_length=1, max_length=_LONGEST_MODULE)


class WhichVersion(Asked):
    """The version that is meant."""

    model_config = ConfigDict(json_schema_extra={"example": {"version": 2}})

    version: VersionNumber | None = None
    """Unless given: the newest that waits, or when rolling back the one that was used before."""


class Rest(Asked):
    """Why a skill is to rest."""

    model_config = ConfigDict(json_schema_extra={"example": {"note": "its results are stale"}})

    note: str = Field(default="", max_length=1000)


class Call(Asked):
    """A call to try."""

    model_config = ConfigDict(json_schema_extra={"example": {"args": {"fahrenheit": 212}}})

    args: Values
    version: VersionNumber | None = None
    """The one in use unless given, or the newest."""
