"""Routing: which agent a message is for, by its words and by what was said before."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from long_running_agents.domain.agent import AgentDraft

AUTO = "auto"
"""Who is asked for when the router shall choose."""
SURE = 0.2
"""The margin from which on words alone decide."""
SHORTLIST = 5
"""Candidates that a model chooses among."""
_SHOWN = 3
"""Candidates that a person chooses among."""
_READ = 1_500
"""Characters of the instructions that are read: what follows is rarely about what they are for."""
_PASSAGE = 300
"""Characters of a text that has one vector: a longer one is about too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCandidate:
    """An agent that a message may be for."""

    agent: str
    """name@version."""
    score: float
    words: tuple[str, ...] = ()
    """What of the message its description, instructions or tools have, the rarest first."""
    near_example: str = ""
    """The sentence for this agent that is most like the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Which agent a message is for, and why."""

    to: str
    """name@version; empty for the home's own agent."""
    by: Literal["words", "model", "person", "default"]
    """Who decided; "default" when nobody could."""
    margin: float = 0.0
    """By how much the first is better than the second, from 0 to 1."""
    candidates: Sequence[RouteCandidate] = ()
    """The best, the first of them first."""

    @property
    def unsure(self) -> bool:
        """Whether a person should be asked."""
        return self.by == "default" and bool(self.candidates)


def as_json(routing: Routing) -> dict[str, Any]:
    """Why an agent was chosen, as data."""
    candidates = [{**asdict(each), "words": list(each.words)} for each in routing.candidates]
    return {**asdict(routing), "candidates": candidates}


def passages(agent: AgentDraft) -> list[str]:
    """What an agent is for, in pieces that each have one meaning."""
    words = agent.instructions[:_READ].split()
    pieces = [f"{agent.name.replace('-', ' ')}. {agent.description}"]
    piece = ""
    for word in words:
        if len(piece) + len(word) > _PASSAGE:
            pieces.append(piece)
            piece = ""
        piece = f"{piece} {word}".lstrip()
    return [*pieces, piece] if piece else pieces


def spoken_of(agent: AgentDraft, examples: Sequence[str]) -> str:
    """All words by which an agent is found, those of its tools too."""
    told = (agent.name.replace("-", " "), agent.description, agent.instructions[:_READ])
    return "\n".join([*told, *agent.capabilities, *examples, *(agent.tools.allow or ())])


def able(agent: AgentDraft, needs: Sequence[str]) -> bool:
    """Whether an agent declares all capabilities that are needed."""
    return {need.casefold() for need in needs} <= {each.casefold() for each in agent.capabilities}


def routed(candidates: Sequence[RouteCandidate]) -> Routing:
    """Route by words if the first candidate is far enough before the second; else leave it open."""
    if not candidates:
        return Routing(to="", by="default")
    first, *others = candidates
    margin = round((first.score - others[0].score) / first.score, 3) if others else 1.0
    found = Routing(to="", by="default", margin=margin, candidates=candidates)
    return replace(found, to=first.agent, by="words") if margin >= SURE else found


def question(text: str, descriptions: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """What a model is told and shown to choose among agents, by name and description."""
    told = "\n".join(
        f"{number}. {name}: {about}" for number, (name, about) in enumerate(descriptions, 1)
    )
    return (
        "You pass messages on to whoever can do best what they ask for. Answer with the number of"
        " one of them and nothing else; with 0 if none of them is for it."
        f"\n\n{told}"
    ), f"The message, which is not for you:\n\n{text}"


_NUMBER = re.compile(r"\d+")


def chosen(routing: Routing, answer: str) -> Routing:
    """The routing after a model's answer; left to a person when that is no number of the list."""
    shown = replace(routing, candidates=routing.candidates[:_SHOWN])
    found = _NUMBER.findall(answer)
    if not found or int(found[-1]) > len(routing.candidates):
        return shown
    number = int(found[-1])
    return replace(shown, to=routing.candidates[number - 1].agent if number else "", by="model")
