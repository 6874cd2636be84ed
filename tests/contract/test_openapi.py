"""What the server says of itself is what it does, whatever is sent to it."""

import asyncio
import threading
from contextlib import contextmanager

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from tests.integration.server.serving import listening_app
from tests.integration.server.skills import SHOUT

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, Viewer
from long_running_agents.domain.skill import SkillCreator, SkillOrigin
from long_running_agents.domain.skill import SkillDraft as Skill
from long_running_agents.server.asgi import create_app
from long_running_agents.testing import Rule, Script, ScriptedModel, call, make_app, say

KNOWN = {"session_id": "known", "number": 1, "name": "shout"}
"""Things that are there: what is made up never is."""
PATHS = ["notes/herons.md", "SOUL.md", "../x", "/etc/passwd", ".env", "a\x00b", "notes", "."]
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = 12
PULL = ("post", "/api/models/pull")
SCRIPT = Script(
    [
        Rule("herons", (call("create_task", title="Count"), say("Two herons."))),
        Rule("", (say("Whatever you say."),)),
    ]
)


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@contextmanager
def server(home):
    """A server on a real socket, in a thread of its own; yields its address."""
    ready, done = threading.Event(), []

    async def serve():
        model = ScriptedModel(SCRIPT)
        async with make_app(home, model=model) as app:
            turn = await app.turns.start(SessionId("known"), "How many herons?")
            await app.turns.settled(turn.id)
            await app.memories.write(
                Viewer(owner="me"), MemoryDraft(content="The heron eats frogs.")
            )
            app.hands.of("me").workspace.write("notes/herons.md", b"Two.")
            draft = Skill(source=SHOUT, brought=SkillOrigin(origin=SkillCreator.PERSON))
            await app.workshop.library.create(draft, enable=True, by="person")
            async with listening_app(create_app(app, SystemClock())) as address:
                done.extend([address, asyncio.get_running_loop(), asyncio.Event()])
                ready.set()
                await done[2].wait()

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert ready.wait(300)
    try:
        yield done[0]
    finally:
        done[1].call_soon_threadsafe(done[2].set)
        thread.join(300)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    with server(tmp_path_factory.mktemp("home")) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json", timeout=120)


def attack(operation, mode, examples):
    """Send one operation what its description allows, or forbids."""

    @seed(1)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def send(case, data):
        for name, value in KNOWN.items():
            if name in (case.path_parameters or {}) and data.draw(st.booleans()):
                case.path_parameters[name] = value
        if "path" in (case.query or {}) and data.draw(st.booleans()):
            case.query["path"] = data.draw(st.sampled_from(PATHS))
        if isinstance(case.body, dict) and isinstance(case.body.get("base_url"), str):
            # Made up addresses are not ours to ask.
            case.body["base_url"] = "http://127.0.0.1:9"
        case.call_and_validate(checks=CHECKS, timeout=120)

    send()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_nothing_that_is_sent_breaks_the_server_or_what_it_says_of_itself(described, mode):
    failures = []
    operations = [result.ok() for result in described.get_all_operations()]
    # That would fetch half a gigabyte.
    operations = [each for each in operations if (each.method, each.path) != PULL]
    # What is deleted is known no more to those that come after.
    for operation in sorted(operations, key=lambda each: each.method == "delete"):
        try:
            attack(operation, mode, EXAMPLES)
        except Unsatisfiable:
            # It takes nothing, or whatever can be written: nothing of it can be wrong.
            assert not operation.get_request_payload_content_types()
        except Exception as error:  # noqa: BLE001 - every kind of failure is told below
            failures.append(f"{operation.method} {operation.path}: {error}")
    assert not failures, "\n\n".join(failures)
