"""Scripted models that carry out plans, each in its own way."""

from contextlib import asynccontextmanager

from pydantic_ai.messages import ModelRequest, SystemPromptPart
from tests.integration.stories import SESSION
from tests.integration.works.stories import settled

from long_running_agents.testing import ScriptedModel, say
from long_running_agents.web.fetch import Network

MOST = 30
"""Requests after which a model that is still asked has been sent in circles."""


class Player(ScriptedModel):
    """Gives some replies, and then the same one again and again; it hears what the program says."""

    def __init__(
        self, *replies, then="All is done, and every task is proven.", most=MOST, finish=None
    ):
        last = say(then) if isinstance(then, str) else then
        super().__init__([*replies, *[last] * (most - len(replies))])
        self._finish = finish
        self.told = []
        """What the program says in each request: its instructions, and what stands at its end."""

    @asynccontextmanager
    async def request_stream(self, *args):
        async with super().request_stream(*args) as stream:
            stream.finish_reason = self._finish or stream.finish_reason
            yield stream

    async def _open(self, messages, parameters):
        own = [part for part in messages[-1].parts if said_by_program(part)]
        parts = [*(parameters.instruction_parts or ()), *own]
        self.told.append("\n".join(str(part.content) for part in parts))
        return await super()._open(messages, parameters)


def said_by_program(part):
    """Whether a part of a request is the program's, where a model has no role for that."""
    return str(getattr(part, "content", "")).startswith("<system>")


def judging(verdict, *replies):
    """Replies that are given in order, and what a judge says whenever it is asked."""
    left = iter(replies)

    def reply(messages):
        first = messages[0]
        asked = isinstance(first, ModelRequest) and isinstance(first.parts[0], SystemPromptPart)
        judges = asked and first.parts[0].content.startswith("You judge")
        given = verdict if judges else next(left, say("All is done, and every task is proven."))
        return say(given) if isinstance(given, str) else given

    return reply


def prompts(model):
    """What each request asks last, if a turn begins with it."""
    said = [
        [part for part in request[-1].parts if not said_by_program(part)]
        for request in model.requests
    ]
    return [str(getattr(parts[0], "content", "")) for parts in said]


async def carried_out(app, *plan, answer=None, **options):
    """Have a plan approved and carried out, to where it does not go on by itself."""
    work = await app.works.start("Write about herons", session_id=SESSION, plan=plan, **options)
    if work.pause is None and work.phase == "plan_ready":
        await app.works.approve(work.id)
    return await settled(app)


def workspace(home, **files):
    """The workspace of a home with files in it; two underscores stand for a slash."""
    folder = home / "workspace"
    for name, content in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def see_loopback(app, port):
    """Let this machine be the open internet for an app, behind any name."""

    async def here(_host, _port):
        return ["127.0.0.1"]

    fetcher = app.hands.of(app.settings.owner).web().fetcher
    fetcher.network = Network(resolve=here, public="127.0.0.1".__eq__, ports=frozenset({port}))
