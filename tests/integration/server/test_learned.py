"""What was learned, over HTTP: as a program sees it, through the client and as it is."""

import pytest
from tests.integration.server.owners import believing
from tests.integration.server.serving import served

from long_running_agents.client import Client
from long_running_agents.domain.memory import MemoryDraft, Viewer
from long_running_agents.domain.reflection import LearnedState
from long_running_agents.errors import NotFound

pytestmark = pytest.mark.anyio

TWICE = ("The boat lies in Hamburg.", "The boat lies, in Hamburg!")


async def test_a_client_does_what_the_service_does(tmp_path):
    async with served(tmp_path) as (app, http), Client.at(str(http.base_url)) as far:
        for words in TWICE:
            await app.memories.write(Viewer(), MemoryDraft(content=words), keep_both=True)
        [rested] = (await far.learned.curate()).learned
        assert rested.reason == "#2 says the same"
        assert list(await far.learned.every()) == list(await app.learned.every()) == [rested]
        assert await far.learned.every(state=LearnedState.NEW) == []
        assert await far.learned.undo(rested.number) == rested
        with pytest.raises(NotFound):
            await far.learned.undo(rested.number)
        assert (await far.learned.reflect()).learned == ()


async def test_who_may_only_read_changes_nothing_of_what_was_learned(tmp_path):
    async with believing(tmp_path) as (_, client):
        reader = client(scopes="read")
        assert await reader.ok("GET", "/api/learned") == {"learned": []}
        for path in ("/api/learned/curate", "/api/learned/reflect", "/api/learned/1/undo"):
            assert await reader.refused("POST", path, json={}) == (403, "denied")
