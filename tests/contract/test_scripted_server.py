import asyncio
import json
import signal
import subprocess
import sys

import httpx2
import pytest
from tests.contract.chat_client import CALL, RESULT, ask, asking, script, serving, user

from long_running_agents.testing import (
    Reply,
    ScriptedServer,
    ToolCall,
    call,
    calls,
    cut,
    fail,
    garbage,
    hang,
    say,
)

pytestmark = pytest.mark.anyio


async def test_a_plain_answer_is_a_chat_completion():
    async with serving(script(say("Hello there.", thinking="Hm."))) as (_, client):
        answer = await ask(client, asking("hi"))

    assert answer.message == {
        "role": "assistant",
        "content": "Hello there.",
        "reasoning_content": "Hm.",
    }
    assert answer.finish == "stop"
    assert (
        answer.usage["total_tokens"]
        == answer.usage["prompt_tokens"] + answer.usage["completion_tokens"]
    )


async def test_a_stream_has_a_chunk_per_word_and_ends_with_usage_when_asked():
    body = asking("hi", stream=True, stream_options={"include_usage": True})
    async with serving(script(say("One two three.", input_tokens=5, output_tokens=3))) as (
        _,
        client,
    ):
        answer = await ask(client, body)
        silent = await ask(client, asking("hi", stream=True))

    assert [delta.get("content") for delta in answer.deltas] == ["", "One ", "two ", "three.", None]
    assert answer.finish == "stop"
    assert answer.usage == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    assert silent.usage is None
    assert len(answer.ids) == 1


async def test_parallel_calls_come_whole_and_in_pieces():
    reply = calls(call("look", where="häuser"), ToolCall("wait", id="w1"))
    async with serving(script(reply)) as (_, client):
        whole = await ask(client, asking("hi"))
        pieces = await ask(client, asking("hi", stream=True))

    assert whole.finish == pieces.finish == "tool_calls"
    assert [
        (c["function"]["name"], json.loads(c["function"]["arguments"]))
        for c in whole.message["tool_calls"]
    ] == [
        ("look", {"where": "häuser"}),
        ("wait", {}),
    ]
    assert whole.message["tool_calls"][1]["id"] == "w1"
    assert whole.message["tool_calls"][0]["id"]
    for index, arguments in enumerate([{"where": "häuser"}, {}]):
        parts = [c["function"]["arguments"] for c in pieces.calls if c["index"] == index]
        assert len(parts) == 3
        assert json.loads("".join(parts)) == arguments


async def test_the_reply_follows_from_the_history():
    async with serving(script(call("look"), say("done"))) as (_, client):
        history = [user("go"), {"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT]
        first = await ask(client, asking("go"))
        second = await ask(client, {"messages": history})

    assert first.message["tool_calls"]
    assert second.text == "done"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_status_is_served_as_often_as_told_and_then_gives_way(stream):
    async with serving(script(fail(429, 7, "slow down", times=2), say("ok"))) as (_, client):
        refused = await client.post("/chat/completions", json=asking("x", stream=stream))
        answers = [await ask(client, asking("x", stream=stream)) for _ in range(2)]

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert refused.json()["error"]["message"] == "slow down"
    assert [answer.status for answer in answers] == [429, 200]
    assert answers[1].text == "ok"


async def test_a_cut_stream_breaks_the_connection_in_the_middle_of_an_event():
    received = b""
    async with serving(script(cut(2, "one two three four"), say("ok"))) as (_, client):
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete chunked read"):  # noqa: PT012
            async with client.stream(
                "POST", "/chat/completions", json=asking("x", stream=True)
            ) as response:
                async for data in response.aiter_raw():
                    received += data
        again = await ask(client, asking("x", stream=True))

    assert b'"one "' in received
    assert b'"two "' in received
    assert b'"three "' not in received
    assert not received.endswith(b"\n\n")
    assert again.text == "ok"


async def test_a_stream_can_be_cut_after_its_last_chunk_and_inside_a_call():
    inside_call = Reply(calls=(ToolCall("look", {"a": 1}),), failure=cut(1).failure)
    async with serving(script(cut(99, "one"), inside_call, say("ok"))) as (_, client):
        for _ in range(2):
            with pytest.raises(httpx2.RemoteProtocolError):
                await ask(client, asking("x", stream=True))
        assert (await ask(client, asking("x"))).text == "ok"


async def test_a_cut_body_is_shorter_than_promised():
    async with serving(script(cut(0), say("ok"))) as (_, client):
        with pytest.raises(
            httpx2.RemoteProtocolError, match="without sending complete message body"
        ):
            await ask(client, asking("x"))
        assert (await ask(client, asking("x"))).text == "ok"


async def test_garbage_does_not_parse():
    async with serving(script(garbage(times=2), say("ok"))) as (_, client):
        plain = await client.post("/chat/completions", json=asking("x"))
        streamed = await client.post("/chat/completions", json=asking("x", stream=True))
        assert (await ask(client, asking("x"))).text == "ok"

    assert plain.status_code == streamed.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        plain.json()
    _, broken, *_ = streamed.text.split("\n\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken.removeprefix("data: "))


async def test_a_hanging_reply_ends_when_the_client_goes():
    async with serving(script(hang(), say("ok"))) as (server, client):
        with pytest.raises(httpx2.ReadTimeout):
            await client.post("/chat/completions", json=asking("x"), timeout=0.05)
        assert (await ask(client, asking("x"))).text == "ok"
        assert len(server.requests) == 2


async def test_leaving_the_server_drops_the_clients_that_still_wait():
    async with httpx2.AsyncClient(trust_env=False, timeout=300) as client:
        async with ScriptedServer(script(hang(times=None))) as server:
            url = f"{server.url}/chat/completions"
            waiting = asyncio.create_task(client.post(url, json=asking("x")))
            async with asyncio.timeout(200):
                while not server.requests:  # noqa: ASYNC110 - a silent server can only be watched
                    await asyncio.sleep(0)
        with pytest.raises(httpx2.HTTPError):
            await waiting
        with pytest.raises(httpx2.ConnectError):
            await client.post(url, json=asking("x"))
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url


async def test_delays_come_before_the_first_byte_and_between_chunks():
    loop = asyncio.get_running_loop()
    reply = say("one two three", delay=0.05, chunk_delay=0.05)
    async with serving(script(reply)) as (_, client):
        start = loop.time()
        await ask(client, asking("x"))
        plain = loop.time() - start
        await ask(client, asking("x", stream=True))
        streamed = loop.time() - start - plain

    assert plain >= 0.05
    assert streamed >= 0.15


async def test_it_shows_its_models_its_health_and_what_it_received():
    async with serving(script(say("ok"))) as (server, client):
        await ask(client, asking("one"))
        await ask(client, asking("two"))
        models = (await client.get("/models")).json()
        health = await client.get(server.url.removesuffix("/v1") + "/health")
        received = (await client.get(server.url.removesuffix("/v1") + "/requests")).json()

    assert [model["id"] for model in models["data"]] == ["scripted"]
    assert health.json() == {"status": "ok"}
    assert received == server.requests == [asking("one"), asking("two")]


async def test_it_remembers_only_the_newest_requests():
    async with serving(script(say("ok")), keep=2) as (server, client):
        for text in "abc":
            await ask(client, asking(text))
        assert [request["messages"][0]["content"] for request in server.requests] == ["b", "c"]


async def test_the_script_can_be_replaced_which_forgets_the_failures_served():
    failing = script(fail(500), say("ok"))
    async with serving(failing) as (server, client):
        target = server.url.removesuffix("/v1") + "/script"
        statuses = [(await ask(client, asking("x"))).status for _ in range(2)]
        assert (await client.post(target, content=failing.to_json())).status_code == 200
        statuses.append((await ask(client, asking("x"))).status)
        refused = await client.post(target, content='{"rules": 1}')
        server.use(script(say("new")))
        assert (await ask(client, asking("x"))).text == "new"

    assert statuses == [500, 200, 500]
    assert refused.status_code == 400
    assert "valid array" in refused.json()["error"]["message"]


async def test_a_key_can_be_required():
    async with serving(script(say("ok")), require_key="secret") as (_, client):
        refused = await ask(client, asking("x"))
        unlisted = await client.get("/models")
        client.headers["authorization"] = "Bearer secret"
        allowed = await ask(client, asking("x"))

    assert (refused.status, unlisted.status_code, allowed.text) == (401, 401, "ok")


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": "x"}', b'{"messages": ["x"]}'])
async def test_a_body_that_is_no_chat_request_is_refused(body):
    async with serving(script(say("ok"))) as (_, client):
        response = await client.post("/chat/completions", content=body)

    assert response.status_code == 400
    assert "expected" in response.json()["error"]["message"]


def test_it_runs_as_a_process_until_it_is_told_to_stop(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(script(say("ok", thinking="hm")).to_json())
    command = [
        sys.executable,
        "-m",
        "long_running_agents.testing.scripted_server",
        "--script",
        str(path),
    ]
    with subprocess.Popen(
        [*command, "--port", "0", "--quirk", "think-in-content"], stdout=subprocess.PIPE, text=True
    ) as process:
        line = process.stdout.readline()
        url = line.removeprefix("listening on ").strip()
        answer = httpx2.post(
            f"{url}/chat/completions", json=asking("x"), trust_env=False, timeout=300
        )
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=300)

    assert line.startswith("listening on http://127.0.0.1:")
    assert url.endswith("/v1")
    assert answer.json()["choices"][0]["message"]["content"].startswith("<think>")
    assert (rest, process.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--quirk", "x"], "is no quirk"), ([], "--script")]
)
def test_a_wrong_command_line_is_explained(tmp_path, arguments, message, capsys):
    from long_running_agents.testing.scripted_server import main  # noqa: PLC0415

    with pytest.raises(SystemExit):
        main(["--script", str(tmp_path / "none.json"), *arguments])

    assert message in capsys.readouterr().err
