"""Which tools of a server are offered, and under which names."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from long_running_agents.mcp import names
from long_running_agents.mcp.schema import UnusableSchema, settled
from long_running_agents.mcp.spec import ServerSpec
from long_running_agents.mcp.talk import Listing, Offer, Refusal
from long_running_agents.mcp.texts import readable

MOST_TOOLS = 100
LONGEST_DESCRIPTION = 1000
LARGEST_SCHEMA = 20_000
_LONGEST_NAME = 200


def listed(
    spec: ServerSpec, tools: Iterable[tuple[str, str, Mapping[str, Any]]], taken: Collection[str]
) -> Listing:
    """Choose among the tools that a server has.

    Args:
        spec: The server, and what may be done with it.
        tools: Each tool's own name, its description and its schema.
        taken: Names that no foreign tool may have.
    """
    offers: dict[str, Offer] = {}
    refused: list[Refusal] = []
    for tool, description, schema in tools:
        name = names.exposed(spec.name, tool)
        try:
            if reason := _objection(spec, tool, name, {*taken, *offers}):
                refused.append(Refusal(readable(tool, _LONGEST_NAME), reason))
            elif len(offers) == MOST_TOOLS:
                refused.append(Refusal(tool, f"more than {MOST_TOOLS} tools"))
            else:
                offers[name] = Offer(
                    name=name,
                    tool=tool,
                    description=_described(spec.name, description),
                    schema=_fitting(schema),
                )
        except UnusableSchema as error:
            refused.append(Refusal(tool, str(error)))
    return Listing(offers=tuple(offers.values()), refused=tuple(refused))


def _objection(spec: ServerSpec, tool: str, name: str, taken: Collection[str]) -> str:
    """Why a tool is not offered; empty when it is."""
    if not tool or len(tool) > _LONGEST_NAME:
        return "its name is empty or too long"
    if not spec.offers(tool):
        return "mcp.json does not allow it"
    if name in taken:
        return f"the name {name} is taken"
    asking = [names.pattern(spec.name, given) for given in spec.require_approval]
    if spec.asks(tool) and not names.fits(name, asking):
        # The gate knows the name that was made shorter, and must not overlook it.
        return "its name is too long for require_approval"
    return ""


def _described(server: str, description: str) -> str:
    """The server's words, marked as such."""
    text = readable(description.strip(), LONGEST_DESCRIPTION)
    return f"[From the foreign server {server!r}] {text}"


def _fitting(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = settled(dict(schema))
    if len(json.dumps(found)) > LARGEST_SCHEMA:
        raise UnusableSchema("its schema is too large")
    return found
