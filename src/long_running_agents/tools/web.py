"""The tools for the web: fetching pages in three ways, and searching."""

import secrets
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext, Tool

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import UsageError
from long_running_agents.tools.deps import TurnDeps, effect
from long_running_agents.web.page import Reading, framed, listed

if TYPE_CHECKING:
    from long_running_agents.web.web import Web

Start = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=20)]


def web_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    also = "Read a page of the web; another name for web_fetch."
    scripts = "Read a page in a real browser; slower, for pages that scripts make."
    return FunctionToolset(
        [
            _fetching("web_fetch", "Read a page, a text or a PDF of the web as Markdown."),
            _fetching("fetch", also, alias="web_fetch"),
            _fetching("web_fetch_js", scripts, "browser"),
            _fetching("web_fetch_stealth", "Read a page that turns robots away.", "stealth"),
            Tool(web_search, metadata=_metadata()),
        ],
        id="web",
    )


def _fetching(
    name: str, description: str, reading: Reading = "plain", alias: str = ""
) -> Tool[TurnDeps]:
    async def fetch(ctx: RunContext[TurnDeps], url: str, start: Start = 0) -> str:
        """Read a page.

        Args:
            url: With http:// or https://.
            start: Characters to skip.
        """
        web = _web(ctx)
        page = await web.fetch(url, start=start, reading=reading)
        return framed(page, start, web.part, _mark())

    return Tool(fetch, name=name, description=description, metadata=_metadata(alias))


def _metadata(alias: str = "") -> dict[str, Any]:
    return effect(Effect.READ, alias=alias, powers={Power.SEND}, foreign=True)


async def web_search(ctx: RunContext[TurnDeps], query: str, limit: Limit = 8) -> str:
    """Search the web for titles, addresses and snippets.

    Args:
        query: What to look for.
        limit: How many results.
    """
    results = await _web(ctx).search(query, limit)
    return listed(query, results, ctx.deps.clock.now(), _mark())


def _web(ctx: RunContext[TurnDeps]) -> "Web":
    if ctx.deps.web is None:
        raise UsageError(
            "The web is switched off.", hint="agent.tools.enable.fetch switches it on."
        )
    return ctx.deps.web()


def _mark() -> str:
    return secrets.token_hex(8)
