"""Our own works: planned, approved, carried out with evidence, and reviewed."""

from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.contenders import API_KEY, MODEL
from benchmarks.contenders.deep import Claim, serve
from long_running_agents.app import open_app
from long_running_agents.config import load
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.work import WorkPhase


class Works:
    """`open_app` as a product opens it: whatever was under way goes on by itself."""

    def __init__(self) -> None:
        self.stack = AsyncExitStack()

    async def open(self, url: str, folder: Path) -> None:
        environ = {"AGENT_MODEL": MODEL, "AGENT_MODEL_URL": url, "AGENT_MODEL_KEY": API_KEY}
        flags = {"agent.workspace": str(folder / "files")}
        loaded = load(home=folder / "home", environ=environ, flags=flags)
        self.app = await self.stack.enter_async_context(open_app(loaded))

    async def work(self, run: str, goal: str) -> Claim:
        work = await self.app.works.start(goal, session_id=SessionId(run))
        await self.settled(run)
        found = await self.app.works.get(work.id)
        if found.work.phase is WorkPhase.PLAN_READY:
            await self.app.works.approve(work.id)
        return await self.resume(run)

    async def resume(self, run: str) -> Claim:
        await self.settled(run)
        [work] = await self.app.works.every(limit=1, session_id=SessionId(run))
        found = await self.app.works.get(work.id)
        last = (await self.app.sessions.turns(SessionId(run)))[-1]
        pause = "" if work.pause is None else f", paused: {work.pause}"
        state = f"{work.phase}{pause}, {found.summary}"
        return Claim(listed=work.phase is WorkPhase.COMPLETE, answer=last.answer or "", state=state)

    async def settled(self, run: str) -> None:
        """Wait until the work of a session does not go on by itself."""
        while left := [
            each for each in await self.app.turns.unfinished() if each.session_id == run
        ]:
            if not (await self.app.turns.settled(left[0].id)).status.ended:
                raise SystemExit(f"{run} waits for a person: {left[0]}")

    async def close(self) -> None:
        await self.stack.aclose()


if __name__ == "__main__":
    serve(Works())
