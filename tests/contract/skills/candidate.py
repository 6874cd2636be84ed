"""A candidate: a function that somebody wishes to be a tool."""

from dataclasses import dataclass
from textwrap import dedent

from long_running_agents.domain.skill import (
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillLimits,
    SkillOrigin,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One draft, and what is to become of it."""

    name: str
    source: str
    why: str
    """What is good about it, or bad."""
    says: str = ""
    """What the refusal has to say; empty when there must be none."""
    examples: tuple[SkillExample, ...] = ()
    limits: SkillLimits | None = None

    def draft(self, places: dict[str, str]) -> SkillDraft:
        """What a model would hand in.

        Args:
            places: What the place-holders of the sources stand for.
        """
        source = dedent(self.source).lstrip("\n")
        for name, value in places.items():
            source = source.replace(f"<{name}>", value)
        return SkillDraft(
            source=source,
            name=self.name,
            examples=self.examples,
            limits=self.limits,
            brought=SkillOrigin(origin=SkillCreator.MODEL),
        )


def shows(result: object, **args: object) -> SkillExample:
    """A call with its result."""
    return SkillExample(args=args, result=result, checked=True)


def works(**args: object) -> SkillExample:
    """A call that works, whatever it returns."""
    return SkillExample(args=args)
