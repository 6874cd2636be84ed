"""What the stories about works have in common."""

from tests.integration.stories import SESSION

from long_running_agents.domain.events import WorkPhaseChanged
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Terms
from long_running_agents.testing import call

DEEP = Terms(mode=Mode.DEEP_WORK)
FILE = {"kind": "file", "path": "out.txt", "contains": "heron"}


def task(title, **given):
    """A call that adds a task to a plan."""
    return call("manage_tasks", action="create", title=title, **given)


def done(number, result="done"):
    """A call that says that a task is done."""
    return call("manage_tasks", action="complete", task_id=number, result=result)


def write(path, content):
    """A call that writes a file."""
    return call("write_file", path=path, content=content)


async def settled(app, session=SESSION):
    """Wait until a session's work does not go on by itself; all about it."""
    while True:
        for turn in await app.turns.unfinished():
            await app.turns.settled(turn.id)
            break
        else:
            [work] = await app.works.every(limit=1, session_id=session)
            return await app.works.get(work.id)


async def phases(app, session=SESSION):
    """The phases a session's work has gone through."""
    told = [each.event for each in await app.sessions.events(session)]
    return [
        f"{event.phase}/{event.pause}" if event.pause else event.phase
        for event in told
        if isinstance(event, WorkPhaseChanged)
    ]
