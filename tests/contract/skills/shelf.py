"""Skills by the thousand, and a model that weighs what it is asked."""

from datetime import UTC, datetime
from itertools import islice, product

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.context_window import weight
from long_running_agents.domain.skill import (
    Interface,
    SkillApproval,
    SkillCreator,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillTrial,
    Version,
    digest_of,
)
from long_running_agents.store import skills
from long_running_agents.testing import ScriptedModel
from long_running_agents.tools.selection import takes

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
_VERBS = {
    "convert": "Convert {} from one unit to another.",
    "count": "Count {} and say how many of each kind there are.",
    "sort": "Sort {} by what matters most to the reader.",
    "compare": "Compare {} and tell what is different.",
    "format": "Write {} in the way that a report wants them.",
    "check": "Check {} for mistakes, and list those that were found.",
    "merge": "Merge {} from two lists, without those that are there twice.",
    "rank": "Rank {} by a score, the best first.",
    "group": "Group {} by a field that they share.",
    "estimate": "Estimate {} of next month from those of the last ones.",
}
_NOUNS = (
    "invoices prices weights dates names tickets orders routes flights meals recipes plants birds "
    "stars tides winds rents loans taxes wages shares bonds coins stamps books pages words verses "
    "songs chords games scores teams players races boats trains roads bridges maps rivers lakes "
    "hills caves soils seeds crops herds bees hives wines teas beans breads cheeses oils salts "
    "metals stones gems woods papers inks paints brushes photos films plays scenes roles masks "
    "robes hats shoes gloves belts bags boxes crates pallets shelves rooms floors doors locks "
    "keys lamps bulbs wires pipes pumps valves gears engines wheels tyres brakes sensors clocks "
    "screws"
)
_SOURCE = '''def {name}(items: list[str], limit: int = 10) -> list[str]:
    """{told}

    Args:
        items: What there is.
        limit: How many are wanted.
    """
    {body}
'''
_BODY = "return sorted(items)[:limit]"
_PARAMETERS = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What there is.",
        },
        "limit": {"type": "integer", "default": 10, "description": "How many are wanted."},
    },
    "required": ["items"],
    "additionalProperties": False,
}
_RETURNS = {"type": "array", "items": {"type": "string"}}


def made(count: int, owner: str, body: str = _BODY) -> list[Version]:
    """So many skills, up to a thousand, each with a name and words of its own."""
    pairs = islice(product(_NOUNS.split(), _VERBS.items()), count)
    return [
        _version(f"{verb}_{noun}", told.format(noun), owner, body) for noun, (verb, told) in pairs
    ]


def _version(name: str, told: str, owner: str, body: str) -> Version:
    source = _SOURCE.format(name=name, told=told, body=body)
    return Version(
        owner=owner,
        name=name,
        number=1,
        kind=SkillKind.FUNCTION,
        digest=digest_of(source),
        source=source,
        interface=Interface(
            function=name, description=told, parameters=_PARAMETERS, returns=_RETURNS
        ),
        limits=SkillLimits(),
        safe_mode=True,
        allowed_imports=(),
        examples=(),
        files=(),
        label="",
        brought=SkillOrigin(origin=SkillCreator.PERSON),
        created_at=NOON,
        warnings=(),
        trial=SkillTrial(at=NOON, passed=True),
        standing=SkillApproval.APPROVED,
        decided_by="person",
        decided_at=NOON,
    )


async def shelve(app, count: int, body: str = _BODY) -> None:
    """Put so many skills into a home, all in use; nobody has listed them yet."""
    versions = made(count, app.settings.owner, body)

    def work(tx):
        for version in versions:
            skills.put(tx, version)
            skills.use(tx, version, NOON)

    await app.database.write(work)


class WeighingModel(ScriptedModel):
    """Keeps how many tokens the tools and the instructions of each request take."""

    def __init__(self, replies):
        super().__init__(replies)
        self.tokens = []

    async def _open(self, messages, parameters):
        told = [getattr(message, "instructions", None) or "" for message in messages]
        self.tokens.append(
            takes(parameters.declared_function_tools) + estimate_tokens(weight(told[-1]))
        )
        return await super()._open(messages, parameters)
