"""A plan of one file, and models that follow it or wait."""

from tests.integration.stories import SESSION, ended
from tests.integration.works.stories import DEEP, FILE, done, settled, task, write

from long_running_agents.testing import hang, say

GOAL = "Write about herons"
PLANNED = [task("Write the file", criterion=FILE), say("One file is to be written.")]
CARRIED_OUT = [write("out.txt", "a grey heron"), done(1), say("It is written.")]
REVIEWED = [say("All is well.")]
WHOLE = [*PLANNED, *CARRIED_OUT, *REVIEWED]


async def planned(app, text=GOAL, session=SESSION, **options):
    """Begin a work, and wait until its plan is there or a person is asked."""
    await ended(app, text, session, terms=DEEP, **options)
    return (await settled(app, session)).work


async def approved(app, session=SESSION):
    """Begin a work, approve its plan, and wait until it does not go on by itself."""
    work = await planned(app, session=session)
    await app.works.approve(work.id)
    return (await settled(app, session)).work


def hanging(begun):
    """A reply that never comes, and says so."""

    def reply(_):
        begun.set()
        return hang()

    return reply


async def turns_of(app, session=SESSION):
    """The turns of a session as pairs: who began each, and how it stands."""
    return [(turn.origin, turn.status) for turn in await app.sessions.turns(session)]


async def called(app, session=SESSION):
    """The tools that ran in a session, in their order."""
    told = [each.event for each in await app.sessions.events(session)]
    return [event.tool for event in told if event.type == "tool_result"]
