"""Our own delegates: sessions and turns of their own, for which a turn waits as a row."""

from benchmarks.contenders.deep import Claim, serve
from benchmarks.contenders.deep_lra import Works
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import TurnStatus


class Delegates(Works):
    """`open_app` as a product opens it: whatever was under way goes on by itself."""

    async def work(self, run: str, goal: str) -> Claim:
        await self.app.turns.start(SessionId(run), goal)
        return await self.resume(run)

    async def resume(self, run: str) -> Claim:
        [begun] = await self.app.sessions.turns(SessionId(run))
        turn = await self.app.turns.settled(begun.id)
        done = turn.status is TurnStatus.DONE
        return Claim(listed=done, answer=turn.answer or "", state=turn.status)


if __name__ == "__main__":
    serve(Delegates())
