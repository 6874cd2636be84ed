"""Reading the web: fetching pages in three ways, and searching."""

import secrets
from typing import Annotated

from pydantic import Field
from pydantic_ai import FunctionToolset, RunContext

from long_running_agents.domain.tool import Effect, Power
from long_running_agents.errors import UsageError
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect
from long_running_agents.web.frame import framed, listed
from long_running_agents.web.web import Web

Start = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=20)]


def web_tools() -> FunctionToolset[TurnDeps]:
    """The toolset."""
    tools = FunctionToolset[TurnDeps](id="web")
    _add_plain(tools)
    _add_browsing(tools)
    _add_searching(tools)
    return tools


def _add_plain(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ, powers={Power.SEND}, foreign=True))
    async def web_fetch(ctx: RunContext[TurnDeps], url: str, start: Start = 0) -> str:
        """Read a page, a text or a PDF of the web as Markdown.

        Args:
            ctx: The turn that asks.
            url: Its address, with http:// or https://.
            start: How many characters to skip, to read on in a long page.
        """
        return await _fetched(_web(ctx), url, start)

    @tools.tool(metadata=effect(Effect.READ, alias=True, powers={Power.SEND}, foreign=True))
    async def fetch(ctx: RunContext[TurnDeps], url: str, start: Start = 0) -> str:
        """Read a page of the web; another name for web_fetch.

        Args:
            ctx: The turn that asks.
            url: Its address, with http:// or https://.
            start: How many characters to skip, to read on in a long page.
        """
        return await _fetched(_web(ctx), url, start)


def _add_browsing(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ, powers={Power.SEND}, foreign=True))
    async def web_fetch_js(ctx: RunContext[TurnDeps], url: str, start: Start = 0) -> str:
        """Read a page as a real browser shows it; slower, for pages that scripts make.

        Args:
            ctx: The turn that asks.
            url: Its address, with http:// or https://.
            start: How many characters to skip, to read on in a long page.
        """
        return await _rendered(_web(ctx), url, start)

    @tools.tool(metadata=effect(Effect.READ, powers={Power.SEND}, foreign=True))
    async def web_fetch_stealth(ctx: RunContext[TurnDeps], url: str, start: Start = 0) -> str:
        """Read a page that turns robots away, with a browser that looks like a person's.

        Args:
            ctx: The turn that asks.
            url: Its address, with http:// or https://.
            start: How many characters to skip, to read on in a long page.
        """
        return await _rendered(_web(ctx), url, start, stealth=True)


def _add_searching(tools: FunctionToolset[TurnDeps]) -> None:
    @tools.tool(metadata=effect(Effect.READ, powers={Power.SEND}, foreign=True))
    async def web_search(ctx: RunContext[TurnDeps], query: str, limit: Limit = 8) -> str:
        """Search the web; the results are titles, addresses and snippets for web_fetch to read.

        Args:
            ctx: The turn that asks.
            query: What to look for.
            limit: How many results.
        """
        results = await _web(ctx).search(query, limit)
        return listed(query, results, ctx.deps.clock.now(), _mark())


def _web(ctx: RunContext[TurnDeps]) -> Web:
    if ctx.deps.web is None:
        raise UsageError(
            "The web is switched off.", hint="agent.tools.enable.fetch switches it on."
        )
    return ctx.deps.web


async def _fetched(web: Web, url: str, start: int) -> str:
    return framed(await web.fetch(url, start=start), start, web.part, _mark())


async def _rendered(web: Web, url: str, start: int, *, stealth: bool = False) -> str:
    page = await web.render(url, stealth=stealth, start=start)
    return framed(page, start, web.part, _mark())


def _mark() -> str:
    return secrets.token_hex(8)
