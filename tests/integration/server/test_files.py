"""Files of the workspace over HTTP."""

import os

import httpx2
import pytest
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.server.routes.files import LARGEST_CHARACTER

pytestmark = pytest.mark.anyio

CONTENT = "/api/files/content"


async def test_a_file_is_put_listed_fetched_replaced_and_deleted(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        new = await ask("PUT", CONTENT, params={"path": "notes/herons.md"}, content=b"Two.")
        assert (new.status_code, new.json()) == (
            201, {"path": "notes/herons.md", "size": 4, "folder": False},
        )  # fmt: skip
        assert app.hands.of("me").workspace.read("notes/herons.md") == b"Two."
        listed = await ask.ok("GET", "/api/files?depth=2")
        assert [each["path"] for each in listed["files"]] == ["notes", "notes/herons.md"]
        fetched = await ask("GET", CONTENT, params={"path": "notes/herons.md"})
        assert fetched.content == b"Two."
        again = await ask("PUT", CONTENT, params={"path": "notes/herons.md"}, content=b"Three.")
        assert again.status_code == 200
        await ask.ok("DELETE", CONTENT, params={"path": "notes/herons.md"})
        gone = await ask.refused("GET", CONTENT, params={"path": "notes/herons.md"})
        assert gone == (404, "not_found")


async def test_a_browser_is_given_nothing_that_it_would_run(tmp_path):
    async with believing(tmp_path) as (_, client):
        ask = client()
        for name in ("evil.html", "evil.svg", "evil.xml", "a.txt", "b.png", 'q"\u00e4;.txt'):
            await ask("PUT", CONTENT, params={"path": name}, content=b"<script>")
            plain = await ask("GET", CONTENT, params={"path": name})
            assert plain.headers["content-type"] == "application/octet-stream"
            assert plain.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
            shown = await ask("GET", CONTENT, params={"path": name, "inline": "true"})
            assert shown.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in shown.headers["content-security-policy"]
            kind = shown.headers["content-type"]
            assert kind in ("application/octet-stream", "text/plain; charset=utf-8", "image/png")
            inline = shown.headers["content-disposition"].startswith("inline")
            assert inline == (not name.startswith("evil"))


async def test_no_path_leads_out_of_the_workspace(tmp_path):
    async with believing(tmp_path) as (app, client):
        ask = client()
        secret = tmp_path / "secret.txt"
        secret.write_text("secret", encoding="utf-8")
        root = app.hands.of("me").workspace.root
        (root / "link").symlink_to(secret)
        (root / "folder").symlink_to(tmp_path)
        os.link(secret, root / "second-name")
        tricks = [
            "../secret.txt", "/etc/passwd", "link", "folder/secret.txt", "second-name", "a/../../x",
            ".env", ".ssh/id_rsa", "x/.aws/credentials", "lra.db", "a\x00b", "a\nb", "..", "~/x",
            "../../proc/self/environ", "%2e%2e/secret.txt", "..\\secret.txt", "\ud800", "a" * 1025,
        ]  # fmt: skip
        for path in tricks:
            encoded = path.encode("utf-8", "surrogatepass")
            for method in ("GET", "DELETE"):
                status, _ = await ask.refused(method, CONTENT, params={"path": encoded})
                assert status in (403, 404, 422), (method, path)
        for path in tricks[:-1]:
            if path not in ("~/x", "%2e%2e/secret.txt", "..\\secret.txt", "\ud800"):
                told = await ask.refused("PUT", CONTENT, params={"path": path}, content=b"x")
                assert told[0] in (403, 404), path
        assert secret.read_text(encoding="utf-8") == "secret"
        assert "link" not in str(await ask.ok("GET", "/api/files"))


async def test_what_tells_the_agent_what_to_do_is_for_those_who_may_change_settings(tmp_path):
    async with believing(tmp_path) as (app, client):
        chatting, admin = client(scopes="read chat"), client()
        for path in ("SOUL.md", "soul.md", "x/../SOUL.md", "./USER.md", "/workspace/SOUL.md",
                     "memory/facts.md", "skills/x.py", "cron.json", "AGENTS.md"):  # fmt: skip
            for method in ("PUT", "DELETE"):
                told = await chatting.refused(method, CONTENT, params={"path": path}, content=b"x")
                assert told == (403, "denied"), path
        await admin.ok("PUT", CONTENT, params={"path": "SOUL.md"}, content=b"Be kind.")
        long = b"x" * (LARGEST_CHARACTER + 1)
        for path in ("SOUL.md", "user.md"):
            told = await admin.refused("PUT", CONTENT, params={"path": path}, content=long)
            assert told[0] == 413
        assert app.hands.of("me").workspace.read("SOUL.md") == b"Be kind."


async def test_who_the_agent_is_stands_in_the_home_wherever_it_works(tmp_path):
    elsewhere = tmp_path / "repository"
    async with believing(tmp_path, agent__workspace=str(elsewhere)) as (app, client):
        ask = client()
        await ask.ok("PUT", CONTENT, params={"path": "SOUL.md"}, content=b"Be kind.")

        assert app.hands.of("me").folder.read("SOUL.md") == b"Be kind."
        assert list(elsewhere.iterdir()) == []
        assert (await ask("GET", CONTENT, params={"path": "SOUL.md"})).content == b"Be kind."


async def test_a_file_that_is_too_large_is_not_taken(tmp_path):
    async with believing(tmp_path) as (app, client):

        async def endless():
            for _ in range(70):
                yield b"x" * (1 << 20)

        told = await client().refused("PUT", CONTENT, params={"path": "big"}, content=endless())
        assert told[0] == 413
        assert app.hands.of("me").workspace.entries() == []


LARGE = 60 << 20
"""More than the buffers between a server and a client hold."""


async def test_a_file_that_is_replaced_meanwhile_is_fetched_as_it_was(tmp_path):
    async with served(tmp_path) as (app, client):
        workspace = app.hands.of("me").workspace
        workspace.write("big", b"a" * LARGE)
        async with client.stream("GET", CONTENT, params={"path": "big"}) as answer:
            pieces = answer.aiter_bytes()
            found = [await anext(pieces)]
            workspace.replace("big", b"b")
            found += [piece async for piece in pieces]
    whole = b"".join(found)
    assert (len(whole), whole.count(b"a")) == (LARGE, LARGE)


@pytest.mark.parametrize("length", [5, LARGE, LARGE + 5])
async def test_a_file_that_changes_meanwhile_is_not_taken_for_whole(tmp_path, length):
    async with served(tmp_path) as (app, client):
        workspace = app.hands.of("me").workspace
        workspace.write("big", b"a" * LARGE)
        async with client.stream("GET", CONTENT, params={"path": "big"}) as answer:
            pieces = answer.aiter_bytes()
            await anext(pieces)
            with (workspace.root / "big").open("r+b") as file:
                file.truncate(length)
                file.write(b"b")
            with pytest.raises(httpx2.RemoteProtocolError):
                async for _ in pieces:
                    pass


async def test_an_empty_file_is_fetched(tmp_path):
    async with believing(tmp_path) as (app, client):
        app.hands.of("me").workspace.write("empty", b"")
        fetched = await client()("GET", CONTENT, params={"path": "empty"})
    assert (fetched.status_code, fetched.content) == (200, b"")


async def test_a_name_that_is_no_line_of_text_is_listed_all_the_same(tmp_path):
    async with believing(tmp_path) as (app, client):
        root = app.hands.of("me").workspace.root
        (root / "a\nb\x1b[2J").mkdir()
        (root / "a\nb\x1b[2J" / "c").write_text("x", encoding="utf-8")
        listed = await client().ok("GET", "/api/files?depth=2")
    assert [each["path"] for each in listed["files"]] == [
        "a\ufffdb\ufffd[2J",
        "a\ufffdb\ufffd[2J/c",
    ]
