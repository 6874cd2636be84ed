import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import NOON, desk
from tests.unit.store.house import add_session, add_turn

from long_running_agents.agent.memory import Memorizer
from long_running_agents.domain.memory import Viewer
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.store import memory_index, sessions, turns

pytestmark = pytest.mark.anyio


class Slow(FakeEmbedder):
    """An embedder that has to be told when it may embed what is slow."""

    def __init__(self):
        super().__init__()
        self.busy, self.go_on = asyncio.Event(), asyncio.Event()

    async def documents(self, texts):
        if any("slow" in text for text in texts):
            self.busy.set()
            await self.go_on.wait()
        return await super().documents(texts)


@asynccontextmanager
async def remembering(tmp_path, embedder):
    async with desk(tmp_path / "home", embedder=embedder) as memories:
        mirrors = Mirrors(memories, tmp_path / "mirrors", "me")
        made = Memorizer(memories, "agent", memories.clock, mirrors)
        made.open()
        await made.done()
        yield made
        embedder.go_on.set()
        await made.close()


async def ends(made, name, prompt, owner="me", session="of"):
    """A turn comes to rest."""

    def work(tx):
        known = sessions.find(tx, f"{session} {owner}")
        talk = known or add_session(tx, f"{session} {owner}", owner=owner)
        turn = add_turn(tx, name, talk.id, prompt=prompt, owner=owner)
        turns.move(tx, turns.claim(tx, turn.id), TurnStatus.DONE, now=NOON, answer="Yes.")
        return turns.get(tx, turn.id)

    made.nudge(await made.memories.database.write(work))


async def known(made, owner="me"):
    return [memory.content for memory in await made.memories.listed(Viewer(owner=owner))]


async def test_a_turn_waits_for_its_owners_last_turn_but_not_for_those_of_others(tmp_path):
    async with remembering(tmp_path, embedder := Slow()) as made:
        await ends(made, "t1", "This one is slow.", owner="you")
        await embedder.busy.wait()
        async with asyncio.timeout(10):
            await made.ready("me")

        waiting = asyncio.create_task(made.ready("you"))
        await asyncio.sleep(0)
        assert not waiting.done()
        embedder.go_on.set()
        await waiting
        assert "This one is slow." in await known(made, "you")


async def test_a_turn_does_not_wait_for_ever_and_who_asks_for_all_of_it_does(tmp_path):
    async with remembering(tmp_path, embedder := Slow()) as made:
        await ends(made, "t1", "This one is slow.")
        await embedder.busy.wait()
        turn = asyncio.create_task(made.ready("me"))
        everything = asyncio.create_task(made.done())
        await made.memories.clock.advance(5)

        async with asyncio.timeout(10):
            await turn
        assert not everything.done()
        embedder.go_on.set()
        await everything
        assert "This one is slow." in await known(made)


async def test_turns_of_many_sessions_are_remembered_together_and_those_of_one_in_order(tmp_path):
    async with remembering(tmp_path, embedder := Slow()) as made:
        await ends(made, "t1", "This one is slow.")
        await embedder.busy.wait()
        await ends(made, "t2", "The first.", session="talk of")
        await ends(made, "t3", "The second.", session="talk of")
        await ends(made, "t4", "Elsewhere.", session="chat of")
        embedder.go_on.set()
        await made.done()

        memories = await made.memories.listed(Viewer())
        said = {memory.id: memory for memory in memories}
        second = next(memory for memory in memories if memory.content == "The second.")
        answer = said[second.previous]
        assert (answer.content, said[answer.previous].content) == ("Yes.", "The first.")
        elsewhere = next(memory for memory in memories if memory.content == "Elsewhere.")
        assert elsewhere.previous is None
        space = await made.memories.database.read(lambda tx: memory_index.space(tx, embedder.space))
        assert (
            await made.memories.database.read(lambda tx: memory_index.count_missing(tx, space)) == 0
        )
