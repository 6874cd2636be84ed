"""Pictures: shown to models that see, kept once, and refused by name where nobody sees them."""

import asyncio
import base64

import openai
import pytest
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart
from sqlalchemy import text
from tests.contract.serving import serving
from tests.contract.test_openai_client import talking
from tests.integration.server.serving import served
from tests.integration.server.windows import window
from tests.integration.stories import SESSION, ended

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.picture import LARGEST, picture
from long_running_agents.domain.turn import Terms, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.models.factory import weigh
from long_running_agents.models.quirks import Capabilities, ability_of
from long_running_agents.testing import Rule, ScriptedModel, call, fail, hang, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
URL = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
REFUSAL = "image input is not supported - hint: you may need to provide the mmproj"


def shown(*urls, words="What is this?"):
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": [{"type": "text", "text": words}, *parts]}


def blind(*replies):
    """A model that is known to see nothing."""
    model = ScriptedModel(list(replies))
    model.ability = Capabilities(pictures=False)
    return model


def seen(messages):
    """The pictures that a model was sent."""
    parts = [part for each in messages for part in each.parts if isinstance(part, UserPromptPart)]
    items = [item for part in parts if not isinstance(part.content, str) for item in part.content]
    return [item.data for item in items if isinstance(item, BinaryContent)]


async def stored(app):
    """Everything in the database but the pictures themselves, and how many of those there are."""

    def work(tx):
        bodies = tx.execute(
            text("SELECT body FROM messages UNION ALL SELECT client_tools FROM turns")
        )
        kept = tx.execute(text("SELECT count(*) FROM pictures")).scalar_one()
        return " ".join(str(body) for (body,) in bodies), kept

    return await app.database.read(work)


async def test_a_picture_goes_to_the_model_and_stays_in_the_conversation(tmp_path):
    replies = call("create_task", title="look"), say("A dot."), say("Red."), say("Yes.")
    async with talking(tmp_path, *replies) as (app, model, client):
        create = client.chat.completions.create
        messages = [shown(URL, URL)]
        first = await create(model="lra", messages=messages)
        messages += [first.choices[0].message.model_dump(exclude_none=True)]
        messages += [{"role": "user", "content": "What colour?"}]
        await create(model="lra", messages=messages)
        assert [seen(each) for each in model.requests] == [[PIXEL]] * 3
        written, kept = await stored(app)
        assert (base64.b64encode(PIXEL).decode() in written, kept) == (False, 1)
        [preview] = await app.sessions.previews()
        assert (preview.turns, preview.session.title) == (2, "What is this?")
        fork = await app.sessions.fork(preview.session.id)
        await app.sessions.delete(preview.session.id)
        await ended(app, "Still there?", session=fork.id)
        assert seen(model.requests[-1]) == [PIXEL]
        await app.sessions.delete(fork.id)
        assert (await stored(app))[1] == 0


async def test_responses_take_pictures_without_words(tmp_path):
    async with talking(tmp_path, say("A dot.")) as (app, model, client):
        item = {"role": "user", "content": [{"type": "input_image", "image_url": URL}]}
        done = await client.responses.create(model="lra", input=[item])
        [preview] = await app.sessions.previews()
    assert done.output_text == "A dot."
    assert (seen(model.requests[0]), preview.session.title) == ([PIXEL], "[picture]")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.org/a.png", "not fetched from an address"),
        ("file:///etc/passwd", "not fetched from an address"),
        ("picture:0.png", "not fetched from an address"),
        ("data:image/png;base64,x", "not valid base64"),
        ("data:image/png;base64,PHN2Zz4=", "no PNG, JPEG, GIF or WebP"),
    ],
)
async def test_what_is_no_picture_is_refused(tmp_path, url, said):
    async with talking(tmp_path) as (app, _, client):
        with pytest.raises(openai.BadRequestError, match=said):
            await client.chat.completions.create(model="lra", messages=[shown(url)])
        with pytest.raises(openai.BadRequestError, match="at most 8"):
            await client.chat.completions.create(model="lra", messages=[shown(*[URL] * 9)])
        assert await app.sessions.count() == 0


def test_a_picture_has_a_bound():
    with pytest.raises(Exception, match=f"more than {LARGEST} bytes"):
        picture(PIXEL + bytes(LARGEST))


async def test_a_model_that_sees_nothing_is_not_asked_when_that_is_known(tmp_path):
    async with talking(tmp_path, model=blind()) as (app, model, client):
        with pytest.raises(openai.BadRequestError, match="sees no pictures") as refused:
            await client.chat.completions.create(model="lra", messages=[shown(URL)])
        assert refused.value.code == "cannot_see"
        assert "agent.model.pictures" in refused.value.message
        assert (model.requests, await app.sessions.count()) == ([], 0)


async def test_a_server_that_refuses_pictures_is_believed(tmp_path):
    async with serving(fail(400, message=REFUSAL, times=None)) as (server, model):
        async with talking(tmp_path, model=model) as (app, _, client):
            for _ in range(2):
                with pytest.raises(openai.BadRequestError, match="sees no pictures"):
                    await client.chat.completions.create(model="lra", messages=[shown(URL)])
            [preview] = await app.sessions.previews()
            [turn] = await app.sessions.turns(preview.session.id)
            assert turn.status is TurnStatus.FAILED
        assert len(server.requests) == 1
        assert ability_of(model).pictures is False


async def test_old_pictures_are_left_out_for_a_model_that_sees_nothing(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("A dot.")])) as app:
        await ended(app, "What is this?", terms=Terms(pictures=(picture(PIXEL),)))
    model = blind(say("I cannot tell."))
    async with make_app(tmp_path, model=model) as app:
        assert (await ended(app, "What colour?")).answer == "I cannot tell."
    assert seen(model.requests[0]) == []
    assert "cannot be seen now" in str(model.requests[0][0].parts[0].content)


async def test_a_turn_that_goes_on_has_its_picture(tmp_path):
    for replies, asked in (([hang()], 1), ([call("create_task", title="x"), hang()], 2)):
        home = tmp_path / str(asked)
        model = ScriptedModel(replies)
        async with make_app(home, model=model) as app:
            turn = await app.turns.start(
                SESSION, "What is this?", terms=Terms(pictures=(picture(PIXEL),))
            )
            while len(model.requests) < asked:  # noqa: ASYNC110 - the model has no bell
                await asyncio.sleep(0.001)
        model = ScriptedModel([say("A dot.")])
        async with make_app(home, model=model) as app:
            assert (await app.turns.settled(turn.id)).answer == "A dot."
        assert seen(model.requests[0]) == [PIXEL]


async def test_what_is_attached_in_the_window_is_seen(tmp_path):
    async with served(tmp_path, say("A dot."), say("Text.")) as (app, client):
        model = app.models.choices(None)[0].model
        await client.put("/api/files/content", params={"path": "uploads/dot.png"}, content=PIXEL)
        await client.put("/api/files/content", params={"path": "uploads/a.txt"}, content=b"x")
        message = "What is this?\n\nAttached files:\n- uploads/a.txt\n- uploads/dot.png"
        answer = await client.post("/api/chat/s", json={"message": message})
        assert answer.json()["text"] == "A dot."
        assert seen(model.requests[0]) == [PIXEL]
        none = "And this?\n\nAttached files:\n- uploads/a.txt\n- uploads/gone.png"
        await client.post("/api/chat/t", json={"message": none})
        assert seen(model.requests[1]) == []


async def test_what_is_attached_is_seen_over_the_socket_and_refused_where_nobody_sees_it(tmp_path):
    message = "What is this?\n\nAttached files:\n- uploads/dot.png"
    for model, answer in ((ScriptedModel([say("A dot.")]), "done"), (blind(), "error")):
        async with (
            served(tmp_path / answer, model=model) as (_, client),
            window(client.base_url, "/ws/s") as socket,
        ):
            path = {"path": "uploads/dot.png"}
            await client.put("/api/files/content", params=path, content=PIXEL)
            await socket.send("message", content=message)
            heard = await socket.until("done", "error")
        assert heard["type"] == answer
        assert [seen(each) for each in model.requests] == ([[PIXEL]] if answer == "done" else [])
    assert heard["code"] == "cannot_see"


async def test_an_attached_picture_that_nobody_sees_is_refused(tmp_path):
    async with served(tmp_path, model=blind()) as (app, client):
        await client.put("/api/files/content", params={"path": "uploads/dot.png"}, content=PIXEL)
        message = "What is this?\n\nAttached files:\n- uploads/dot.png"
        answer = await client.post("/api/chat/s", json={"message": message})
        assert (answer.status_code, answer.json()["code"]) == (422, "cannot_see")
        assert await app.sessions.count() == 0


async def test_an_export_has_the_pictures_and_a_session_that_is_made_of_it_shows_them(tmp_path):
    async with make_app(tmp_path / "one", model=ScriptedModel([say("A dot.")])) as app:
        await ended(app, "What is this?", terms=Terms(pictures=(picture(PIXEL),)))
        lines, told = [await app.sessions.export(SESSION, form) for form in ("jsonl", "md")]
    assert "Pictures: 1, which are in the export in JSON lines" in told
    model = ScriptedModel([say("Red.")])
    async with make_app(tmp_path / "two", model=model) as app:
        copy = await app.sessions.take_over(lines)
        await ended(app, "What colour?", session=copy.id)
        assert await app.sessions.export(copy.id, "jsonl")
        forged = lines.replace(base64.b64encode(PIXEL).decode(), "PHN2Zz4=")
        with pytest.raises(UsageError, match="no PNG, JPEG, GIF or WebP"):
            await app.sessions.take_over(forged)
    assert seen(model.requests[0]) == [PIXEL]


def test_a_picture_counts_for_about_a_thousand_tokens():
    message = ModelRequest(
        parts=[UserPromptPart(["x", BinaryContent(PIXEL * 900, media_type="image/png")])]
    )
    assert 900 < estimate_tokens(weigh(message)) < 1100


async def test_the_wire_carries_the_picture(tmp_path):
    async with serving(Rule("", (say("A dot."),))) as (server, model):
        async with talking(tmp_path, model=model) as (_, _, client):
            await client.chat.completions.create(model="lra", messages=[shown(URL)])
        [asked] = server.requests
    [part] = [
        part
        for message in asked["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert part["image_url"]["url"] == URL
