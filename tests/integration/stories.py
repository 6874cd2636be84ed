"""What the stories about turns have in common."""

from pydantic_ai import FunctionToolset

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import Effect
from long_running_agents.tools.deps import effect

SESSION = SessionId("talk")


async def ended(app, text, session=SESSION, **options):
    """Send a message and wait until its turn has come to rest."""
    turn = await app.turns.start(session, text, **options)
    return await app.turns.settled(turn.id)


async def told(app, kind, session=SESSION):
    """The events of one kind."""
    events = [recorded.event for recorded in await app.sessions.events(session)]
    return [event for event in events if isinstance(event, kind)]


async def hear(app, kind, after=0, session=SESSION, listening=None):
    """Listen until news of a kind arrives, from now on or with an ear that is open already."""
    listening = listening or app.turns.listen(session, after=after)
    async for news in listening:
        body = getattr(news, "delta", None) or getattr(news, "event", None)
        if isinstance(body, kind):
            await listening.aclose()
            return body
    raise AssertionError("the bell went silent")


def hands(function, kind=None):
    """A toolset of one tool that can do nothing else; ONCE unless told otherwise."""
    tools = FunctionToolset(id="hands")
    tools.add_function(function, metadata=effect(kind or Effect.ONCE))
    return tools
